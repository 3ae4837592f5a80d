/*
 * afterfork: children whose first allocations happen where the recorder is not told of the fork:
 * in a pthread_atfork handler, after a fork that libc or the program makes itself. With follow=1
 * they record every one of theirs; tests/e2e/test_children.py looks at their tapes.
 *
 * Run: fork
 *	size 2201: 1 malloc in main, freed in main
 *	size 2202: 0 malloc in child_work
 * Run: atfork
 *	size 2201: 1 malloc in main, freed in main
 *	size 2202: 0 malloc in child_work
 * Run: raw
 *	size 2201: 1 malloc in main, freed in main
 *	size 2202: 0 malloc in child_work
 * Run: mapping
 *	size 2201: 1 malloc in main, freed in main
 *	size 2202: 0 malloc in child_work
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

FRAME static void child_work(void)
{
	for (int i = 0; i < 10; i++) {
		void *ptr = need_block(malloc(2202));

		ptr = need_block(realloc(ptr, 2203));
		free(ptr);
	}
	no_tail_call();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "fork";
	int status = 0;
	pid_t pid;

	if (strcmp(how, "atfork") == 0 && pthread_atfork(NULL, NULL, child_work) != 0)
		return 1;
	free(need_block(malloc(2201)));
	if (strcmp(how, "raw") == 0 || strcmp(how, "mapping") == 0)
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	else
		pid = fork();
	if (pid == 0) {
		/* A hook of another kind is the first one. */
		if (strcmp(how, "mapping") == 0)
			munmap(mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			       4096);
		if (strcmp(how, "atfork") != 0)
			child_work();
		_exit(7);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 1;
}
