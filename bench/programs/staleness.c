/*
 * Uses all pages of its memory, over and over, while another thread maps and unmaps memory.
 *
 * staleness MIB SECONDS read|write: prints as JSON what a page takes in the median round and in the
 * slowest ones (one in so many as there are looks: the rounds after them), and the longest mmap().
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { PAGE = 4096, ROUNDS_MAX = 1 << 16 };

static volatile int is_over;
static double longest_us;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *map_and_unmap(void *unused)
{
	const struct timespec pause = { 0, 200000 };

	for (; !is_over; nanosleep(&pause, NULL)) {
		const double begin = now();
		void *map = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (map != MAP_FAILED)
			munmap(map, PAGE);
		if ((now() - begin) * 1e6 > longest_us)
			longest_us = (now() - begin) * 1e6;
	}
	return unused;
}

static int compare(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) -
	       (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv)
{
	const size_t pages = argc > 3 ? strtoul(argv[1], NULL, 10) << 8 : 0;
	const double seconds = argc > 3 ? strtod(argv[2], NULL) : 0, begin = now();
	const int writes = argc > 3 && strcmp(argv[3], "write") == 0;
	static double rounds[ROUNDS_MAX];
	volatile char *memory = malloc(pages * PAGE);
	struct rusage usage;
	pthread_t thread;
	size_t count = 0;
	long sum = 0;

	if (pages == 0 || !memory || pthread_create(&thread, NULL, map_and_unmap, NULL))
		return 2;
	memset((char *)memory, 1, pages * PAGE);
	while (now() - begin < seconds && count < ROUNDS_MAX) {
		const struct timespec pause = { 0, 20000000 };
		const double from = now();

		for (size_t i = 0; i < pages; i++) {
			if (writes)
				memory[i * PAGE] = 2;
			else
				sum += memory[i * PAGE];
		}
		rounds[count++] = (now() - from) * 1e9 / (double)pages;
		nanosleep(&pause, NULL);
	}
	is_over = 1;
	pthread_join(thread, NULL);
	qsort(rounds, count, sizeof(*rounds), compare);
	getrusage(RUSAGE_SELF, &usage);
	printf("{\"median_ns\": %.1f, \"after_look_ns\": %.1f, \"longest_us\": %.0f, \"cpu\": "
	       "%.3f, \"sum\": %ld}\n",
	       rounds[count / 2], rounds[count - 1 - (size_t)(seconds / 2)], longest_us,
	       (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
		       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
	       sum);
	return 0;
}
