/*
 * Usage: exchange ROUNDS. Four threads that free each other's blocks, through 512 places where each
 * leaves one and takes another away. Now and then they leak, or make a buffer larger that stays. At
 * the end it prints how many bytes it has not freed, and in how many blocks.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "target.h"

enum { THREADS = 4, PLACES = 512 };

static _Atomic(void *) places[PLACES];
static atomic_ullong kept_bytes, kept_count;
static void *volatile kept;
static long rounds;

FRAME static void leak(void)
{
	kept = malloc(77);
	kept_bytes += 77;
	kept_count++;
	no_tail_call();
}

static void *run(void *number)
{
	uint64_t state = (uint64_t)(uintptr_t)number * 7919 + 1;
	char *buffer = NULL;
	size_t bytes = 0;

	for (long i = 0; i < rounds; i++) {
		unsigned chosen;

		state = state * 6364136223846793005u + 1442695040888963407u;
		chosen = (unsigned)(state >> 33);
		free(atomic_exchange(&places[(chosen >> 10) % PLACES], malloc(16 + chosen % 500)));
		if (i % 5000 == 0)
			leak();
		if (i % 2000 == 0)
			buffer = realloc(buffer, bytes += 50 + chosen % 30);
		if (i % 100 == 0)
			free(realloc(realloc(malloc(10), 1000 + chosen % 1000), 20));
	}
	kept = buffer;
	kept_bytes += bytes;
	kept_count++;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	rounds = argc > 1 ? atol(argv[1]) : 10000;
	for (long i = 0; i < THREADS; i++)
		NEED(pthread_create(&threads[i], NULL, run, (void *)(i + 1)) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < PLACES; i++)
		free(places[i]);
	printf("%llu %llu\n", (unsigned long long)kept_bytes, (unsigned long long)kept_count);
	return 0;
}
