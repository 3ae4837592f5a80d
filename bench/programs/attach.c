/*
 * What attaching is measured on: keeps blocks, and has threads that allocate and free. At each line
 * of its input the first thread makes some pairs of malloc() and free(), and prints the CPU
 * nanoseconds of an event.
 *
 *	attach THREADS BLOCKS PAIRS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 10, HELD = 64, REST_EVERY = 1000, REST_US = 1000 };

static void pairs(long count, int rests)
{
	void *held[HELD] = { 0 };

	for (long i = 0; i < count || rests; i++) {
		free(held[i % HELD]);
		held[i % HELD] = malloc(16 + (size_t)(i * 37 % 500));
		if (rests && i % REST_EVERY == 0)
			usleep(REST_US);
	}
	for (int i = 0; i < HELD; i++)
		free(held[i]);
}

__attribute__((noipa)) static void deep(int depth, long count, int rests)
{
	if (depth > 0)
		deep(depth - 1, count, rests);
	else
		pairs(count, rests);
	__asm__ volatile("");
}

static void *work(void *argument)
{
	deep(DEPTH, 0, 1);
	return argument;
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const long threads = argc > 1 ? atol(argv[1]) : 1, blocks = argc > 2 ? atol(argv[2]) : 0;
	const long count = argc > 3 ? atol(argv[3]) : 1000000;
	char line[16];

	for (long i = 0; i < blocks; i++)
		memset(malloc(16 + (size_t)(i % 3) * 16), 1, 16);
	for (long i = 1; i < threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, NULL) != 0)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		double begin = cpu_ns();

		deep(DEPTH, count, 0);
		printf("%.2f\n", (cpu_ns() - begin) / (2.0 * (double)count));
		fflush(stdout);
	}
	_exit(0);
}
