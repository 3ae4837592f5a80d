/*
 * live: a program with many live blocks.
 *
 *	live BLOCKS PAIRS
 *
 * Makes BLOCKS blocks first, then replaces pseudo-random ones of them, PAIRS times.
 */
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

static __attribute__((noinline)) void replace(void **block)
{
	free(*block);
	*block = malloc(16 + next() % 7 * 16);
}

int main(int argc, char **argv)
{
	size_t count, pairs;
	void **blocks;

	if (argc != 3) {
		fputs("usage: live BLOCKS PAIRS\n", stderr);
		return 2;
	}
	count = strtoull(argv[1], NULL, 10);
	pairs = strtoull(argv[2], NULL, 10);
	blocks = calloc(count + 1, sizeof(*blocks));
	if (!blocks || !count)
		return 1;
	for (size_t i = 0; i < count; i++)
		replace(&blocks[i]);
	for (size_t i = 0; i < pairs; i++)
		replace(&blocks[next() % count]);
	return 0;
}
