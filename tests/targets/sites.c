/*
 * sites: call sites whose blocks stay and call sites whose blocks go, alike in every run: other
 * profilers are asked what they see of it, and their files must lead to the same numbers.
 *
 * Must be found:
 *	size 3001: 30 malloc in hold, leaked
 *	size 3002: 200 malloc in pass, freed in pass
 *	size 70003: 4 malloc in burst, freed in burst
 *	size 5004: 6 malloc in hold_more, leaked
 *	size 17: 50 malloc in small, leaked
 */
#include <string.h>

#include "target.h"

static void *kept[100];
static int kept_count;

FRAME static void *take(size_t bytes)
{
	void *block = need_block(malloc(bytes));

	memset(block, 1, bytes);
	no_tail_call();
	return block;
}

FRAME static void hold(void)
{
	kept[kept_count++] = take(3001);
	no_tail_call();
}

FRAME static void hold_more(void)
{
	kept[kept_count++] = take(5004);
	no_tail_call();
}

FRAME static void small(void)
{
	kept[kept_count++] = take(17);
	no_tail_call();
}

FRAME static void pass(void)
{
	free(take(3002));
	no_tail_call();
}

FRAME static void burst(void)
{
	void *blocks[4];

	for (int i = 0; i < 4; i++)
		blocks[i] = take(70003);
	for (int i = 0; i < 4; i++)
		free(blocks[i]);
	no_tail_call();
}

int main(void)
{
	for (int i = 0; i < 30; i++)
		hold();
	for (int i = 0; i < 200; i++)
		pass();
	burst();
	for (int i = 0; i < 6; i++)
		hold_more();
	for (int i = 0; i < 50; i++)
		small();
	keep(kept);
	return 0;
}
