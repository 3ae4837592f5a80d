/*
 * faults: touches PAGES fresh pages, from a stack of DEPTH frames. Prints ns a page.
 *
 *	faults PAGES DEPTH
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static long pages;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static __attribute__((noipa)) double touch(void)
{
	volatile char *memory = mmap(NULL, (size_t)pages * 4096, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const double begin = now();

	for (long i = 0; i < pages; i++)
		memory[i * 4096] = 1;
	return (now() - begin) / (double)pages;
}

static __attribute__((noipa)) double deeper(long depth)
{
	const double ns = depth > 0 ? deeper(depth - 1) : touch();

	__asm__ volatile("" ::: "memory");
	return ns;
}

int main(int argc, char **argv)
{
	pages = argc > 1 ? atol(argv[1]) : 50000;
	printf("%.0f\n", deeper(argc > 2 ? atol(argv[2]) : 20));
	return 0;
}
