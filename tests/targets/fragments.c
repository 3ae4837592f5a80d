/*
 * fragments: a heap that is mostly free and cannot be given back. 65536 blocks of 1000 bytes are
 * written to, then all but every 64th are freed: what is left is one block in every 64512 bytes
 * (glibc: 1008 bytes for each), so that it keeps a page, seldom two, and the 14 or so after it are
 * free. Then it waits for the collector to look. With "trim" it asks malloc to give back what is
 * free, and waits again.
 *
 * Must be found:
 *	size 1000: 65536 malloc in fill
 */
#include <malloc.h>
#include <string.h>
#include <time.h>

#include "target.h"

enum { BLOCKS = 65536, BYTES = 1000, KEPT = 64 };

static void *blocks[BLOCKS];

FRAME static void fill(void)
{
	for (size_t i = 0; i < BLOCKS; i++)
		memset(blocks[i] = need_block(malloc(BYTES)), 1, BYTES);
	no_tail_call();
}

FRAME static void thin_out(void)
{
	for (size_t i = 0; i < BLOCKS; i++)
		if (i % KEPT != KEPT - 1)
			free(blocks[i]);
	no_tail_call();
}

static void wait_for_a_look(void)
{
	nanosleep(&(struct timespec) { .tv_nsec = 400000000 }, NULL);
}

int main(int argc, char **argv)
{
	(void)argv;
	fill();
	thin_out();
	wait_for_a_look();
	if (argc > 1) {
		malloc_trim(0);
		wait_for_a_look();
	}
	return 0;
}
