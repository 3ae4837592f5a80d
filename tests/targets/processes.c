/*
 * processes: every way to make another process. The parent's blocks are on its tape exactly once
 * and nothing of the children is (they have tapes of their own, or none).
 *
 * Run: fork
 *	size 2101: 100 malloc in parent_work, freed in parent_work
 *	size 2102: 0 malloc in child_work
 *	size 2103: 1 malloc in main, leaked
 * Run: fork_threads
 *	size 2101: 100 malloc in parent_work, freed in parent_work
 *	size 2102: 0 malloc in child_work
 * Run: fork_exec
 *	size 2101: 100 malloc in parent_work, freed in parent_work
 *	size 2104: 0 malloc in exec_work
 * Run: vfork
 *	size 2101: 100 malloc in parent_work, freed in parent_work
 *	size 2104: 0 malloc in exec_work
 * Run: spawn
 *	size 2101: 100 malloc in parent_work, freed in parent_work
 *	size 2104: 0 malloc in exec_work
 * Run: system
 *	size 2101: 100 malloc in parent_work, freed in parent_work
 * Run: clone
 *	size 2101: 100 malloc in parent_work, freed in parent_work
 *	size 2102: 0 malloc in child_work
 * Run: clone_vm
 *	size 2101: 100 malloc in parent_work, freed in parent_work
 * Run: daemon
 *	size 2103: 1 malloc in main, leaked
 * Run: many
 *	size 2101: 100 malloc in parent_work, freed in parent_work
 *	size 2102: 0 malloc in child_work
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

extern char **environ;
static atomic_int stopping;
static char self[4096];

FRAME static void parent_work(int rounds)
{
	for (int i = 0; i < rounds; i++)
		free(need_block(malloc(2101)));
	no_tail_call();
}

FRAME static void child_work(void)
{
	for (int i = 0; i < 100; i++)
		free(need_block(malloc(2102)));
	no_tail_call();
}

FRAME static void exec_work(void)
{
	for (int i = 0; i < 100; i++)
		free(need_block(malloc(2104)));
	no_tail_call();
}

static void wait_for(pid_t pid)
{
	int status = 0;

	need(pid > 0, "a child");
	need(waitpid(pid, &status, 0) == pid, "waitpid");
	printf("child ended with %x\n", status);
}

static void run_fork(void)
{
	pid_t pid;

	parent_work(50);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		child_work();
		_exit(7);
	}
	parent_work(50);
	wait_for(pid);
}

static void *allocate_until_told(void *arg)
{
	while (!atomic_load(&stopping)) {
		free(need_block(malloc(2105)));
		for (volatile int i = 0; i < 3000; i++)
			;
	}
	return arg;
}

static void run_fork_threads(void)
{
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		NEED(!pthread_create(&thread[i], NULL, allocate_until_told, NULL));
	run_fork();
	atomic_store(&stopping, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

static void run_fork_exec(void)
{
	pid_t pid;

	parent_work(50);
	pid = fork();
	if (pid == 0) {
		execl(self, self, "child", NULL);
		_exit(1);
	}
	wait_for(pid);
	parent_work(50);
}

static void run_vfork(void)
{
	pid_t pid;

	parent_work(50);
	pid = vfork();
	if (pid == 0) {
		execl(self, self, "child", NULL);
		_exit(1);
	}
	wait_for(pid);
	pid = vfork();
	if (pid == 0)
		_exit(9);
	wait_for(pid);
	parent_work(50);
}

static void run_spawn(void)
{
	char *args[] = { self, (char *)"child", NULL };
	pid_t pid = 0;

	parent_work(50);
	NEED(!posix_spawn(&pid, self, NULL, NULL, args, environ));
	wait_for(pid);
	parent_work(50);
}

static void run_clone(void)
{
	pid_t pid;

	parent_work(50);
	fflush(stdout);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); /* no library hears of it */
	if (pid == 0) {
		child_work();
		_exit(3);
	}
	wait_for(pid);
	parent_work(50);
}

static int leave_at_once(void *arg)
{
	return *(int *)arg;
}

static void run_clone_vm(void)
{
	static char stack[65536] __attribute__((aligned(64)));
	int code = 5;

	parent_work(50);
	wait_for(clone(leave_at_once, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
		       &code));
	parent_work(50);
}

static void run_daemon(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		if (fork() == 0) {
			child_work();
			_exit(0);
		}
		_exit(0);
	}
	wait_for(pid);
}

static void run_many(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			child_work();
			_exit(i);
		}
		wait_for(pid);
		parent_work(5);
	}
}

static void run_system(void)
{
	parent_work(50);
	fflush(stdout);
	printf("system %x\n", system("echo from the shell; exit 4"));
	parent_work(50);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{ "fork", run_fork },		{ "fork_threads", run_fork_threads },
	{ "fork_exec", run_fork_exec }, { "vfork", run_vfork },
	{ "spawn", run_spawn },		{ "system", run_system },
	{ "clone", run_clone },		{ "clone_vm", run_clone_vm },
	{ "daemon", run_daemon },	{ "many", run_many },
	{ "child", exec_work },
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	NEED(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	need_block(malloc(2103));
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argc > 1 ? argv[1] : "fork", ways[i].name))
			ways[i].run();
	return 0;
}
