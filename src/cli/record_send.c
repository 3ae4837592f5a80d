#include "cli/record_send.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/monotonic.h"
#include "cli/beside.h"
#include "cli/command.h"

enum { LOOK_MS = 50, LAST_WORD_MS = 2000 };

struct err *record_send_check(const struct record_send *send)
{
	CLEAN(tls_context_destroy) struct tls_context *tls = NULL;
	struct token_secret secret;
	struct address address;
	struct err *err;

	if (!send->to)
		return send->stream.token_file || send->stream.no_token || send->removes ||
				       send->stream.tls_ca || send->stream.tls
			       ? err_new(ERR_USAGE, "--token-file, --no-token, --tls, --tls-ca "
						    "and --no-local need --to")
			       : NULL;
	err = address_parse(send->to, ADDRESS_PORT_DEFAULT, &address);
	if (!err)
		err = stream_check(&send->stream, "--to", &address);
	if (!err)
		err = stream_token(&send->stream, &secret);
	return err ? err : stream_tls(&send->stream, &tls);
}

/* path: of a tape that is recorded, or of a session that is finished. */
static struct err *sender_start(struct record_send *send, const char *path, bool follows)
{
	enum { ARGS_MAX = 20, CONTROL_AT = 3 };
	char wait[32];
	const char *args[ARGS_MAX] = { "memtape", "send", "--control", NULL, "--wait", wait };
	size_t count = CONTROL_AT + 3;
	struct beside beside;
	struct err *err;

	str_format(wait, sizeof(wait), "%lluns", (unsigned long long)send->wait_ns);
	if (follows)
		args[count++] = "--follow";
	if (follows && send->program) {
		args[count++] = "--program";
		args[count++] = send->program;
	}
	if (send->stream.token_file) {
		args[count++] = "--token-file";
		args[count++] = send->stream.token_file;
	}
	if (send->stream.no_token)
		args[count++] = "--no-token";
	if (send->stream.tls_ca) {
		args[count++] = "--tls-ca";
		args[count++] = send->stream.tls_ca;
	}
	if (send->stream.tls)
		args[count++] = "--tls";
	args[count++] = "--";
	args[count++] = path;
	args[count++] = send->to;
	assert(count < ARGS_MAX);
	err = err_wrap(beside_start(&beside, args, CONTROL_AT, false), "--to");
	if (err)
		return err;
	send->pid = beside.pid;
	send->out = beside.out;
	send->control = beside.control;
	return NULL;
}

struct err *record_send_start(struct record_send *send, const char *path)
{
	assert(path && send->to && !send->pid);
	send->path = strdup(path);
	return send->path ? sender_start(send, path, true) : err_nomem();
}

void record_send_ended(struct record_send *send)
{
	if (send->pid && send->control >= 0)
		close(send->control);
	send->control = -1;
}

/* False: the time is over, or a signal of the set has come, before it has said all. */
static bool listen_until(const struct record_send *send, struct str *said, uint64_t until_ns,
			 const sigset_t *signals)
{
	struct pollfd poll_fd = { .fd = send->out, .events = POLLIN };
	const struct timespec no_wait = { 0 };
	char text[512];

	while (monotonic_ns() < until_ns && sigtimedwait(signals, NULL, &no_wait) < 0) {
		ssize_t got;

		if (poll(&poll_fd, 1, LOOK_MS) <= 0)
			continue;
		got = read(send->out, text, sizeof(text));
		if (got == 0 || (got < 0 && errno != EINTR))
			return true;
		str_add_bytes(said, text, got > 0 ? (size_t)got : 0);
	}
	return false;
}

/* Whether all of the tape is there. */
static bool ended_well(struct record_send *send)
{
	int status = -1;

	while (waitpid(send->pid, &status, 0) < 0 && errno == EINTR)
		;
	record_send_ended(send);
	close(send->out);
	send->pid = 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void said_print(const struct str *said)
{
	const char *line = str_text(said);

	while (*line) {
		const size_t len = strcspn(line, "\n");
		const bool is_error = strncmp(line, "memtape: ", 9) == 0;

		fprintf(stderr, "%s%.*s\n", is_error ? "" : "memtape: ", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

/* True: all is there. */
static bool sender_wait(struct record_send *send, const sigset_t *signals)
{
	const uint64_t end_ns = monotonic_ns() + send->wait_ns + UINT64_C(1000000) * LAST_WORD_MS;
	CLEAN(str_deinit) struct str said = { 0 };

	if (!listen_until(send, &said, end_ns, signals)) {
		kill(send->pid, SIGTERM);
		if (!listen_until(send, &said, monotonic_ns() + UINT64_C(1000000) * LAST_WORD_MS,
				  signals))
			kill(send->pid, SIGKILL);
	}
	said_print(&said);
	if (!said.len)
		fprintf(stderr, "memtape: --to: it is not known what was sent; `memtape send` "
				"sends the rest\n");
	return ended_well(send);
}

void record_send_wait(struct record_send *send, const char *session)
{
	CLEAN(err_destroy) struct err *err = NULL;
	sigset_t signals, before;
	bool is_there;

	if (!send->pid)
		return;
	command_end_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &before);
	is_there = sender_wait(send, &signals);
	if (is_there && session) {
		err = sender_start(send, session, false);
		if (!err)
			sender_wait(send, &signals);
		else
			fprintf(stderr, "memtape: %s\n", err_message(err));
	}
	if (is_there && send->removes && unlink(send->path) == 0)
		fprintf(stderr, "memtape: %s is removed\n", send->path);
	free(steal(send->path));
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void record_send_stop(struct record_send *send)
{
	if (!send->pid)
		return;
	kill(send->pid, SIGKILL);
	ended_well(send);
	free(steal(send->path));
}
