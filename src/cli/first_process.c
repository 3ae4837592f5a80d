#include "cli/first_process.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waits for all that have ended; true: the child is among them. */
static bool reap(pid_t child, int *status_ret)
{
	bool has_ended = false;
	int status;

	for (;;) {
		const pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid <= 0)
			return has_ended;
		if (pid == child) {
			*status_ret = status;
			has_ended = true;
		}
	}
}

/* Those that a terminal sends reach the child as they reach us. */
static void hand_on(pid_t child, const siginfo_t *info)
{
	if (info->si_signo != SIGCHLD && info->si_code <= 0)
		kill(child, info->si_signo);
}

__attribute__((noreturn)) static void stay(pid_t child, const sigset_t *all)
{
	int status = 0;

	while (!reap(child, &status)) {
		siginfo_t info;

		if (sigwaitinfo(all, &info) > 0)
			hand_on(child, &info);
	}
	_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

void first_process_split(void)
{
	sigset_t all, before;
	pid_t child;

	if (getpid() != 1)
		return;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	child = fork();
	if (child > 0)
		stay(child, &all);
	sigprocmask(SIG_SETMASK, &before, NULL);
}
