#include "cli/record_serve.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/str.h"

enum { ARGS_MAX = 12 };

/* In the child: detaches from the terminal's signals and input, and from our lifetime. */
static _Noreturn void server_main(const struct record_serve *serve, const char *path, int out,
				  int control, pid_t parent)
{
	const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char port[24], number[24];
	const char *args[ARGS_MAX] = { "memtape", "serve", "--wait", "--control" };
	int count = 4;

	args[count++] = str_format(number, sizeof(number), "%d", control);
	args[count++] = "--port";
	args[count++] = str_format(port, sizeof(port), "%llu", (unsigned long long)serve->port);
	if (serve->opens)
		args[count++] = "--open";
	args[count++] = "--";
	args[count++] = path;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(0);
	dup2(null_fd, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	fcntl(control, F_SETFD, 0);
	execv("/proc/self/exe", (char *const *)args);
	_exit(127);
}

/* Reads one line; false: there is none. */
static bool line_read(int fd, char *line, size_t bytes)
{
	size_t len = 0;

	while (len + 1 < bytes) {
		const ssize_t got = read(fd, line + len, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || line[len] == '\n')
			break;
		len++;
	}
	line[len] = '\0';
	return len > 0;
}

/* Tells the server that there is no recording to control any more. */
void record_serve_ended(struct record_serve *serve)
{
	if (serve->fd >= 0)
		close(serve->fd);
	serve->fd = -1;
}

struct err *record_serve_start(struct record_serve *serve, const char *path)
{
	static const char own[] = "memtape: ";
	const pid_t parent = getpid();
	char line[512];
	int ends[2], sockets[2];
	bool said;

	assert(path);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno("pipe");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
		close(ends[0]);
		close(ends[1]);
		return err_errno("socketpair");
	}
	serve->pid = fork();
	if (serve->pid == 0)
		server_main(serve, path, ends[1], sockets[1], parent);
	close(ends[1]);
	close(sockets[1]);
	serve->fd = sockets[0];
	said = serve->pid > 0 && line_read(ends[0], line, sizeof(line));
	close(ends[0]);
	if (said && strncmp(line, "http://", 7) == 0) {
		fprintf(stderr, "memtape: watch it at %s\n", line);
		return NULL;
	}
	record_serve_ended(serve);
	record_serve_stop(serve);
	if (said && strncmp(line, own, strlen(own)) == 0)
		return err_new(ERR_STATE, "--serve: %s", line + strlen(own));
	return err_new(ERR_STATE, "--serve: the server did not start");
}

static enum collector_wish_kind kind_of(uint32_t kind)
{
	switch ((enum control_kind)kind) {
	case CONTROL_MARK:
		return COLLECTOR_MARK;
	case CONTROL_STOP:
		return COLLECTOR_STOP;
	case CONTROL_PAUSE:
		return COLLECTOR_PAUSE;
	case CONTROL_RESUME:
		return COLLECTOR_RESUME;
	case CONTROL_SCAN:
		return COLLECTOR_SCAN;
	case CONTROL_SHOW:
		break;
	}
	return COLLECTOR_SHOW;
}

struct err *record_serve_obey(struct record_serve *serve, const char *fd)
{
	struct control control;
	struct err *err = control_parse(fd, &control);

	if (err)
		return err;
	serve->fd = dup(control.fd);
	control_deinit(&control);
	if (serve->fd < 0)
		return err_errno("--control");
	fcntl(serve->fd, F_SETFD, FD_CLOEXEC);
	serve->ends_with_peer = true;
	return NULL;
}

struct err *record_serve_tell_path(const char *path)
{
	puts(path);
	return fflush(stdout) == 0 ? NULL : err_errno("standard output");
}

void record_serve_begun(struct record_serve *serve, uint64_t pause_ns)
{
	const struct control_word word = { .done = true, .pause_ns = pause_ns };
	CLEAN(close) int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	assert(serve->fd >= 0);
	(void)!send(serve->fd, &word, sizeof(word), MSG_DONTWAIT | MSG_NOSIGNAL);
	if (null_fd >= 0) {
		dup2(null_fd, STDOUT_FILENO);
		dup2(null_fd, STDERR_FILENO);
	}
}

bool record_serve_wish(struct record_serve *serve, struct collector_wish *wish)
{
	struct control_ask *ask = &serve->ask;
	ssize_t got;

	if (serve->fd < 0)
		return false;
	got = recv(serve->fd, ask, sizeof(*ask), MSG_DONTWAIT);
	if (got == 0 && serve->ends_with_peer)
		*ask = (struct control_ask) { .kind = CONTROL_STOP };
	else if (got != sizeof(*ask))
		return false;
	ask->mark[sizeof(ask->mark) - 1] = '\0';
	*wish = (struct collector_wish) {
		.kind = kind_of(ask->kind),
		.mark = ask->mark,
		.scan = ask->scan,
	};
	return true;
}

void record_serve_grant(struct record_serve *serve, const struct collector_granted *granted)
{
	struct control_word word = {
		.number = serve->ask.number,
		.done = granted->done,
		.tape_bytes = granted->tape_bytes,
		.ticks = granted->ticks,
		.has_changed = granted->has_changed,
		.scan = granted->scan,
		.is_scanning = granted->is_scanning,
		.pause_ns = granted->pause_ns,
	};

	assert(serve->fd >= 0);
	if (granted->trouble)
		str_format(word.trouble, sizeof(word.trouble), "%s", granted->trouble);
	(void)!send(serve->fd, &word, sizeof(word), MSG_DONTWAIT | MSG_NOSIGNAL);
	if (serve->ask.kind == CONTROL_STOP && granted->done)
		record_serve_ended(serve);
}

void record_serve_wait(struct record_serve *serve)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
	CLEAN(close) int null_fd = -1;
	sigset_t set, before;

	if (!serve->pid)
		return;
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	sigemptyset(&set);
	for (size_t i = 0; i < array_size(numbers); i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
	fprintf(stderr, "memtape: the server goes on until Ctrl-C\n");
	fflush(stdout);
	if (null_fd >= 0) /* readers of the program's output must not wait for us */
		dup2(null_fd, STDOUT_FILENO);
	while (waitpid(serve->pid, NULL, WNOHANG) == 0) {
		const int number = sigwaitinfo(&set, NULL);

		if (number > 0 && number != SIGCHLD)
			break;
	}
	record_serve_stop(serve);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void record_serve_stop(struct record_serve *serve)
{
	if (serve->pid > 0) {
		kill(serve->pid, SIGTERM);
		while (waitpid(serve->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	serve->pid = 0;
}
