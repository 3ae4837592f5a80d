#include "cli/record_serve.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/str.h"
#include "cli/beside.h"
#include "cli/command.h"

/* Tells the server that there is no recording to control any more. */
void record_serve_ended(struct record_serve *serve)
{
	if (serve->fd >= 0)
		close(serve->fd);
	serve->fd = -1;
}

struct err *record_serve_start(struct record_serve *serve, const char *path)
{
	enum { ARGS_MAX = 11, CONTROL_AT = 4 };
	char port[24], line[BESIDE_LINE_BYTES];
	const char *args[ARGS_MAX] = { "memtape",
				       "serve",
				       "--wait",
				       "--control",
				       NULL,
				       "--port",
				       str_format(port, sizeof(port), "%llu",
						  (unsigned long long)serve->port) };
	size_t count = CONTROL_AT + 3;
	struct beside beside;
	struct err *err;

	assert(path);
	if (serve->opens)
		args[count++] = "--open";
	args[count++] = "--";
	args[count++] = path;
	err = err_wrap(beside_start(&beside, args, CONTROL_AT, true), "--serve");
	if (err)
		return err;
	serve->pid = beside.pid;
	serve->fd = beside.control;
	beside_line(&beside, line);
	close(beside.out);
	if (strncmp(line, "http://", 7) == 0) {
		fprintf(stderr, "memtape: watch it at %s\n", line);
		return NULL;
	}
	record_serve_ended(serve);
	record_serve_stop(serve);
	return err_new(ERR_STATE, "--serve: %s",
		       beside_trouble(line) ? beside_trouble(line) : "the server did not start");
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

void record_serve_wait(struct record_serve *serve, bool is_asked_to_end)
{
	CLEAN(close) int null_fd = -1;
	sigset_t set, before;

	if (!serve->pid)
		return;
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	command_end_signals(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &before);
	if (!is_asked_to_end)
		fprintf(stderr, "memtape: the server goes on until Ctrl-C\n");
	fflush(stdout);
	if (null_fd >= 0) /* readers of the program's output must not wait for us */
		dup2(null_fd, STDOUT_FILENO);
	while (!is_asked_to_end && waitpid(serve->pid, NULL, WNOHANG) == 0) {
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
