/*
 * gather: receives tapes that are sent while they are recorded, or later.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "cli/command.h"
#include "cli/keeping.h"
#include "cli/stream_options.h"
#include "gather/gatherer.h"

struct gather_command {
	const char *listen;
	const char *discover; /* NULL: no; "": everywhere */
	const char *folder;
	struct stream_options stream;
	const char *tls_cert, *tls_key;
	uint64_t size_max;
	uint64_t stream_count_max;
	struct option_list keep;
	struct keeping *keeping; /* NULL: all is kept */
	bool quiet;
};

static const struct option_row rows[] = {
	{ "listen", 'l', "ADDR:PORT", OPTION_TEXT, offsetof(struct gather_command, listen),
	  "listen there; port 0: any free one (default: 127.0.0.1:" ADDRESS_PORT_DEFAULT ")" },
	{ "discover", 0, "ADDR:PORT", OPTION_OPTIONAL, offsetof(struct gather_command, discover),
	  "look for programs that announce themselves (MEMTAPE_BROADCAST), by datagrams to ADDR "
	  "(default: 0.0.0.0:" ADDRESS_PORT_ANNOUNCE ")" },
	{ "directory", 'd', "DIR", OPTION_TEXT, offsetof(struct gather_command, folder),
	  "put the tapes in DIR, which is made if it is not there (default: the working "
	  "directory)" },
	{ "token-file", 0, "FILE", OPTION_TEXT, offsetof(struct gather_command, stream.token_file),
	  "receive tapes only of those who know the token in FILE, of at least 16 bytes" },
	{ "no-token", 0, NULL, OPTION_FLAG, offsetof(struct gather_command, stream.no_token),
	  "without a token, receive tapes of whoever reaches ADDR, also from other machines" },
	{ "tls-cert", 0, "FILE", OPTION_TEXT, offsetof(struct gather_command, tls_cert),
	  "speak TLS, with the certificate in FILE; those between it and the root come after it" },
	{ "tls-key", 0, "FILE", OPTION_TEXT, offsetof(struct gather_command, tls_key),
	  "the key of that certificate" },
	{ "max-size", 0, "SIZE", OPTION_BYTES, offsetof(struct gather_command, size_max),
	  "refuse what a tape has beyond SIZE" },
	KEEPING_OPTION(struct gather_command, keep),
	{ "streams", 0, "N", OPTION_U64, offsetof(struct gather_command, stream_count_max),
	  "receive at most N tapes at once (default: 256)" },
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct gather_command, quiet),
	  "print errors only" },
};

/* One line an event; names are made of harmless characters, reasons are not. */
static void tell(void *context, const struct gather_event *event)
{
	static const char *const words[] = {
		[GATHER_BEGUN] = "begun",	[GATHER_RESUMED] = "resumed",
		[GATHER_COMPLETE] = "complete", [GATHER_CUT] = "cut",
		[GATHER_REFUSED] = "refused",
	};
	const struct gather_command *options = context;
	CLEAN(str_deinit) struct str line = { 0 };

	if (event->kind == GATHER_COMPLETE)
		keeping_look(options->keeping);
	if (options->quiet)
		return;
	str_printf(&line, "%s: %s",
		   event->name	 ? event->name
		   : event->from ? event->from
				 : "a connection",
		   words[event->kind]);
	if (event->name && event->kind != GATHER_BEGUN) {
		str_add(&line, " at ");
		str_add_iec(&line, event->bytes);
	}
	if (event->reason) {
		str_add(&line, ": ");
		str_add_terminal(&line, event->reason);
	}
	printf("%s\n", str_text(&line));
	fflush(stdout);
}

static void summary_print(const struct gather_counts *counts, bool has_datagrams)
{
	CLEAN(str_deinit) struct str line = { 0 };

	str_add_counted(&line, counts->complete_count, "tape");
	str_add(&line, " complete, ");
	str_add_counted(&line, counts->cut_count, "connection");
	str_add(&line, " cut, ");
	str_add_counted(&line, counts->refused_count, "connection");
	str_add(&line, " refused; ");
	str_add_iec(&line, counts->byte_count);
	str_add(&line, " received");
	if (has_datagrams) {
		str_add(&line, "; ");
		str_add_counted(&line, counts->ignored_count, "datagram");
		str_add(&line, " ignored");
	}
	printf("%s\n", str_text(&line));
}

