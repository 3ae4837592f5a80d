/*
 * becomes: another program, by exec, as its first word says:
 *
 *	thread PROGRAM...	from a second thread
 *	fails PROGRAM...	after calls that fail, of every kind: no such program, pointers that
 *				cannot be read; after each it allocates 10 blocks of 2211 bytes
 *	child PROGRAM...	in a child by vfork; then it allocates 10 blocks of 2212 bytes
 *	clean PROGRAM...	with an environment of one variable, WORD
 *	end			not at all: it allocates 10 blocks of 2213 bytes, and prints WORD
 *				and what of its environment begins with MEMTAPE or LD_PRELOAD
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

extern char **environ;

FRAME static void blocks(size_t bytes)
{
	for (int i = 0; i < 10; i++)
		free(need_block(malloc(bytes)));
	no_tail_call();
}

static void *in_thread(void *argv)
{
	char **words = argv;

	execv(words[0], words);
	return NULL;
}

static void fail(char **argv)
{
	char *volatile wild = (char *)16;
	char *bad[] = { wild, NULL };
	char *mixed[] = { environ[0], wild, NULL };
	const char *self = "/proc/self/exe";

	NEED(execv("/nonexistent/program", argv) == -1 && errno == ENOENT);
	blocks(2211);
	NEED(execvp("no-such-program-anywhere", argv) == -1 && errno == ENOENT);
	blocks(2211);
	NEED(execve(self, argv, bad) == -1 && errno == EFAULT);
	blocks(2211);
	NEED(execve(self, argv, mixed) == -1 && errno == EFAULT);
	blocks(2211);
	NEED(execve(self, argv, (char **)wild) == -1 && errno == EFAULT);
	blocks(2211);
	NEED(execve(self, (char **)wild, environ) == -1 && errno == EFAULT);
	blocks(2211);
	NEED(execve(wild, argv, environ) == -1 && errno == EFAULT);
	blocks(2211);
	NEED(execv("/", argv) == -1 && errno == EACCES);
	blocks(2211);
}

static int in_child(char **argv)
{
	int status = 0;
	pid_t pid = vfork();

	if (pid == 0) {
		execv(argv[0], argv);
		_exit(9);
	}
	NEED(pid > 0 && waitpid(pid, &status, 0) == pid);
	blocks(2212);
	return WEXITSTATUS(status);
}

static void tell(void)
{
	for (char **entry = environ; *entry; entry++)
		if (!strncmp(*entry, "MEMTAPE", 7) || !strncmp(*entry, "LD_PRELOAD", 10) ||
		    !strncmp(*entry, "WORD=", 5))
			puts(*entry);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "end";
	char word[] = "WORD=given";
	char *clean[] = { word, NULL };
	pthread_t thread;

	if (!strcmp(how, "end")) {
		blocks(2213);
		tell();
		return 0;
	}
	if (!strcmp(how, "child"))
		return in_child(argv + 2);
	if (!strcmp(how, "thread")) {
		NEED(!pthread_create(&thread, NULL, in_thread, argv + 2));
		pthread_join(thread, NULL);
	}
	if (!strcmp(how, "fails"))
		fail(argv + 2);
	if (!strcmp(how, "clean"))
		execve(argv[2], argv + 2, clean);
	execv(argv[2], argv + 2);
	return 98;
}
