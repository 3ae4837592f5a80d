/*
 * serve: tapes for browsers and programs, over HTTP.
 */
#include <signal.h>

#include "cli/command.h"
#include "cli/reading.h"
#include "http/daemon.h"

struct serve_options {
	uint64_t port;
	bool json;
	bool no_token;
	struct reading_symbol_options symbols;
};

static const struct option_row rows[] = {
	{ "port", 'p', "N", OPTION_U64, offsetof(struct serve_options, port),
	  "answer on port N instead of one that is free" },
	{ "no-token", 0, NULL, OPTION_FLAG, offsetof(struct serve_options, no_token),
	  "let every user and program of this machine ask, without the token" },
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct serve_options, json),
	  "print the URL, the port and the token as JSON" },
	READING_SYMBOL_OPTIONS(struct serve_options, symbols),
};

static const uint64_t TIME_LIMIT_NS = UINT64_C(5) * 1000000000;

static void print_place(const struct serve_options *options, const struct listener *listener,
			const struct token *token)
{
	CLEAN(str_deinit) struct str url = { 0 };

	str_printf(&url, "http://127.0.0.1:%u/", listener->port);
	if (token->text[0])
		str_printf(&url, "#k=%s", token->text);
	if (options->json)
		printf("{\"url\":\"%s\",\"port\":%u,\"token\":\"%s\"}\n", str_text(&url),
		       listener->port, token->text);
	else
		printf("%s\n", str_text(&url));
	fflush(stdout);
}

static struct err *allow_loopback(struct guard *guard, unsigned port)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
	struct err *err = NULL;

	for (size_t i = 0; !err && i < array_size(names); i++)
		err = guard_allow(guard, names[i], port);
	return err;
}

/* Until somebody wants it to end. */
static struct err *serve_until_signal(const struct serve_options *options, struct server *server,
				      const struct listener *listener)
{
	CLEAN(daemon_stop) struct daemon *daemon = NULL;
	sigset_t signals;
	struct err *err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before there are threads */
	signal(SIGPIPE, SIG_IGN);
	err = daemon_start(server, listener, &daemon);
	if (err)
		return err;
	print_place(options, listener, &server->guard.token);
	sigwaitinfo(&signals, NULL);
	return NULL;
}

static struct err *serve(const struct serve_options *options, struct tapes *tapes)
{
	CLEAN(listener_close) struct listener listener = { 0 };
	struct server server = {
		.tapes = tapes,
		.settings = { .version = MEMTAPE_VERSION, .time_limit_ns = TIME_LIMIT_NS },
	};
	struct err *err = listen_loopback((unsigned)options->port, &listener);

	if (!err)
		err = allow_loopback(&server.guard, listener.port);
	if (!err && !options->no_token)
		err = token_make(&server.guard.token);
	return err ? err : serve_until_signal(options, &server, &listener);
}

static void symbols_end(struct reading_symbols *symbols, size_t count)
{
	for (size_t i = 0; i < count; i++)
		reading_symbols_deinit(&symbols[i]);
	free(symbols);
}

static struct err *serve_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct serve_options options = { 0 };
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);
	const size_t count = (size_t)operand_count;
	struct reading_symbols *symbols;
	struct tape_source *sources;
	struct tapes *tapes = NULL;

	(void)exit_code;
	if (err)
		return err;
	if (operand_count < 1)
		return err_new(ERR_USAGE, "a tape is wanted");
	if (options.port > UINT16_MAX)
		return err_new(ERR_USAGE, "--port: from 1 to 65535");
	symbols = calloc(count, sizeof(*symbols));
	sources = calloc(count, sizeof(*sources));
	for (size_t i = 0; symbols && sources && !err && i < count; i++) {
		err = reading_symbols_init(&symbols[i], &options.symbols, argv[i + 1]);
		sources[i] = (struct tape_source) { argv[i + 1], &symbols[i].options };
	}
	if (!symbols || !sources)
		err = err_nomem();
	if (!err)
		err = tapes_create(sources, count, &tapes);
	if (!err)
		err = serve(&options, tapes);
	if (tapes_destroy(tapes)) { /* else a load that cannot be stopped still uses them */
		symbols_end(symbols, symbols ? count : 0);
		free(sources);
	}
	return err;
}

const struct command cmd_serve = {
	.name = "serve",
	.summary = "show tapes in a browser, and answer programs over HTTP",
	.options = {
		.usage = "memtape serve TAPE... [options]",
		.about = "Answers questions about tapes over HTTP, on this machine alone, and "
			 "prints the URL to open. Ends by Ctrl-C.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = serve_run,
};
