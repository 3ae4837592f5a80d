/*
 * Linked with musl. Must be found on the tape: 1000 mallocs of 100 bytes from keep(), never freed;
 * 500 mallocs of 64 bytes and their frees from drop(); one calloc that becomes, by realloc, a block
 * of 5000 bytes and is freed; one malloc of 10 bytes in a second thread, freed in the first.
 */
#include <pthread.h>
#include <stdlib.h>

void *volatile kept[1000];

__attribute__((noinline)) void keep(int i)
{
	kept[i] = malloc(100);
}

__attribute__((noinline)) void drop(void)
{
	void *volatile block = malloc(64);

	free(block);
}

static void *thread_main(void *unused)
{
	void *volatile block = malloc(10); /* no tail call */

	(void)unused;
	return block;
}

int main(void)
{
	pthread_t thread;
	void *block;

	for (int i = 0; i < 1000; i++)
		keep(i);
	for (int i = 0; i < 500; i++)
		drop();
	block = calloc(10, 10);
	block = realloc(block, 5000);
	free(block);
	pthread_create(&thread, NULL, thread_main, NULL);
	pthread_join(thread, &block);
	free(block);
	return 7;
}
