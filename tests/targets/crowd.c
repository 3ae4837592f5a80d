/*
 * crowd: a thousand threads alive at the same time, each with its block.
 *
 * Must be found:
 *	size 1951: 1000 malloc in live_together, freed in live_together
 */
#include <pthread.h>

#include "target.h"

enum { CROWD = 1000 };

static pthread_barrier_t barrier;

FRAME static void *live_together(void *arg)
{
	void *block = need_block(malloc(1951));

	pthread_barrier_wait(&barrier);
	free(block);
	return arg;
}

int main(void)
{
	static pthread_t thread[CROWD];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_barrier_init(&barrier, NULL, CROWD);
	for (int i = 0; i < CROWD; i++)
		NEED(!pthread_create(&thread[i], &attr, live_together, NULL));
	for (int i = 0; i < CROWD; i++)
		NEED(!pthread_join(thread[i], NULL));
	puts("crowd 1000");
	return 0;
}
