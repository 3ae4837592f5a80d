/*
 * program: what the web tests look at. It takes about a second.
 *
 * Must be found:
 *	size 5000: 40 malloc in grow, leaked, one every 20 ms, to the end however slow the machine is
 *	size 300000: 3 malloc in load, freed after the mark "loaded"; the peak is while they live, with ten of grow's,
 *	however slow the machine is
 *	size 64: 3000 malloc in decode, of the library libparse.so, freed at once
 *	size 77: 5 malloc in a function whose name is markup, leaked
 * With -DPLANTED, what a later version did to it:
 *	size 7000: 30 malloc in plant, leaked
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memtape/memtape.h"

#define FRAME __attribute__((noinline, noclone))

void decode(int times);
void hostile(void) __asm__("\"<img src=x onerror=document.title=1>\"");

static void *volatile kept;

static void *keep(void *block)
{
	kept = block;
	return block;
}

#ifdef LIBRARY /* compiled without -g: its functions have the names of their symbols */
FRAME void hostile(void)
{
	for (int i = 0; i < 5; i++)
		keep(malloc(77));
}

FRAME void decode(int times)
{
	for (int i = 0; i < times; i++) {
		char *row = malloc(64);

		memset(row, i, 64);
		__asm__ volatile("" : : "r"(row) : "memory");
		free(row);
	}
}
#else

enum { NS_PER_S = 1000000000, STEP_MS = 20, LOADED_MS = 200 };

static struct timespec begin;
static sem_t step; /* of main's; grow takes one with each after its tenth */
static sem_t ten;  /* grow has its tenth */

/* Waits until so long after the begin: who was held up catches up, and what grows is near a line. */
static void until_ms(long ms)
{
	const long ns = begin.tv_nsec + ms * 1000000;
	const struct timespec at = { begin.tv_sec + ns / NS_PER_S, ns % NS_PER_S };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void *grow(void *unused)
{
	for (int i = 0; i < 40; i++) {
		if (i < 10)
			until_ms(i * STEP_MS);
		else
			sem_wait(&step);
		keep(malloc(5000));
		if (i == 9)
			sem_post(&ten);
	}
	return unused;
}

FRAME static void load(void)
{
	void *blocks[3];

	for (int i = 0; i < 3; i++) {
		blocks[i] = memset(keep(malloc(300000)), 1, 300000);
		until_ms((i + 1) * 30);
	}
	memtape_mark("loaded");
	until_ms(LOADED_MS);
	sem_wait(&ten);
	for (int i = 0; i < 3; i++)
		free(blocks[i]);
}

#ifdef PLANTED
FRAME static void plant(void)
{
	for (int i = 0; i < 30; i++)
		keep(malloc(7000));
}
#endif

int main(void)
{
	pthread_t thread;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	sem_init(&step, 0, 0);
	sem_init(&ten, 0, 0);
	pthread_create(&thread, NULL, grow, NULL);
	hostile();
	load();
#ifdef PLANTED
	plant();
#endif
	for (int i = 0; i < 30; i++) {
		decode(100);
		sem_post(&step);
		until_ms(LOADED_MS + (i + 1) * STEP_MS);
	}
	pthread_join(thread, NULL);
	return 0;
}
#endif
