/*
 * pairs: malloc and free of the same block, at once, straight from main.
 *
 *	pairs PAIRS
 *
 * The floor of a profiler: the shallowest stack, no change, nothing kept.
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	size_t pairs;

	if (argc != 2) {
		fputs("usage: pairs PAIRS\n", stderr);
		return 2;
	}
	pairs = strtoull(argv[1], NULL, 10);
	for (size_t i = 0; i < pairs; i++) {
		void *volatile block = malloc(16 + i % 7 * 32);

		free(block);
	}
	return 0;
}
