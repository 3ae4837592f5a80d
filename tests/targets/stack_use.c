/*
 * stack_use: threads that use known depths of their stacks. With one more argument each prints a
 * line: its number, the bytes of its stack as pthread_getattr_np() tells them, and how far down it
 * has written, from the stack's end. tests/e2e/test_stack_use.py compares.
 *
 * Run: threads
 *	size 2711: 1 malloc in at_the_bottom, freed
 * Run: crowd
 *	size 2712: 1500 malloc in short_life, freed
 * Run: fork
 * Run: near
 *	size 2711: 1 malloc in at_the_bottom, freed
 * Run: overflow, signal 11
 * Run: killed, signal 9
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "target.h"

enum { KIB = 1024, PAGE = 4096, STEP = 1024 };

static __thread uintptr_t lowest = UINTPTR_MAX; /* that this thread has written to */

/* Writes to each page of so many bytes of its frame. */
FRAME static void touch(size_t bytes)
{
	volatile char *array = __builtin_alloca(bytes);

	for (size_t at = bytes; at >= STEP; at -= STEP)
		array[at - STEP] = 1;
	if ((uintptr_t)array < lowest)
		lowest = (uintptr_t)array;
	no_tail_call();
}

/* The same far below a frame that nobody writes to. */
FRAME static void touch_below_gap(size_t gap, size_t bytes)
{
	volatile char *array = __builtin_alloca(gap);

	keep((void *)array);
	touch(bytes);
	array[gap - 1] = 1;
}

FRAME static void at_the_bottom(size_t bytes)
{
	volatile char *array = __builtin_alloca(bytes);

	for (size_t at = bytes; at >= STEP; at -= STEP)
		array[at - STEP] = 1;
	free(need_block(malloc(2711)));
	if ((uintptr_t)array < lowest)
		lowest = (uintptr_t)array;
	no_tail_call();
}

static int is_saying;

static void say(const char *name)
{
	pthread_attr_t attr;
	void *begin;
	size_t bytes;

	if (!is_saying)
		return;
	NEED(!pthread_getattr_np(pthread_self(), &attr));
	NEED(!pthread_attr_getstack(&attr, &begin, &bytes));
	pthread_attr_destroy(&attr);
	printf("%s %ld %zu %zu\n", name, syscall(SYS_gettid), bytes,
	       (size_t)((uintptr_t)begin + bytes - lowest));
	fflush(stdout);
}

static void begin(const char *name)
{
	prctl(PR_SET_NAME, name);
	free(need_block(malloc(100)));
}

static void *plain_life(void *arg)
{
	begin("plain");
	touch(300 * KIB);
	say("plain");
	return arg;
}

/* Its first event comes when it has been deep already. */
static void *late_life(void *arg)
{
	touch(1000 * KIB);
	begin("late");
	say("late");
	return arg;
}

static void *sized_life(void *arg)
{
	begin("sized");
	at_the_bottom(600 * KIB);
	say("sized");
	return arg;
}

/* Renames itself when it is known by another name, and is killed. */
static void run_renamed(void)
{
	struct timespec begin, now;
	uint64_t ms = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	prctl(PR_SET_NAME, "first");
	for (int is_later = 0; ms < 900;) {
		for (int i = 0; i < 1000; i++)
			free(need_block(malloc(100)));
		clock_gettime(CLOCK_MONOTONIC, &now);
		ms = (uint64_t)(now.tv_sec - begin.tv_sec) * 1000 +
		     (uint64_t)((now.tv_nsec - begin.tv_nsec) / 1000000);
		if (ms >= 400 && !is_later++)
			prctl(PR_SET_NAME, "later");
	}
	kill(getpid(), SIGKILL);
}

static void *near_life(void *arg)
{
	begin("near");
	at_the_bottom(900 * KIB);
	say("near");
	return arg;
}

/* Until its stack is full. */
FRAME static int never_ends(int depth)
{
	volatile char array[2000];

	array[0] = (char)depth;
	free(need_block(malloc(2713)));
	return never_ends(depth + 1) + array[0];
}

static void *endless_life(void *arg)
{
	begin("endless");
	never_ends(0);
	return arg;
}

static void *given_life(void *arg)
{
	begin("given");
	touch(200 * KIB);
	say("given");
	return arg;
}

static void *dirty_life(void *arg)
{
	begin("dirty");
	touch(100 * KIB);
	say("dirty");
	return arg;
}

static void *gap_life(void *arg)
{
	begin("gap");
	touch_below_gap(2000 * KIB, 16 * KIB);
	say("gap");
	return arg;
}

