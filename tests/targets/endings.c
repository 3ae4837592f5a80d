/*
 * endings: every way for a process to end. What happened before it is on the tape.
 *
 * Run: return, exit 3
 *	size 2301: 500 malloc in work, freed in work
 *	size 2302: 1 malloc in main, leaked
 * Run: exit, exit 4
 *	size 2301: 500 malloc in work, freed in work
 *	size 2303: 1 malloc in at_exit, leaked
 * Run: _exit, exit 5
 *	size 2301: 500 malloc in work, freed in work
 *	size 2302: 1 malloc in main, leaked
 * Run: _exit_thread, exit 6
 *	size 2301: 500 malloc in work, freed in work
 *	size 2302: 1 malloc in main, leaked
 * Run: quick_exit, exit 7
 *	size 2301: 500 malloc in work, freed in work
 *	size 2304: 1 malloc in at_quick, leaked
 * Run: abort, signal 6
 *	size 2301: 500 malloc in work, freed in work
 * Run: segv, signal 11
 *	size 2301: 500 malloc in work, freed in work
 * Run: kill, signal 9
 *	size 2301: 500 malloc in work, freed in work
 * Run: term, signal 15
 *	size 2301: 500 malloc in work, freed in work
 * Run: pthread_exit
 *	size 2301: 500 malloc in work, freed in work
 *	size 2305: 1 malloc in last_thread, freed in last_thread
 * Run: raw_exit, exit 8
 *	size 2301: 500 malloc in work, freed in work
 * Run: double_free, signal 6
 *	size 2301: 500 malloc in work, freed in work
 * Run: stack_overflow, signal 11
 *	size 2301: 500 malloc in work, freed in work
 * Run: handler_exit, exit 9
 *	size 2301: 500 malloc in work, freed in work
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target.h"

FRAME static void work(void)
{
	for (int i = 0; i < 500; i++)
		free(need_block(malloc(2301)));
	no_tail_call();
}

FRAME static void at_exit(void)
{
	need_block(malloc(2303));
	no_tail_call();
}

FRAME static void at_quick(void)
{
	need_block(malloc(2304));
	no_tail_call();
}

static void *exit_now(void *arg)
{
	_exit(6);
	return arg;
}

FRAME static void *last_thread(void *arg)
{
	usleep(20000);
	free(need_block(malloc(2305)));
	no_tail_call();
	return arg;
}

FRAME static int overflow(int depth)
{
	volatile char local[4096];

	local[depth % 4096] = (char)depth;
	return overflow(depth + 1) + local[0];
}

static void exit_from_handler(int number)
{
	exit(number == SIGUSR1 ? 9 : 1);
}

static void end_by_thread(void *(*run)(void *), int leave)
{
	pthread_t thread;

	NEED(!pthread_create(&thread, NULL, run, NULL));
	if (leave)
		pthread_exit(NULL);
	pthread_join(thread, NULL);
}

static void free_twice(void)
{
	void *volatile block = malloc(2306);

	free(block);
	free(block);
}

static int end(const char *how)
{
	if (!strcmp(how, "exit"))
		exit(4);
	if (!strcmp(how, "_exit"))
		_exit(5);
	if (!strcmp(how, "_exit_thread"))
		end_by_thread(exit_now, 0);
	if (!strcmp(how, "quick_exit"))
		quick_exit(7);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		*(volatile int *)16 = 1;
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "term"))
		raise(SIGTERM);
	if (!strcmp(how, "pthread_exit"))
		end_by_thread(last_thread, 1);
	if (!strcmp(how, "raw_exit"))
		syscall(SYS_exit_group, 8);
	if (!strcmp(how, "double_free"))
		free_twice();
	if (!strcmp(how, "stack_overflow"))
		return overflow(1);
	if (!strcmp(how, "handler_exit")) {
		signal(SIGUSR1, exit_from_handler);
		raise(SIGUSR1);
	}
	return 3;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";

	work();
	need_block(malloc(2302));
	if (!strcmp(how, "exit"))
		atexit(at_exit);
	if (!strcmp(how, "quick_exit"))
		at_quick_exit(at_quick);
	return end(how);
}
