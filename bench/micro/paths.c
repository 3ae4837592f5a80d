/*
 * paths: every allocation comes from another call path.
 *
 *	paths DEPTH PAIRS
 *
 * At each of DEPTH levels a pseudo-random bit decides which of two functions, by which of two call
 * sites, goes on; each leaf allocates a block and frees one that another path allocated. The worst
 * case for anything that keeps the previous stack: nearly all frames are new with every pair, and
 * there are 2^(DEPTH - 6) different stacks. DEPTH counts everything from _start on; the least is 6.
 */
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

/* _start, __libc_start_main, __libc_start_call_main, main, the last level and leaf. */
enum { OTHER_FRAMES = 6 };

static void *kept[4096];
static __attribute__((noinline)) void leaf(uint64_t bits)
{
	size_t i = bits % 4096;

	free(kept[i]);
	kept[i] = malloc(16 + bits % 31 * 16);
}

static __attribute__((noinline)) void right(unsigned long depth, uint64_t bits);

/* Something to do after the calls, or the compiler would make them jumps. */
static __attribute__((noinline)) void left(unsigned long depth, uint64_t bits)
{
	if (!depth)
		leaf(next());
	else if (bits & 1)
		left(depth - 1, bits >> 1);
	else
		right(depth - 1, bits >> 1);
	__asm__ volatile("");
}

static __attribute__((noinline)) void right(unsigned long depth, uint64_t bits)
{
	if (!depth)
		leaf(next());
	else if (bits & 1)
		right(depth - 1, bits >> 1);
	else
		left(depth - 1, bits >> 1);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	unsigned long depth;
	size_t pairs;

	if (argc != 3) {
		fputs("usage: paths DEPTH PAIRS\n", stderr);
		return 2;
	}
	depth = strtoul(argv[1], NULL, 10);
	depth -= depth > OTHER_FRAMES ? OTHER_FRAMES : depth;
	pairs = strtoull(argv[2], NULL, 10);
	for (size_t i = 0; i < pairs; i++)
		left(depth, next());
	return 0;
}
