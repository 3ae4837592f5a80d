/*
 * deep: recursion ten thousand deep with allocations at all depths on the way down and up, and a
 * small stack that is only a little deeper than the program needs.
 *
 * Run: main
 *	size 2801: 10000 malloc in go_down, freed in go_down
 * Run: thread
 *	size 2801: 10000 malloc in go_down, freed in go_down
 * Run: saw
 *	size 2802: 1000 malloc in saw_tooth, freed in saw_tooth
 * Run: small
 *	size 2803: 1000 malloc in on_small_stack, freed in on_small_stack
 */
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "target.h"

FRAME static int go_down(int depth)
{
	void *block = need_block(malloc(2801));
	int below = depth ? go_down(depth - 1) : 0;

	free(block);
	return below + 1;
}

/* Down n frames, allocate there, come back: n goes up and down. */
FRAME static int saw_tooth(int depth)
{
	if (depth) {
		int below = saw_tooth(depth - 1);

		no_tail_call();
		return below + 1;
	}
	free(need_block(malloc(2802)));
	no_tail_call();
	return 1;
}

static void *down_in_thread(void *arg)
{
	need(go_down(9999) == 10000, "the depth");
	return arg;
}

FRAME static void *on_small_stack(void *arg)
{
	for (int i = 0; i < 1000; i++)
		free(need_block(malloc(2803)));
	no_tail_call();
	return arg;
}

static void run_thread(void *(*run)(void *), size_t stack_bytes)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	NEED(!pthread_attr_setstacksize(&attr, stack_bytes));
	NEED(!pthread_create(&thread, &attr, run, NULL));
	NEED(!pthread_join(thread, NULL));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "main";

	if (!strcmp(how, "main"))
		need(go_down(9999) == 10000, "the depth");
	if (!strcmp(how, "thread"))
		run_thread(down_in_thread, 4 << 20);
	for (int i = 0; !strcmp(how, "saw") && i < 1000; i++)
		NEED(saw_tooth(i % 400 < 200 ? i % 200 * 5 : 1000 - i % 200 * 5));
	if (!strcmp(how, "small"))
		run_thread(on_small_stack, PTHREAD_STACK_MIN);
	puts(how);
	return 0;
}
