/*
 * Usage: turnover ROUNDS. Allocates and frees blocks, and every 5000th round does what a recording
 * has records of besides:
 *
 *	leaks 48 bytes with the tag "kept" and 40 without one;
 *	pauses: a block of then is made larger, and is freed after that;
 *	makes a block larger that stays; marks the round; allocates in a pool, and frees there;
 *	a thread that has a name leaks 200 bytes.
 */
#include <pthread.h>

#include <memtape/memtape.h>

#include "target.h"

enum { RING = 64, STEP = 5000 };

static void *volatile kept;
static void *ring[RING];
static char *buffer;
static size_t buffer_bytes = 100;

FRAME static void leak(void)
{
	const char *before = memtape_tag("kept");

	kept = malloc(48);
	memtape_tag(before);
	kept = malloc(40);
	buffer_bytes += 10;
	buffer = realloc(buffer, buffer_bytes);
}

FRAME static void pause_briefly(void)
{
	memtape_pause();
	kept = malloc(64);
	kept = realloc(kept, 7000);
	memtape_resume();
	free(kept);
}

static void *briefly(void *context)
{
	memtape_thread_name("briefly");
	kept = malloc(200);
	return context;
}

FRAME static void others_do(long round)
{
	static char pool, objects[2];
	char text[32];
	pthread_t thread;

	if (round == 0)
		memtape_pool_create(&pool, "pool");
	memtape_pool_alloc(&pool, &objects[0], 10);
	memtape_pool_free(&pool, &objects[0]);
	snprintf(text, sizeof(text), "%ld", round);
	memtape_mark(text);
	pthread_create(&thread, NULL, briefly, NULL);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? atol(argv[1]) : 10000;
	uint64_t state = 5;

	for (long i = 0; i < rounds; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		free(ring[i % RING]);
		ring[i % RING] = malloc(16 + (state >> 40) % 900);
		if (i % STEP != 0)
			continue;
		leak();
		pause_briefly();
		others_do(i);
	}
	return 0;
}
