/*
 * calls: allocates and frees a block at a depth of twelve frames, again and again.
 *
 *	calls PAIRS
 *
 * Two events a pair, each with its stack, which is another one than that before: in the innermost frame alone.
 */
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 12 };

static volatile size_t wanted = 100;
static void *volatile kept;

__attribute__((noinline, noclone)) static int descend(int depth)
{
	int below = 0;

	if (depth < DEPTH) {
		below = descend(depth + 1);
	} else {
		kept = malloc(wanted);
		free(kept);
	}
	return below + depth; /* no tail call */
}

int main(int argc, char **argv)
{
	unsigned long pairs;
	int sum = 0;

	if (argc != 2) {
		fputs("usage: calls PAIRS\n", stderr);
		return 2;
	}
	pairs = strtoul(argv[1], NULL, 10);
	for (unsigned long i = 0; i < pairs; i++)
		sum += descend(2);
	return sum == 1;
}
