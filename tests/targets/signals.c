/*
 * signals: handlers that allocate a thousand times a second, on a stack of their own, while the
 * program allocates: they come anywhere, in the middle of the recorder too.
 *
 * malloc is not async-signal-safe, so the handlers use memory of an allocator that is: the
 * program's malloc is guarded by a flag the handler looks at, as real programs do it. In between
 * the handler calls malloc only when main is outside of it; main's own calls are what the signal
 * hits. posix_memalign with an invalid alignment goes through the recorder and never into the
 * heap: that one the handler calls always.
 *
 * A handler's event that comes while the recorder itself is taking new memory may be lost, and is
 * counted ("losses": at most so many); main's may not.
 *
 * Run: alarm, losses 5
 *	size 2701: 20000 malloc in main_work, freed in main_work
 * Run: prof, losses 5
 *	size 2701: 20000 malloc in main_work, freed in main_work
 * Run: thread, losses 5
 *	size 2701: 20000 malloc in main_work, freed in main_work
 * Run: altstack, losses 5
 *	size 2701: 20000 malloc in main_work, freed in main_work
 *	size 2703: 200 malloc in outside_handler, freed in outside_handler
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "target.h"

enum { ROUNDS = 20000 };

static volatile sig_atomic_t inside_malloc;
static volatile sig_atomic_t handler_count, refused_count;
static atomic_int stopping;

FRAME static void handler(int number)
{
	int saved = errno;
	void *block = NULL;

	(void)number;
	handler_count++;
	if (posix_memalign(&block, 3, 2702) == EINVAL)
		refused_count++;
	if (!inside_malloc)
		free(need_block(malloc(2704)));
	free(NULL);
	errno = saved;
}

FRAME static void outside_handler(int number)
{
	(void)number;
	free(need_block(malloc(2703)));
	no_tail_call();
}

FRAME static void main_work(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *block;

		inside_malloc = 1;
		errno = 1000 + i % 7;
		block = need_block(malloc(2701));
		need(errno == 1000 + i % 7, "errno kept by malloc");
		free(block);
		need(errno == 1000 + i % 7, "errno kept by free");
		inside_malloc = 0;
		for (volatile int j = 0; j < 24000; j++)
			;
	}
}

static void *tease(void *arg)
{
	while (!atomic_load(&stopping)) {
		pthread_kill(*(pthread_t *)arg, SIGUSR1);
		usleep(300);
	}
	return NULL;
}

static void install(int number, void (*run)(int), int flags)
{
	struct sigaction action = { .sa_handler = run, .sa_flags = flags | SA_RESTART };

	NEED(!sigaction(number, &action, NULL));
}

static void run_timer(int which, int number, int flags)
{
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };

	install(number, handler, flags);
	NEED(!setitimer(which, &every, NULL));
	main_work();
	NEED(!setitimer(which, &never, NULL));
}

static void run_thread(void)
{
	pthread_t self = pthread_self(), thread;

	install(SIGUSR1, handler, 0);
	NEED(!pthread_create(&thread, NULL, tease, &self));
	main_work();
	atomic_store(&stopping, 1);
	NEED(!pthread_join(thread, NULL));
}

static void run_altstack(void)
{
	static char space[64 << 10];
	stack_t stack = { .ss_sp = space, .ss_size = sizeof(space) };

	NEED(!sigaltstack(&stack, NULL));
	run_timer(ITIMER_REAL, SIGALRM, SA_ONSTACK);
	install(SIGUSR2, outside_handler, SA_ONSTACK);
	for (int i = 0; i < 200; i++)
		raise(SIGUSR2);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "alarm";

	if (!strcmp(how, "alarm"))
		run_timer(ITIMER_REAL, SIGALRM, 0);
	if (!strcmp(how, "prof"))
		run_timer(ITIMER_PROF, SIGPROF, 0);
	if (!strcmp(how, "thread"))
		run_thread();
	if (!strcmp(how, "altstack"))
		run_altstack();
	need(handler_count > 0, "a signal");
	need(handler_count == refused_count, "posix_memalign in the handler");
	puts(how);
	return 0;
}
