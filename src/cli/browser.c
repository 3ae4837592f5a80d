#include "cli/browser.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void browser_open(const char *url)
{
	const bool has_display = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
	pid_t pid;

	if (!has_display) {
		fprintf(stderr, "memtape: no display to open a browser on\n");
		return;
	}
	pid = fork();
	if (pid == 0) {
		const int null_fd = open("/dev/null", O_RDWR);
		sigset_t none;

		if (fork() > 0)
			_exit(0);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		dup2(null_fd, STDIN_FILENO);
		dup2(null_fd, STDOUT_FILENO);
		dup2(null_fd, STDERR_FILENO);
		execlp("xdg-open", "xdg-open", url, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}
