#include "collect/signals.h"

#include <assert.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "collect/spool.h"

/* Written by signals_install before handlers exist, and by the handler. */
static struct {
	uint32_t pending; /* atomic */
	uint32_t *wake;
	bool takes_all;
} state;

/* Passed on if sent by a process. SIGCHLD and the kernel's SIGIO only wake. */
static const int HANDLED[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD, SIGIO };

/*
 * The program decides whether to stop, and we follow it; writing messages from the background must
 * not stop us; a full disk must be an error code, not fatal.
 */
static const int IGNORED[] = { SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGXFSZ };

static void handle(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (number != SIGCHLD &&
	    (state.takes_all || info->si_code <= 0)) /* from a process: kill, sigqueue */
		__atomic_fetch_or(&state.pending, 1u << number, __ATOMIC_RELAXED);
	spool_poke(state.wake);
}

static void take_over(struct signals *saved, int number, const struct sigaction *action)
{
	sigaction(number, action, &saved->saved[number]);
}

void signals_install(struct signals *saved, uint32_t *wake)
{
	const struct sigaction handler = { .sa_sigaction = handle,
					   .sa_flags = SA_SIGINFO | SA_RESTART };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t ours;

	assert(wake);
	state.pending = 0;
	state.takes_all = false;
	state.wake = wake;
	sigemptyset(&ours);
	for (size_t i = 0; i < array_size(IGNORED); i++)
		take_over(saved, IGNORED[i], &ignore);
	for (size_t i = 0; i < array_size(HANDLED); i++) {
		take_over(saved, HANDLED[i], &handler);
		sigaddset(&ours, HANDLED[i]);
	}
	sigprocmask(SIG_UNBLOCK, &ours, &saved->mask);
	saved->is_installed = true;
}

void signals_take_all(void)
{
	state.takes_all = true;
}

void signals_restore(const struct signals *saved)
{
	for (size_t i = 0; i < array_size(IGNORED); i++)
		sigaction(IGNORED[i], &saved->saved[IGNORED[i]], NULL);
	for (size_t i = 0; i < array_size(HANDLED); i++)
		sigaction(HANDLED[i], &saved->saved[HANDLED[i]], NULL);
	sigprocmask(SIG_SETMASK, &saved->mask, NULL);
}

uint32_t signals_take(void)
{
	return __atomic_exchange_n(&state.pending, 0, __ATOMIC_RELAXED);
}

bool signals_ask_to_end(void)
{
	return signals_take() & (1u << SIGINT | 1u << SIGTERM | 1u << SIGHUP);
}

void signals_die(int number)
{
	sigset_t set;

	assert(number > 0 && number < NSIG);
	prctl(PR_SET_DUMPABLE, 0);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
}
