/*
 * Usage: service ROUNDS. A service that allocates and frees forever, and leaks now and then:
 *
 *	each round allocates a block, of some 400 call stacks, that is freed 64 rounds later, every
 *	50th one by another thread, which is slow, and leaves a block for this one to free;
 *	every 1000th round leaks a block of 48 bytes, from leak();
 *	every 500th round makes a buffer larger by realloc, from grow(), which stays;
 *	every 4000th round a short thread leaks 200 bytes, from briefly().
 *
 * In the middle, 2000 blocks of 10000 bytes live at once for a moment, from peak(). At the end it
 * prints how many bytes it has not freed, and in how many blocks.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"

enum { RING = 64, PEAK_BLOCKS = 2000 };

static void *volatile kept;
static void *ring[RING];
static void *handed, *returned;
static sem_t full, empty;
static uint64_t state = 42;
static uint64_t kept_bytes, kept_count;
static char *buffer;
static size_t buffer_bytes;

static uint64_t next_random(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

FRAME static void *deeper(unsigned path, unsigned depth, size_t bytes);

FRAME static void *left(unsigned path, unsigned depth, size_t bytes)
{
	void *block = deeper(path, depth, bytes);

	kept = block;
	return block;
}

FRAME static void *right(unsigned path, unsigned depth, size_t bytes)
{
	void *block = deeper(path, depth, bytes);

	kept = block;
	return block;
}

FRAME static void *deeper(unsigned path, unsigned depth, size_t bytes)
{
	void *block;

	if (depth == 0)
		return malloc(bytes);
	block = path & 1 ? left(path >> 1, depth - 1, bytes) : right(path >> 1, depth - 1, bytes);
	kept = block;
	return block;
}

FRAME static void leak(void)
{
	kept = malloc(48);
	kept_bytes += 48;
	kept_count++;
}

FRAME static void grow(void)
{
	buffer = realloc(buffer, buffer_bytes + 100);
	kept_count += buffer_bytes == 0;
	kept_bytes += 100;
	buffer_bytes += 100;
}

FRAME static void *briefly(void *context)
{
	kept = malloc(200);
	return context;
}

FRAME static void peak(void)
{
	static void *blocks[PEAK_BLOCKS];

	for (int i = 0; i < PEAK_BLOCKS; i++)
		blocks[i] = malloc(10000);
	for (int i = 0; i < PEAK_BLOCKS; i++)
		free(blocks[i]);
}

static void *free_handed(void *context)
{
	for (;;) {
		sem_wait(&full);
		if (!handed)
			return context;
		free(handed);
		returned = malloc(24);
		sem_post(&empty);
	}
}

static void hand_over(void *block)
{
	sem_wait(&empty);
	free(returned);
	handed = block;
	sem_post(&full);
}

static void thread_run(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, briefly, NULL);
	pthread_join(thread, NULL);
	kept_bytes += 200;
	kept_count++;
}

static void round_run(long i)
{
	const uint64_t chosen = next_random();
	void **place = &ring[i % RING];

	if (*place && i % 50 == 0)
		hand_over(*place);
	else
		free(*place);
	*place = deeper((unsigned)chosen, 4 + (unsigned)(chosen >> 20) % 5, 16 + chosen % 3000);
	if (i % 1000 == 0)
		leak();
	if (i % 500 == 0)
		grow();
	if (i % 4000 == 0)
		thread_run();
}

int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? atol(argv[1]) : 10000;
	pthread_t thread;

	sem_init(&full, 0, 0);
	sem_init(&empty, 0, 1);
	pthread_create(&thread, NULL, free_handed, NULL);
	for (long i = 0; i < rounds; i++) {
		if (i == rounds / 2)
			peak();
		round_run(i);
	}
	for (int i = 0; i < RING; i++)
		free(ring[i]);
	hand_over(NULL);
	pthread_join(thread, NULL);
	printf("%llu %llu\n", (unsigned long long)kept_bytes, (unsigned long long)kept_count);
	return 0;
}
