/*
 * threads: eight at once that give blocks to each other; a thousand that live shortly; names.
 *
 * Run: eight
 *	size 1901: 16000 malloc in fill_ring, freed in drain_ring
 * Run: thousand
 *	size 1902: 3000 calloc in short_life, freed in short_life
 *	size 1903: 1000 malloc in short_life, freed in main
 * Run: names
 *	size 1904: 2 malloc in named_life, freed in named_life
 * Run: detached
 *	size 1905: 64 malloc in detached_life, freed in detached_life
 * Run: cancel
 *	size 1906: 16 malloc in cancelled_life, freed in release_cancelled
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "target.h"

enum { WORKERS = 8, ROUNDS = 2000 };

static pthread_barrier_t barrier;
static void *ring[WORKERS][ROUNDS];
static sem_t done;

FRAME static void fill_ring(size_t self)
{
	for (int i = 0; i < ROUNDS; i++)
		ring[self][i] = need_block(malloc(1901));
	no_tail_call();
}

FRAME static void drain_ring(size_t self)
{
	for (int i = 0; i < ROUNDS; i++)
		free(ring[(self + 1) % WORKERS][i]);
	no_tail_call();
}

static void *worker(void *arg)
{
	fill_ring((size_t)arg);
	pthread_barrier_wait(&barrier);
	drain_ring((size_t)arg);
	return NULL;
}

static void run_eight(void)
{
	pthread_t thread[WORKERS];

	pthread_barrier_init(&barrier, NULL, WORKERS);
	for (size_t i = 0; i < WORKERS; i++)
		NEED(!pthread_create(&thread[i], NULL, worker, (void *)i));
	for (size_t i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
}

FRAME static void *short_life(void *arg)
{
	for (int i = 0; i < 3; i++)
		free(need_block(calloc(1, 1902)));
	(void)arg;
	return need_block(malloc(1903));
}

FRAME static void *named_life(void *arg)
{
	NEED(!pthread_setname_np(pthread_self(), arg));
	free(need_block(malloc(1904)));
	prctl(PR_SET_NAME, "by-prctl");
	no_tail_call();
	return NULL;
}

FRAME static void *detached_life(void *arg)
{
	free(need_block(malloc(1905)));
	sem_post(&done);
	return arg;
}

FRAME static void release_cancelled(void *block)
{
	free(block);
	sem_post(&done);
	no_tail_call();
}

FRAME static void *cancelled_life(void *arg)
{
	void *block = need_block(malloc(1906));

	pthread_cleanup_push(release_cancelled, block);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return arg;
}

static void run_detached(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 64; i++)
		NEED(!pthread_create(&thread, &attr, detached_life, NULL));
	for (int i = 0; i < 64; i++)
		sem_wait(&done);
}

static void run_cancel(void)
{
	pthread_t thread[16];

	for (int i = 0; i < 16; i++)
		NEED(!pthread_create(&thread[i], NULL, cancelled_life, NULL));
	usleep(20000);
	for (int i = 0; i < 16; i++)
		pthread_cancel(thread[i]);
	for (int i = 0; i < 16; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "eight";
	pthread_t thread;
	void *block;

	sem_init(&done, 0, 0);
	if (!strcmp(how, "eight"))
		run_eight();
	for (int i = 0; !strcmp(how, "thousand") && i < 1000; i++) {
		NEED(!pthread_create(&thread, NULL, short_life, NULL));
		NEED(!pthread_join(thread, &block));
		free(block);
	}
	for (int i = 0; !strcmp(how, "names") && i < 2; i++) {
		NEED(!pthread_create(&thread, NULL, named_life, i ? "worker-two" : "worker-one"));
		NEED(!pthread_join(thread, NULL));
	}
	if (!strcmp(how, "detached"))
		run_detached();
	if (!strcmp(how, "cancel"))
		run_cancel();
	puts(how);
	return 0;
}