/* In the stack of one that has ended and was deep. */
static void *after_life(void *arg)
{
	begin("after");
	touch(STEP);
	say("after");
	return arg;
}

static ucontext_t outside, inside;

FRAME static void on_own_stack(void)
{
	for (int i = 0; i < 100; i++)
		free(need_block(malloc(200)));
	no_tail_call();
}

static void *coroutine_life(void *arg)
{
	char *stack = need_block(malloc(64 * KIB));

	begin("coroutine");
	touch(STEP);
	NEED(!getcontext(&inside));
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = 64 * KIB;
	inside.uc_link = &outside;
	makecontext(&inside, on_own_stack, 0);
	NEED(!swapcontext(&outside, &inside));
	free(stack);
	say("coroutine");
	return arg;
}

static void on_signal(int number)
{
	(void)number;
	free(need_block(malloc(300)));
}

/* A handler that allocates, on memory of its own. */
static void *handler_life(void *arg)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_size = 64 * KIB };

	begin("handler");
	touch(STEP);
	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	NEED(stack.ss_sp != MAP_FAILED);
	NEED(!sigaltstack(&stack, NULL));
	NEED(!sigaction(SIGUSR1, &action, NULL));
	pthread_kill(pthread_self(), SIGUSR1);
	stack.ss_flags = SS_DISABLE;
	NEED(!sigaltstack(&stack, NULL));
	say("handler");
	return arg;
}

static pthread_barrier_t barrier;

/* Still there at the program's end. */
static void *alive_life(void *arg)
{
	begin("alive");
	touch(400 * KIB);
	say("alive");
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return arg;
}

static void *short_life(void *arg)
{
	free(need_block(malloc(2712)));
	return arg;
}

static void run(void *(*life)(void *), const pthread_attr_t *attr)
{
	pthread_t thread;

	NEED(!pthread_create(&thread, attr, life, NULL));
	NEED(!pthread_join(thread, NULL));
}

static void run_sized(void *(*life)(void *))
{
	pthread_attr_t attr;

	NEED(!pthread_attr_init(&attr));
	NEED(!pthread_attr_setstacksize(&attr, 1024 * KIB));
	run(life, &attr);
}

static void run_given(void *(*life)(void *), int fill)
{
	const size_t bytes = 512 * KIB;
	void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;

	NEED(stack != MAP_FAILED);
	if (fill)
		memset(stack, fill, bytes);
	NEED(!pthread_attr_init(&attr));
	NEED(!pthread_attr_setstack(&attr, stack, bytes));
	run(life, &attr);
	munmap(stack, bytes);
}

static void run_threads(void)
{
	pthread_t alive;

	run(plain_life, NULL);
	run(late_life, NULL);
	run_sized(sized_life);
	run_given(given_life, 0);
	run_given(dirty_life, 0xff);
	run(gap_life, NULL);
	run(after_life, NULL);
	run(coroutine_life, NULL);
	run(handler_life, NULL);
	NEED(!pthread_barrier_init(&barrier, NULL, 2));
	NEED(!pthread_create(&alive, NULL, alive_life, NULL));
	pthread_barrier_wait(&barrier);
	touch(1500 * KIB);
	say("main");
}

static void *forking_life(void *arg)
{
	int status;

	begin("forking");
	touch(700 * KIB);
	if (fork() == 0) {
		lowest = UINTPTR_MAX;
		touch(arg ? 900 * KIB : STEP);
		free(need_block(malloc(100)));
		say(arg ? "deeper" : "child");
		exit(0);
	}
	wait(&status);
	say("forking");
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "threads";

	is_saying = argc > 2;
	free(need_block(malloc(100)));
	if (!strcmp(how, "threads"))
		run_threads();
	for (int i = 0; !strcmp(how, "crowd") && i < 1500; i++)
		run(short_life, NULL);
	if (!strcmp(how, "fork")) {
		pthread_t thread;

		run(forking_life, NULL);
		NEED(!pthread_create(&thread, NULL, forking_life, argv));
		NEED(!pthread_join(thread, NULL));
	}
	if (!strcmp(how, "near"))
		run_sized(near_life);
	if (!strcmp(how, "renamed"))
		run_renamed();
	if (!strcmp(how, "overflow"))
		run_sized(endless_life);
	if (!strcmp(how, "killed")) {
		touch(500 * KIB);
		say("main");
		kill(getpid(), SIGKILL);
	}
	return 0;
}
