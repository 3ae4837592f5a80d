#include "cli/beside.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"

/* What is prepared before the fork: other threads may hold any lock then. */
struct launch {
	const char **args;
	int out, control;
	bool is_bound;
	pid_t parent;
};

/* In the child. The terminal's signals and input are its parent's. */
static _Noreturn void child_main(const struct launch *launch)
{
	const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	setpgid(0, 0);
	if (launch->is_bound)
		prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (launch->is_bound && getppid() != launch->parent)
		_exit(0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	dup2(null_fd, STDIN_FILENO);
	dup2(launch->out, STDOUT_FILENO);
	dup2(launch->out, STDERR_FILENO);
	fcntl(launch->control, F_SETFD, 0);
	execv("/proc/self/exe", (char *const *)launch->args);
	_exit(127);
}

struct err *beside_start(struct beside *beside, const char **args, size_t control_at, bool is_bound)
{
	struct launch launch = { .args = args, .is_bound = is_bound, .parent = getpid() };
	int ends[2], sockets[2];
	char number[24];

	assert(!args[control_at]);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno("pipe");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
		close(ends[0]);
		close(ends[1]);
		return err_errno("socketpair");
	}
	launch.out = ends[1];
	launch.control = sockets[1];
	args[control_at] = str_format(number, sizeof(number), "%d", sockets[1]);
	*beside = (struct beside) { .pid = fork(), .out = ends[0], .control = sockets[0] };
	if (beside->pid == 0)
		child_main(&launch);
	args[control_at] = NULL;
	close(ends[1]);
	close(sockets[1]);
	if (beside->pid > 0)
		return NULL;
	close(ends[0]);
	close(sockets[0]);
	return err_errno("fork");
}

bool beside_line(const struct beside *beside, char line[BESIDE_LINE_BYTES])
{
	size_t len = 0;

	while (len + 1 < BESIDE_LINE_BYTES) {
		const ssize_t got = read(beside->out, line + len, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || line[len] == '\n')
			break;
		len++;
	}
	line[len] = '\0';
	return len > 0;
}

const char *beside_trouble(const char *line)
{
	static const char own[] = "memtape: ";

	return strncmp(line, own, strlen(own)) == 0 ? line + strlen(own) : NULL;
}
