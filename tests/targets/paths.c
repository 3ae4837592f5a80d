/*
 * Usage: paths ROUNDS. Allocates on ever new call stacks, 30 frames deep: more than a recorder
 * keeps. Every 1000th round leaks 999 bytes. At the end it prints how many bytes it has not freed,
 * and in how many blocks.
 */
#include <stdint.h>

#include "target.h"

enum { RING = 64, DEPTH = 30 };

static void *volatile kept;
static void *ring[RING];

FRAME static void *go(uint64_t path, unsigned depth, size_t bytes);

FRAME static void *left(uint64_t path, unsigned depth, size_t bytes)
{
	void *block = go(path, depth, bytes);

	kept = block;
	return block;
}

FRAME static void *right(uint64_t path, unsigned depth, size_t bytes)
{
	void *block = go(path, depth, bytes);

	kept = block;
	return block;
}

FRAME static void *go(uint64_t path, unsigned depth, size_t bytes)
{
	void *block;

	if (depth == 0)
		return malloc(bytes);
	block = path & 1 ? left(path >> 1, depth - 1, bytes) : right(path >> 1, depth - 1, bytes);
	kept = block;
	return block;
}

int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? atol(argv[1]) : 10000;
	uint64_t state = 7, count = 0;

	for (long i = 0; i < rounds; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		free(ring[i % RING]);
		ring[i % RING] = go(state >> 20, DEPTH, 10 + (state >> 50) % 100);
		if (i % 1000 != 0)
			continue;
		kept = go(state >> 25, DEPTH, 999);
		count++;
	}
	for (int i = 0; i < RING; i++)
		free(ring[i]);
	printf("%llu %llu\n", (unsigned long long)count * 999, (unsigned long long)count);
	return 0;
}
