/*
 * Usage: hoard COUNT. Allocates COUNT blocks of 16 to 79 bytes, by chance, and frees none. At the end
 * it prints how many bytes that are, and how many blocks.
 */
#include "target.h"

static void *volatile kept;

int main(int argc, char **argv)
{
	const long count = argc > 1 ? atol(argv[1]) : 10000;
	uint64_t state = 3, bytes = 0;

	for (long i = 0; i < count; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		kept = malloc(16 + (state >> 40) % 64);
		bytes += 16 + (state >> 40) % 64;
	}
	printf("%llu %ld\n", (unsigned long long)bytes, count);
	return 0;
}
