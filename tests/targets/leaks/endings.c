/*
 * endings: every way a program can end. Whichever it is, a block is lost, one is held by a variable,
 * and one only by the frame that was running; where main has returned there is no such frame.
 *
 *	Run: by_return: definite 501 in 1, reachable 502 in 1
 *	Run: by_exit, exit 3: definite 501 in 1, reachable 1005 in 2
 *	Run: by__exit, exit 4: definite 501 in 1, reachable 1005 in 2
 *	Run: by_quick_exit, exit 5: definite 501 in 1, reachable 1005 in 2
 *	Run: by_system_call, exit 6: definite 501 in 1, reachable 1005 in 2
 *	Run: by_abort, signal 6: definite 501 in 1, reachable 1005 in 2
 *	Run: by_sigterm, signal 15: definite 501 in 1, reachable 1005 in 2
 *	Run: by_sigint, signal 2: definite 501 in 1, reachable 1005 in 2
 *	Run: by_sigpipe, signal 13: definite 501 in 1, reachable 1005 in 2
 *	Run: by_sigalrm, signal 14: definite 501 in 1, reachable 1005 in 2
 *	Run: by_segfault, signal 11: definite 501 in 1, reachable 1005 in 2
 *	Run: by_division, signal 8: definite 501 in 1, reachable 1005 in 2
 *	Run: by_second_segfault, signal 11: definite 501 in 1, reachable 1005 in 2
 *	Run: exit_in_handler, exit 7: definite 501 in 1, reachable 1005 in 2
 *	Run: _exit_in_handler, exit 8: definite 501 in 1, reachable 1005 in 2
 *	Run: exit_on_other_stack, exit 9: definite 501 in 1, reachable 17389 in 3
 *	Run: handled_and_on: definite 501 in 1, reachable 502 in 1
 *	Run: ignored_and_on: definite 501 in 1, reachable 502 in 1
 *	Run: handler_frees: reachable 502 in 1
 *	Run: handler_loses: definite 1005 in 2, reachable 502 in 1
 *	Run: handler_holds: definite 501 in 1, reachable 1007 in 2
 *	Run: handler_order: definite 510 in 1
 *	Run: exit_twice, exit 11: definite 501 in 1, reachable 502 in 1
 *	Run: on_exit_argument: definite 501 in 1, reachable 502 in 1
 *	Run: quick_handler_frees, exit 12: reachable 502 in 1
 *	Run: cleaned_up, exit 13: reachable 1005 in 2
 *	Run: jumped_over: definite 1004 in 2, reachable 502 in 1
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leak.h"

static void *volatile held[8];
static volatile uintptr_t hidden;
static volatile int hundred = 100, zero;
static int *volatile nowhere;

FRAME static void lose_and_hold(void)
{
	hidden = ~(uintptr_t)block(501);
	held[0] = block(502);
}

static void by_return(void)
{
	lose_and_hold();
}

/* Ends the program in a frame that holds a block. */
#define ENDING(name, statement)                                                                    \
	static void name(void)                                                                     \
	{                                                                                          \
		void *volatile local = block(503);                                                 \
                                                                                                   \
		lose_and_hold();                                                                   \
		wipe();                                                                            \
		statement;                                                                         \
		keep((void *)&local);                                                              \
	}

static void do_nothing(int number)
{
	(void)number;
}

static void exit_7(int number)
{
	(void)number;
	exit(7);
}

static void _exit_8(int number)
{
	(void)number;
	_exit(8);
}

static void exit_9(int number)
{
	(void)number;
	exit(9);
}

static void again(int number)
{
	signal(number, SIG_DFL);
}

FRAME static void raise_with(int number, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	NEED(sigaction(number, &action, NULL) == 0);
	raise(number);
}

FRAME static void use_other_stack(void)
{
	const stack_t stack = { .ss_sp = block(16384), .ss_size = 16384 };

	held[1] = stack.ss_sp;
	NEED(sigaltstack(&stack, NULL) == 0);
}

FRAME static void segfault(void)
{
	*nowhere = 1;
}

FRAME static void alarm_and_wait(void)
{
	alarm(1);
	for (;;)
		pause();
}

