/*
 * leaks: a program that ends with COUNT blocks of BYTES bytes: a list of most of them, one pointer
 * in each; every hundredth is lost. With LeakSanitizer it prints how long its check took.
 *
 *	leaks COUNT BYTES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
extern void __lsan_disable(void) __attribute__((weak));

static struct item {
	struct item *next;
} * items;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static __attribute__((noinline)) struct item *make(size_t bytes)
{
	struct item *item = malloc(bytes);

	memset(item, 0, bytes);
	return item;
}

int main(int argc, char **argv)
{
	const long count = argc > 1 ? atol(argv[1]) : 1000;
	const size_t bytes = argc > 2 ? (size_t)atol(argv[2]) : 64;

	for (long i = 0; i < count; i++) {
		struct item *item = make(bytes);

		if (i % 100 == 0)
			continue; /* lost */
		item->next = items;
		items = item;
	}
	if (__lsan_do_recoverable_leak_check) {
		const double begin = now();

		__lsan_do_recoverable_leak_check();
		printf("%.6f\n", now() - begin);
		fflush(stdout);
		_Exit(0);
	}
	return 0;
}
