/*
 * send: sends tapes to a gatherer.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

#include "cli/command.h"
#include "cli/stream_options.h"
#include "gather/sender.h"
#include "session/session.h"

struct send_command {
	struct stream_options stream;
	const char *program; /* NULL: as the tape's file is called */
	bool follows;
	uint64_t wait_ns;
	bool quiet;
	const char *control; /* NULL: no recording has started this */
	int control_fd;
	sigset_t signals;
};

static const struct option_row rows[] = {
	{ "token-file", 0, "FILE", OPTION_TEXT, offsetof(struct send_command, stream.token_file),
	  "the token that the gatherer knows, too, in FILE" },
	{ "no-token", 0, NULL, OPTION_FLAG, offsetof(struct send_command, stream.no_token),
	  STREAM_NO_TOKEN_HELP_SEND },
	{ "tls-ca", 0, "FILE", OPTION_TEXT, offsetof(struct send_command, stream.tls_ca),
	  STREAM_TLS_CA_HELP_SEND },
	{ "tls", 0, NULL, OPTION_FLAG, offsetof(struct send_command, stream.tls),
	  STREAM_TLS_HELP_SEND },
	{ "follow", 0, NULL, OPTION_FLAG, offsetof(struct send_command, follows),
	  "send a tape while it is recorded, until it is finished; it need not exist yet" },
	{ "program", 0, "NAME", OPTION_TEXT, offsetof(struct send_command, program),
	  "name of the program, for the name of the tape at the gatherer (default: the name of "
	  "the tape's file)" },
	{ "wait", 0, "TIME", OPTION_DURATION, offsetof(struct send_command, wait_ns),
	  "give up if the gatherer has not taken anything for TIME (default: 1m); with --follow, "
	  "that long after the end of the recording" },
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct send_command, quiet),
	  "print errors only" },
	{ "control", 0, "FD", OPTION_TEXT, offsetof(struct send_command, control),
	  "internal: socket of `memtape record --to`" },
};

/* The signals are blocked: one that came stays until it is looked for. */
static bool is_stopped(void *context)
{
	const struct send_command *options = context;
	sigset_t pending;

	sigpending(&pending);
	for (int number = 1; number < NSIG; number++)
		if (sigismember(&options->signals, number) == 1 &&
		    sigismember(&pending, number) == 1)
			return true;
	return false;
}

