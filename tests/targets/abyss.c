/*
 * abyss: recursion of two functions in turn, a hundred thousand frames deep, which is more frames
 * than a chunk of the tape holds; with an allocation at the bottom and on the way up.
 *
 * Run: 30000
 *	size 3401: 1 malloc in bottom, leaked
 *	size 3402: 1 malloc in middle, freed in middle
 * Run: 100000
 *	size 3401: 1 malloc in bottom, leaked
 *	size 3402: 1 malloc in middle, freed in middle
 */
#include <pthread.h>

#include "target.h"

static void *kept;
static int frames;

FRAME static void bottom(void)
{
	kept = need_block(malloc(3401));
	no_tail_call();
}

FRAME static void middle(void)
{
	free(need_block(malloc(3402)));
	no_tail_call();
}

FRAME static void ping(int depth);

FRAME static void pong(int depth)
{
	ping(depth - 1);
	no_tail_call();
}

FRAME static void ping(int depth)
{
	if (depth > 0)
		pong(depth - 1);
	else
		bottom();
	if (depth == frames / 4 * 2)
		middle();
	no_tail_call();
}

static void *run(void *arg)
{
	ping(frames);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t thread;

	frames = argc > 1 ? atoi(argv[1]) : 30000;
	NEED(!pthread_attr_init(&attr));
	NEED(!pthread_attr_setstacksize(&attr, (size_t)64 << 20));
	NEED(!pthread_create(&thread, &attr, run, NULL));
	NEED(!pthread_join(thread, NULL));
	return 0;
}
