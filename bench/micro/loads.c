/*
 * loads: code that comes and goes.
 *
 *	loads TIMES PAIRS
 *
 * Loads and unloads a library TIMES times in the course of PAIRS pairs of malloc and free, which is
 * when a recorder has to look at what is loaded again, and to forget what addresses meant.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *volatile block;

static __attribute__((noinline)) void pair(size_t i)
{
	block = malloc(16 + i % 7 * 32);
	free(block);
}

int main(int argc, char **argv)
{
	size_t times, pairs;

	if (argc != 3) {
		fputs("usage: loads TIMES PAIRS\n", stderr);
		return 2;
	}
	times = strtoull(argv[1], NULL, 10);
	pairs = strtoull(argv[2], NULL, 10);
	for (size_t i = 0, loaded = 0; i < pairs; i++) {
		if (loaded < times && i >= pairs / times * loaded) {
			void *library = dlopen("libutil.so.1", RTLD_NOW);

			if (library)
				dlclose(library);
			loaded++;
		}
		pair(i);
	}
	return 0;
}