ENDING(by_exit, exit(3))
ENDING(by__exit, _exit(4))
ENDING(by_quick_exit, quick_exit(5))
ENDING(by_system_call, syscall(SYS_exit_group, 6))
ENDING(by_abort, abort())
ENDING(by_sigterm, raise(SIGTERM))
ENDING(by_sigint, kill(getpid(), SIGINT))
ENDING(by_sigpipe, raise(SIGPIPE))
ENDING(by_sigalrm, alarm_and_wait())
ENDING(by_segfault, segfault())
ENDING(by_division, zero = hundred / zero)
ENDING(by_second_segfault, (signal(SIGSEGV, again), segfault()))
ENDING(exit_in_handler, raise_with(SIGUSR1, exit_7, 0))
ENDING(_exit_in_handler, raise_with(SIGUSR1, _exit_8, 0))
ENDING(exit_on_other_stack, (use_other_stack(), raise_with(SIGUSR1, exit_9, SA_ONSTACK)))

static void handled_and_on(void)
{
	lose_and_hold();
	raise_with(SIGTERM, do_nothing, 0);
}

static void ignored_and_on(void)
{
	lose_and_hold();
	raise_with(SIGTERM, SIG_IGN, 0);
}

/* --- what is done at exit --------------------------------------------------------------------- */

static void free_hidden(void)
{
	free((void *)~hidden);
}

static void lose_another(void)
{
	block(504);
}

static void hold_another(void)
{
	held[2] = block(505);
}

static void handler_frees(void)
{
	lose_and_hold();
	NEED(atexit(free_hidden) == 0);
}

static void handler_loses(void)
{
	lose_and_hold();
	NEED(atexit(wipe) == 0);
	NEED(atexit(lose_another) == 0);
}

static void handler_holds(void)
{
	lose_and_hold();
	NEED(atexit(hold_another) == 0);
}

static void forget(void)
{
	held[4] = NULL;
}

static void make_for_forget(void)
{
	held[4] = block(510);
}

/* The last comes first: made, then forgotten. */
static void handler_order(void)
{
	NEED(atexit(wipe) == 0);
	NEED(atexit(forget) == 0);
	NEED(atexit(make_for_forget) == 0);
}

static void exit_11(void)
{
	exit(11);
}

static void exit_twice(void)
{
	lose_and_hold();
	NEED(atexit(wipe) == 0);
	NEED(atexit(exit_11) == 0);
}

static void take_argument(int code, void *ptr)
{
	(void)code;
	held[0] = ptr;
}

static void on_exit_argument(void)
{
	lose_and_hold();
	NEED(on_exit(take_argument, (void *)held[0]) == 0);
	held[0] = NULL;
}

static void quick_handler_frees(void)
{
	lose_and_hold();
	NEED(at_quick_exit(free_hidden) == 0);
	quick_exit(12);
}

__attribute__((destructor)) static void free_at_the_very_end(void)
{
	free((void *)held[5]);
}

static void cleaned_up(void)
{
	void *volatile local = block(503);

	held[0] = block(502);
	held[5] = block(508);
	wipe();
	exit(13);
	keep((void *)&local);
}

static jmp_buf back;

FRAME static void jump(void)
{
	void *volatile local = block(503);

	lose_and_hold();
	keep((void *)&local);
	longjmp(back, 1);
}

static void jumped_over(void)
{
	if (setjmp(back) == 0)
		jump();
}

static const struct leak_case cases[] = {
	CASE(by_return),	   CASE(by_exit),	  CASE(by__exit),
	CASE(by_quick_exit),	   CASE(by_system_call),  CASE(by_abort),
	CASE(by_sigterm),	   CASE(by_sigint),	  CASE(by_sigpipe),
	CASE(by_sigalrm),	   CASE(by_segfault),	  CASE(by_division),
	CASE(by_second_segfault),  CASE(exit_in_handler), CASE(_exit_in_handler),
	CASE(exit_on_other_stack), CASE(handled_and_on),  CASE(ignored_and_on),
	CASE(handler_frees),	   CASE(handler_loses),	  CASE(handler_holds),
	CASE(handler_order),	   CASE(exit_twice),	  CASE(on_exit_argument),
	CASE(quick_handler_frees), CASE(cleaned_up),	  CASE(jumped_over),
};

LEAK_MAIN(cases)
