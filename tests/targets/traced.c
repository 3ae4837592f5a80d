/*
 * traced: all that glibc's mtrace(3) tells apart, between mtrace() and muntrace(). Without glibc's
 * debugging library and MALLOC_TRACE those two do nothing.
 *
 * Must be found:
 *	size 101: 20 malloc in take, leaked
 *	size 102: 10 malloc in take, freed in release
 *	size 63: 1 calloc in cleared, leaked
 */
#include <mcheck.h>
#include <string.h>

#include "target.h"

static void *kept[64];
static int kept_count;

FRAME static void *take(size_t bytes)
{
	void *block = need_block(malloc(bytes));

	no_tail_call();
	return block;
}

FRAME static void release(void *block)
{
	free(block);
	no_tail_call();
}

FRAME static void cleared(void)
{
	kept[kept_count++] = need_block(calloc(7, 9));
	no_tail_call();
}

FRAME static void regrown(void)
{
	void *block = need_block(realloc(NULL, 40));

	for (size_t bytes = 4000; bytes <= 40000; bytes *= 10)
		block = need_block(realloc(block, bytes));
	kept[kept_count++] = block;
	no_tail_call();
}

int main(void)
{
	void *before = take(55);

	mtrace();
	for (int i = 0; i < 20; i++)
		kept[kept_count++] = take(101);
	for (int i = 0; i < 10; i++)
		release(take(102));
	cleared();
	regrown();
	release(before); /* was never seen to be allocated */
	muntrace();
	keep(kept);
	return 0;
}
