/*
 * Allocations of sizes that nobody else asks for, from four threads. Each is counted where it is
 * made, so that the program needs no other counter: at the end it prints "SIZE ALLOCATED FREED" for
 * each size.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 200, THREADS = 4, SIZE_COUNT = 6 };

static const size_t sizes[SIZE_COUNT] = { 7001, 7003, 7007, 14009, 7013, 7040 };
static atomic_int allocated[SIZE_COUNT], freed[SIZE_COUNT];

static void *took(int which, void *block)
{
	if (!block)
		exit(3);
	atomic_fetch_add(&allocated[which], 1);
	((volatile char *)block)[sizes[which] - 1] = 1;
	return block;
}

static void give(int which, void *block)
{
	atomic_fetch_add(&freed[which], 1);
	free(block);
}

static void round_of(int i)
{
	void *volatile block = took(0, malloc(sizes[0]));
	void *aligned = NULL;

	if (i % 10)
		give(0, block);
	give(1, took(1, calloc(1, sizes[1])));
	block = took(2, malloc(sizes[2]));
	atomic_fetch_add(&freed[2], 1);
	block = took(3, realloc(block, sizes[3]));
	if (i % 3)
		give(3, block);
	if (posix_memalign(&aligned, 64, sizes[4]))
		exit(4);
	give(4, took(4, aligned));
	give(5, took(5, aligned_alloc(64, sizes[5])));
}

static void *thread_main(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		round_of(i);
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread_main, NULL))
			return 5;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SIZE_COUNT; i++)
		printf("%zu %d %d\n", sizes[i], atomic_load(&allocated[i]), atomic_load(&freed[i]));
	return 0;
}