/* A stream needs two. */
static void descriptors_allow(uint64_t stream_count)
{
	const uint64_t wanted = 2 * stream_count + 2 * GATHER_STRANGERS_MAX + 64;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static struct err *reach_check(const struct gather_command *options, const char *option,
			       const char *value, const struct address *address)
{
	bool is_loopback = false;
	struct err *err;

	if (options->stream.token_file || options->stream.no_token)
		return NULL;
	err = address_is_loopback(address, false, &is_loopback);
	if (err || is_loopback)
		return err;
	return err_new(ERR_USAGE,
		       "%s%s%s: others can reach that; say --token-file, or --no-token if "
		       "whoever can may fill the disk",
		       option, value[0] ? " " : "", value);
}

static struct err *options_check(const struct gather_command *options,
				 const struct address *address, const struct address *announced)
{
	struct err *err;

	if (options->stream_count_max < 1 || options->stream_count_max > GATHER_STREAMS_MAX)
		return err_new(ERR_USAGE, "--streams must be from 1 to %d", GATHER_STREAMS_MAX);
	if (!options->tls_cert != !options->tls_key)
		return err_new(ERR_USAGE, "--tls-cert and --tls-key go together");
	if (options->discover && options->tls_cert)
		return err_new(ERR_USAGE, "--discover: programs that announce themselves do not "
					  "speak TLS, so it does not go with --tls-cert");
	err = reach_check(options, "--listen", options->listen, address);
	return err || !options->discover
		       ? err
		       : reach_check(options, "--discover", options->discover, announced);
}

/* -1: none are wanted. */
static struct err *datagrams_open(const struct gather_command *options,
				  const struct address *address, int *fd_ret)
{
	unsigned port;
	struct err *err;

	if (!options->discover)
		return NULL;
	err = address_listen_datagrams(address, fd_ret, &port);
	if (err)
		return err_wrap(err, "--discover");
	printf(strchr(address->host, ':') ? "discovering on [%s]:%u\n" : "discovering on %s:%u\n",
	       address->host, port);
	return NULL;
}

/* A disk that hangs: threads are still using everything, so nothing can be freed. */
static _Noreturn void leave(const struct err *err)
{
	fprintf(stderr, "memtape: %s\n", err_message(err));
	fflush(stdout);
	_exit(EXIT_FINDINGS);
}

static struct err *gather(struct gather_command *options, const sigset_t *signals)
{
	struct token_secret secret;
	struct gather_settings settings = {
		.secret = &secret,
		.stream_count_max = options->stream_count_max,
		.tell = tell,
		.context = options,
	};
	struct gather_counts counts = { 0 };
	CLEAN(tls_context_destroy) struct tls_context *tls = NULL;
	CLEAN(shelf_close) struct shelf shelf = { .dir = -1 };
	CLEAN(close) int listener = -1;
	CLEAN(close) int datagrams = -1;
	struct address address, announced;
	unsigned port;
	struct err *err = address_parse(options->listen, ADDRESS_PORT_DEFAULT, &address);

	if (!err)
		err = address_parse(options->discover && options->discover[0] ? options->discover
									      : "0.0.0.0",
				    ADDRESS_PORT_ANNOUNCE, &announced);
	if (!err)
		err = options_check(options, &address, &announced);
	if (!err)
		err = stream_token(&options->stream, &secret);
	if (!err && options->tls_cert)
		err = err_wrap(tls_gatherer_create(options->tls_cert, options->tls_key, &tls),
			       "--tls-cert");
	if (!err)
		err = shelf_open(&shelf, options->folder, options->size_max);
	if (!err)
		err = address_listen(&address, &listener, &port);
	if (!err)
		err = keeping_begin(&options->keep, options->folder, options->quiet,
				    &options->keeping);
	if (err)
		return err;
	settings.shelf = &shelf;
	settings.tls = tls;
	settings.listener = listener;
	descriptors_allow(options->stream_count_max);
	printf(strchr(address.host, ':') ? "listening on [%s]:%u\n" : "listening on %s:%u\n",
	       address.host, port);
	err = datagrams_open(options, &announced, &datagrams);
	if (err)
		return err;
	settings.datagrams = datagrams;
	fflush(stdout);
	err = gather_until_signal(&settings, signals, &counts);
	if (err)
		leave(err);
	keeping_end(options->keeping);
	if (!options->quiet)
		summary_print(&counts, settings.datagrams >= 0);
	return NULL;
}

static struct err *gather_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct gather_command options = {
		.listen = "127.0.0.1",
		.folder = ".",
		.stream_count_max = GATHER_STREAMS_DEFAULT,
	};
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);
	sigset_t signals;

	(void)exit_code;
	if (!err && operand_count > 0)
		err = err_new(ERR_USAGE, "gather has no operands, but there is %s", argv[1]);
	if (err)
		return err;
	command_end_signals(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before threads are created */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit becomes an error */
	return gather(&options, &signals);
}

const struct command cmd_gather = {
	.name = "gather",
	.summary = "receive tapes of programs on this machine and on others",
	.options = {
		.usage = "memtape gather [options]",
		.about = "Receives tapes that `memtape record --to` sends while they are recorded, or `memtape send` later, of many programs at once. Each becomes a file HOST.PROGRAM.PID.TIME.mtape in DIR, which can be read while it grows. Ctrl-C ends it; senders wait for it to come back, and go on.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = gather_run,
};
