/*
 * What a program asks its recorder for: it loses blocks of 1234 bytes, asks for a leak scan, frees a
 * block of 777 bytes that it has kept, loses some of 4321 and asks again; a thread with a name of its
 * own asks for a snapshot while 3 MiB are resident that were not before. Prints what the calls return.
 * With the argument `killed` its parent is stopped, and killed while it waits for an answer; with
 * `traced` it only asks for a scan while a child traces it, and again when that has ended: "0 1", or
 * "2 1" if the child got a scan.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

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
	volatile char *block = (volatile char *)malloc(3 << 20);

	(void)unused;
	memtape_thread_name("a thread with quite a long name");
	prctl(PR_SET_NAME, "another");
	for (int i = 0; i < 3 << 20; i++)
		block[i] = 1;
	memtape_snapshot("three more");
	free((void *)block);
	return NULL;
}

static void have_killed(pid_t parent)
{
	kill(parent, SIGSTOP);
	if (fork() == 0) {
		usleep(300000);
		kill(parent, SIGKILL);
		_exit(0);
	}
}

static int traced(void)
{
	int ready[2], first;
	char result = 3;
	pid_t child;

	if (pipe(ready) != 0 || (child = fork()) < 0)
		return 1;
	if (child == 0) {
		result = memtape_leak_scan() ? 2 : ptrace(PTRACE_SEIZE, getppid(), 0, 0) != 0;
		if (write(ready[1], &result, 1) == 1)
			pause();
		_exit(1);
	}
	if (read(ready[0], &result, 1) != 1)
		return 1;
	first = result ? result : memtape_leak_scan();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	printf("%d %d\n", first, memtape_leak_scan());
	return 0;
}

int main(int argc, char **argv)
{
	int first, second;
	pthread_t thread;

	if (argc > 1 && strcmp(argv[1], "traced") == 0)
		return traced();
	if (argc > 1 && strcmp(argv[1], "killed") == 0)
		have_killed(getppid());
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
