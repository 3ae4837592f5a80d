/*
 * spawner COUNT AT_ONCE: forks COUNT processes, AT_ONCE of them at a time, each of which allocates
 * a little and ends. Prints the seconds that it took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void work(void)
{
	void *volatile blocks[50];

	for (int i = 0; i < 50; i++)
		blocks[i] = malloc(100 + i);
	for (int i = 0; i < 40; i++)
		free(blocks[i]);
	_exit(0);
}

int main(int argc, char **argv)
{
	const int count = argc > 1 ? atoi(argv[1]) : 1, at_once = argc > 2 ? atoi(argv[2]) : 1;
	const double begin = now();
	int running = 0;

	for (int i = 0; i < count; i++) {
		if (running == at_once && wait(NULL) > 0)
			running--;
		switch (fork()) {
		case 0:
			work();
		case -1:
			return 1;
		default:
			running++;
		}
	}
	while (wait(NULL) > 0)
		;
	printf("%.3f\n", now() - begin);
	return 0;
}
