/*
 * forked: children that lose memory and end, and parents that lose some, too.
 *
 *	Run: child_loses: nothing
 *	Child: child_loses: definite 801 in 1
 *	Run: both_lose: definite 802 in 1, reachable 803 in 1
 *	Child: both_lose: definite 801 in 1, reachable 804 in 1
 *	Run: child_frees: reachable 805 in 1
 *	Child: child_frees: nothing
 *	Run: child_loses_what_it_has: reachable 806 in 1
 *	Child: child_loses_what_it_has: definite 806 in 1
 */
#include <sys/wait.h>
#include <unistd.h>

#include "leak.h"

static void *volatile held;

FRAME static void run_child(void (*life)(void))
{
	const pid_t child = fork();
	int status = 0;

	NEED(child >= 0);
	if (child == 0) {
		life();
		wipe();
		exit(0);
	}
	NEED(waitpid(child, &status, 0) == child);
	NEED(status == 0);
}

static void lose(void)
{
	block(801);
}

static void child_loses(void)
{
	run_child(lose);
}

static void lose_and_hold(void)
{
	block(801);
	held = block(804);
}

static void both_lose(void)
{
	run_child(lose_and_hold);
	block(802);
	held = block(803);
}

static void free_held(void)
{
	free((void *)held);
	held = NULL;
}

static void child_frees(void)
{
	held = block(805);
	run_child(free_held);
}

static void forget_held(void)
{
	held = NULL;
}

static void child_loses_what_it_has(void)
{
	held = block(806);
	run_child(forget_held);
}

static const struct leak_case cases[] = {
	CASE(child_loses),
	CASE(both_lose),
	CASE(child_frees),
	CASE(child_loses_what_it_has),
};

LEAK_MAIN(cases)