/* The other end of the socket is closed when the recording is over, however it ended. */
static bool goes_on(void *context)
{
	const struct send_command *options = context;
	char byte;

	return recv(options->control_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* "a/memtape.server.123.mtape" is called memtape.server.123 */
static void program_of(const char *path, char name[WIRE_NAME_BYTES_MAX + 1])
{
	static const char suffix[] = ".mtape";
	const char *slash = strrchr(path, '/');
	size_t len;

	str_format(name, WIRE_NAME_BYTES_MAX + 1, "%s", slash ? slash + 1 : path);
	len = strlen(name);
	if (len > strlen(suffix) && strcmp(name + len - strlen(suffix), suffix) == 0)
		name[len - strlen(suffix)] = '\0';
}

static void option_add(struct str *text, const char *option, const char *value)
{
	if (!value)
		return;
	str_add(text, option);
	str_add_shell(text, value);
	str_add_char(text, ' ');
}

/* What to do next, in words that can be typed. */
static struct err *explain(const struct send_command *options, const char *path, const char *where,
			   const struct sender_result *result, struct err *err)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (result->tape_bytes == 0)
		return err_wrap(err, "%s", where);
	str_printf(&text, "%s: ", where);
	str_add_iec(&text, result->there_bytes);
	str_add(&text, " of ");
	str_add_iec(&text, result->tape_bytes);
	str_add(&text, " are there; the rest is sent by `memtape send ");
	option_add(&text, "--token-file ", options->stream.token_file);
	option_add(&text, "--tls-ca ", options->stream.tls_ca);
	if (options->stream.tls)
		str_add(&text, "--tls ");
	str_add_shell(&text, path);
	str_printf(&text, " %s`", where);
	return err_wrap(err, "%s", str_text(&text));
}

static struct err *send_tape(const struct send_command *options, const char *path,
			     const char *program, const char *where,
			     struct sender_settings *settings, struct sender_result *result_ret)
{
	struct err *err;

	settings->path = path;
	settings->program = options->program ? options->program : program;
	err = sender_run(settings, result_ret);
	return err ? explain(options, path, where, result_ret, err) : NULL;
}

/* As `memtape record --to` calls it: without the number, which the gatherer adds. */
static void program_of_member(const struct session_member *member,
			      char name[WIRE_NAME_BYTES_MAX + 1])
{
	char number[16];
	char *end;

	program_of(member->file, name);
	str_format(number, sizeof(number), ".%u", member->pid);
	end = strstr(name, number);
	if (end && end > name)
		*end = '\0';
}

/* All its tapes; those that are there already are only compared. */
static struct err *send_session(const struct send_command *options, const char *path,
				const char *where, struct sender_settings *settings)
{
	CLEAN(session_close) struct session session = { .count = 0 };
	CLEAN(str_deinit) struct str line = { 0 };
	char program[WIRE_NAME_BYTES_MAX + 1];
	struct sender_result result;
	uint64_t bytes = 0;
	struct err *err =
		options->follows ? err_new(ERR_USAGE, "--follow: %s is a session, not a tape", path)
				 : session_open(path, &session);

	for (size_t i = 0; !err && i < session.count; i++) {
		program_of_member(&session.members[i], program);
		err = send_tape(options, session.members[i].path, program, where, settings,
				&result);
		bytes += err ? 0 : result.tape_bytes;
	}
	if (err || options->quiet)
		return err;
	str_add_terminal(&line, path);
	str_printf(&line, ": its %zu tapes are on %s, ", session.count, where);
	str_add_iec(&line, bytes);
	printf("%s\n", str_text(&line));
	fflush(stdout);
	return NULL;
}

static struct err *send_one(const struct send_command *options, const char *path, const char *where,
			    struct sender_settings *settings)
{
	CLEAN(str_deinit) struct str line = { 0 };
	char program[WIRE_NAME_BYTES_MAX + 1];
	struct sender_result result;
	struct err *err;

	if (session_is(path))
		return send_session(options, path, where, settings);
	program_of(path, program);
	err = send_tape(options, path, program, where, settings, &result);
	if (err || options->quiet)
		return err;
	str_add_terminal(&line, path);
	str_printf(&line, " is on %s as ", where);
	str_add_terminal(&line, result.name);
	str_add(&line, ", ");
	str_add_iec(&line, result.tape_bytes);
	if (result.connect_count > result.tape_count)
		str_printf(&line, "; the connection was made %u times", result.connect_count);
	printf("%s\n", str_text(&line));
	fflush(stdout);
	return NULL;
}

static struct err *send_all(struct send_command *options, char **paths, size_t count,
			    const char *where)
{
	CLEAN(tls_context_destroy) struct tls_context *tls = NULL;
	struct token_secret secret;
	struct sender_settings settings = {
		.secret = &secret,
		.allows_strangers = options->stream.no_token,
		.follows = options->follows,
		.wait_ns = options->wait_ns,
		.is_stopped = is_stopped,
		.goes_on = options->control ? goes_on : NULL,
		.context = options,
	};
	struct err *err = address_parse(where, ADDRESS_PORT_DEFAULT, &settings.address);

	if (!err)
		err = stream_check(&options->stream, "HOST:PORT", &settings.address);
	if (!err)
		err = stream_token(&options->stream, &secret);
	if (!err)
		err = stream_tls(&options->stream, &tls);
	settings.tls = tls;
	for (size_t i = 0; !err && i < count; i++)
		err = send_one(options, paths[i], where, &settings);
	return err;
}

static struct err *control_take(struct send_command *options)
{
	uint64_t fd;

	if (!options->control)
		return NULL;
	if (!str_parse_u64(options->control, &fd) || fd > INT_MAX)
		return err_new(ERR_USAGE, "--control: %s is no socket of a recording",
			       options->control);
	options->control_fd = (int)fd;
	return NULL;
}

static struct err *send_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct send_command options = { .wait_ns = UINT64_C(60) * 1000000000 };
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (!err && operand_count < 2)
		err = err_new(ERR_USAGE, "which tape, and to which HOST:PORT?");
	if (!err && options.follows && operand_count > 2)
		err = err_new(ERR_USAGE, "--follow is for one tape");
	if (!err)
		err = control_take(&options);
	if (err)
		return err;
	command_end_signals(&options.signals);
	pthread_sigmask(SIG_BLOCK, &options.signals, NULL);
	return send_all(&options, argv + 1, (size_t)operand_count - 1, argv[operand_count]);
}

const struct command cmd_send = {
	.name = "send",
	.summary = "send tapes to a machine that gathers them",
	.options = {
		.usage = "memtape send [options] TAPE|SESSION... HOST:PORT",
		.about = "Sends tapes to `memtape gather` at HOST:PORT, where each is the same byte for byte in the end. What is there already is not sent again, so a tape of which a part was sent by `memtape record --to` is completed. The tapes stay where they are.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = send_run,
};
