/*
 * watched: a program to be watched while it runs. It works until its input ends.
 *
 * Must be found:
 *	size 4321: malloc in grow, every 10 ms, kept
 *	size 64: malloc in churn, of another thread, freed at once
 * It says "working" at the beginning, "at work" on standard error, and "done: N" at the end.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FRAME __attribute__((noinline, noclone))

static void *volatile kept;
static atomic_bool is_over;

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec) { .tv_nsec = ms * 1000000 }, NULL);
}

FRAME static void grow(void)
{
	kept = malloc(4321);
}

FRAME static void churn(void)
{
	void *volatile block = malloc(64);

	free(block);
}

static void *work(void *unused)
{
	while (!is_over) {
		churn();
		pause_ms(5);
	}
	return unused;
}

int main(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	pthread_t thread;
	int rounds = 0;

	printf("working\n");
	fflush(stdout);
	fprintf(stderr, "at work\n");
	pthread_create(&thread, NULL, work, NULL);
	while (poll(&in, 1, 10) == 0) {
		grow();
		rounds++;
	}
	is_over = true;
	pthread_join(thread, NULL);
	printf("done: %d\n", rounds);
	return 3;
}
