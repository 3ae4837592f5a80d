/*
 * Tags of threads: main allocates 100 bytes without one, 200 in "outer", 300 in "inner" within it, 200
 * again, and 101 without; each of 3 threads 1000 + n bytes in "worker", 50 times in turn with none. A
 * forked child has its parent's tag.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memtape/memtape.h>

#define NOINLINE __attribute__((noipa))

NOINLINE static void keep(size_t bytes)
{
	void *volatile block = malloc(bytes);

	(void)block;
}

static void inner(void)
{
	MEMTAPE_TAG("inner");

	keep(300);
}

static void outer(void)
{
	MEMTAPE_TAG("outer");

	keep(200);
	inner();
	keep(200);
}

static void *work(void *number)
{
	for (int i = 0; i < 50; i++) {
		const char *before = memtape_tag("worker");

		keep(1000 + (size_t)number);
		memtape_tag(before);
		keep(2000);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[3];
	int status = 0;
	pid_t pid;

	keep(100);
	outer();
	keep(101);
	for (size_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	memtape_tag("parent");
	pid = fork();
	if (pid == 0) {
		keep(400);
		memtape_tag(NULL);
		keep(401);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	printf("%s\n", memtape_tag(NULL) ? "recorded" : "not recorded");
	return 0;
}
