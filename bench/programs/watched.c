/*
 * watched: allocates and frees at a depth of calls for some seconds, in batches; prints how long a pair took in each,
 * in nanoseconds. For bench/bpf.py: watched DEPTH PAIRS SECONDS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

__attribute__((noipa)) static int batch(int depth, int pairs)
{
	void *volatile block;
	double begin;

	if (depth > 0)
		return batch(depth - 1, pairs) + 1;
	begin = now();
	for (int i = 0; i < pairs; i++) {
		block = malloc(100);
		free(block);
	}
	printf("%.0f\n", (now() - begin) / pairs * 1e9);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	const double end = now() + (argc > 3 ? atof(argv[3]) : 1);

	while (argc > 3 && now() < end)
		batch(atoi(argv[1]), atoi(argv[2]));
	return 0;
}
