/*
 * What a program asks its recorder for: it loses blocks of 1234 bytes, asks for a leak scan, frees a
 * block of 777 bytes that it has kept, loses some of 4321 and asks again; a thread with a name of its
 * own asks for a snapshot while 3 MiB are resident that were not before. Prints what the calls return.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <memtape/memtape.h>

#define NOINLINE __attribute__((noipa))

static char *kept;

/* Several: an address of the last one may be left somewhere. */
NOINLINE static void lose(size_t bytes)
{
	for (int i = 0; i < 8; i++) {
		char *volatile block = (char *)malloc(bytes);

		block[0] = 1;
		block = NULL;
	}
}

static void *work(void *unused)
{
	char *block = (char *)malloc(3 << 20);

	(void)unused;
	memtape_thread_name("a thread with quite a long name");
	memset(block, 1, 3 << 20);
	memtape_snapshot("three more");
	free(block);
	return NULL;
}

int main(void)
{
	int first, second;
	pthread_t thread;

	kept = (char *)malloc(777);
	lose(1234);
	errno = 1234;
	first = memtape_leak_scan();
	free(kept);
	kept = NULL;
	lose(4321);
	second = memtape_leak_scan();
	memtape_snapshot(NULL);
	printf("%d %d errno %d\n", first, second, errno);
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	return 0;
}
