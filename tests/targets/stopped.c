/*
 * stopped: allocates until the recording of somebody with a small disk is over, and has children
 * after that, by fork and by the plain system call.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

enum { CHILDREN = 4, BLOCKS = 100000 };

static void work(size_t bytes)
{
	for (int i = 0; i < BLOCKS; i++)
		free(need_block(malloc(bytes + (size_t)i % 64)));
}

int main(void)
{
	int failed = 0;

	work(2501);
	for (int i = 0; i < CHILDREN; i++) {
		const pid_t pid = i % 2 ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
		int status = -1;

		if (pid == 0) {
			work(2601);
			_exit(5);
		}
		waitpid(pid, &status, 0);
		failed += !WIFEXITED(status) || WEXITSTATUS(status) != 5;
	}
	work(2701);
	printf("children that failed: %d\n", failed);
	return failed;
}
