/*
 * depth: malloc/free pairs under stacks of DEPTH frames of which only the innermost ever return.
 *
 *	depth DEPTH PAIRS
 *
 * What a stack costs when its outer frames do not change, which is the common case. The loop sits
 * in the innermost frame; each block is allocated one call further in and freed from there too.
 * DEPTH counts everything from _start on; the least is 6.
 */
#include <stdio.h>
#include <stdlib.h>

/* _start, __libc_start_main, __libc_start_call_main, main and replace. */
enum { OTHER_FRAMES = 5 };

static void *kept[64];

static __attribute__((noinline)) void replace(size_t i)
{
	free(kept[i % 64]);
	kept[i % 64] = malloc(16 + i % 13 * 24);
}

/* Something to do after the call, or the compiler would make the recursion a loop. */
static __attribute__((noinline)) void descend(unsigned long depth, size_t pairs)
{
	if (depth > 1)
		descend(depth - 1, pairs);
	else
		for (size_t i = 0; i < pairs; i++)
			replace(i);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	unsigned long depth;

	if (argc != 3) {
		fputs("usage: depth DEPTH PAIRS\n", stderr);
		return 2;
	}
	depth = strtoul(argv[1], NULL, 10);
	descend(depth > OTHER_FRAMES ? depth - OTHER_FRAMES : 1, strtoull(argv[2], NULL, 10));
	return 0;
}
