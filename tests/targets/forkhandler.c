/*
 * forkhandler: a signal handler that forks while the program allocates, anywhere in it, the
 * recorder too. The child returns from the handler, goes on with what was interrupted, allocates
 * some more and ends. Every child must get there, and the parent's tape hold what the parent did.
 *
 * Run: fork
 *	size 3301: 5000 malloc in main_work, freed in main_work
 * Run: _Fork
 *	size 3301: 5000 malloc in main_work, freed in main_work
 * Run: clone
 *	size 3301: 5000 malloc in main_work, freed in main_work
 * Run: clone3
 *	size 3301: 5000 malloc in main_work, freed in main_work
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

enum { ROUNDS = 5000, CHILDREN = 100, DEPTH = 24 };

extern pid_t _Fork(void);

static const char *how = "fork";
static volatile sig_atomic_t is_child, child_count, bad_count, bad_status;

static pid_t fork_somehow(void)
{
	uint64_t args[11] = { [4] = SIGCHLD }; /* struct clone_args: exit_signal */

	if (!strcmp(how, "_Fork"))
		return _Fork();
	if (!strcmp(how, "clone"))
		return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!strcmp(how, "clone3"))
		return (pid_t)syscall(SYS_clone3, args, sizeof(args));
	return fork();
}

static void handler(int number)
{
	const int saved = errno;
	int status = 0;
	pid_t pid;

	(void)number;
	if (is_child || child_count >= CHILDREN)
		return;
	pid = fork_somehow();
	if (pid == 0) {
		is_child = 1;
		free(NULL);
		errno = saved;
		return;
	}
	child_count++;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) {
		bad_count++;
		bad_status = status;
	}
	errno = saved;
}

/* New frames are what the recorder works longest on. */
FRAME static void *descend(int depth, size_t size)
{
	void *block = depth > 0 ? descend(depth - 1, size) : need_block(malloc(size));

	no_tail_call();
	return block;
}

static void child_end_if(void)
{
	if (!is_child)
		return;
	for (int i = 0; i < 40; i++)
		free(descend(i % DEPTH, 3302));
	_exit(7);
}

FRAME static void main_work(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		free(descend(i % DEPTH, 3301));
		child_end_if();
	}
	while (child_count == 0) { /* faster than the first signal */
		free(descend(DEPTH, 3303));
		child_end_if();
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 150 }, { 0, 150 } }, never = { { 0, 0 }, { 0, 0 } };

	how = argc > 1 ? argv[1] : how;
	NEED(!sigaction(SIGALRM, &action, NULL));
	NEED(!setitimer(ITIMER_REAL, &every, NULL));
	main_work();
	NEED(!setitimer(ITIMER_REAL, &never, NULL));
	child_end_if(); /* the last signal may have come after the work */
	if (bad_count)
		fprintf(stderr, "%d of %d children died, one with status %x\n", bad_count,
			child_count, bad_status);
	need(child_count > 0, "a child");
	return bad_count > 0;
}
