/*
 * threads: what Larson and Krishnan's server does to an allocator, with a fixed amount of work.
 *
 *	threads THREADS PAIRS
 *
 * PAIRS replacements of random blocks are divided among THREADS. Each thread works on a set of
 * blocks for a while and then passes the set to its right-hand neighbour, so that blocks are freed
 * by other threads than those that allocated them. Work and stacks are the same for any THREADS.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 1000, ROUND_PAIRS = 25000, THREADS_MAX = 64 };

struct set {
	void *blocks[BLOCKS];
};

static struct set sets[THREADS_MAX];
static unsigned long threads;
static size_t rounds;
static pthread_barrier_t barrier;

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static __attribute__((noinline)) void replace(struct set *set, uint64_t bits)
{
	void **block = &set->blocks[bits % BLOCKS];

	free(*block);
	*block = malloc(10 + (bits >> 32) % 490);
}

static __attribute__((noinline)) void work(struct set *set, uint64_t *state)
{
	for (size_t i = 0; i < ROUND_PAIRS; i++)
		replace(set, next(state));
}

static void *run(void *argument)
{
	uintptr_t self = (uintptr_t)argument;
	uint64_t state = 88172645463325252u + self * 7919;

	for (size_t round = 0; round < rounds; round++) {
		work(&sets[(self + round) % threads], &state);
		if (threads > 1)
			pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[THREADS_MAX];

	threads = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	if (threads < 1 || threads > THREADS_MAX) {
		fputs("usage: threads THREADS PAIRS\n", stderr);
		return 2;
	}
	rounds = strtoull(argv[2], NULL, 10) / ROUND_PAIRS / threads;
	pthread_barrier_init(&barrier, NULL, (unsigned int)threads);
	for (uintptr_t i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, run, (void *)i))
			return 1;
	for (size_t i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
