/*
 * serve: serves tapes to browsers and programs over HTTP.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/browser.h"
#include "cli/command.h"
#include "cli/foreign.h"
#include "cli/reading.h"
#include "cli/serve_attach.h"
#include "cli/serve_folder.h"
#include "cli/serve_list.h"
#include "cli/serve_my_code.h"
#include "cli/suppressing.h"
#include "http/daemon.h"
#include "http/openapi.h"

struct serve_options {
	uint64_t port;
	const char *listen; /* NULL: the loopback interface */
	bool knows;	    /* user confirmed that others can connect */
	bool opens;
	bool waits;
	const char *control; /* NULL: no recording in progress */
	bool attaches;	     /* user confirmed that others may attach to processes */
	bool no_token;
	bool json;
	const char *allow_hosts; /* NULL: none */
	uint64_t timeout_ns;	 /* NOT_GIVEN: none was */
	uint64_t sql_timeout_ns;
	uint64_t memory_bytes;
	uint64_t cache_bytes;
	uint64_t answer_bytes;
	const char *source_roots;
	bool openapi;
	struct option_list keep;
	bool no_index;
	struct suppressing_options suppressing;
	struct reading_symbol_options symbols;
};

static const struct option_row rows[] = {
	{ "port", 'p', "N", OPTION_U64, offsetof(struct serve_options, port),
	  "listen on port N instead of a free one" },
	{ "listen", 0, "ADDR", OPTION_TEXT, offsetof(struct serve_options, listen),
	  "listen on ADDR, or with unix:PATH on a socket that only you can open" },
	{ "i-know", 0, NULL, OPTION_FLAG, offsetof(struct serve_options, knows),
	  "confirm that others can reach ADDR, and that HTTP is not encrypted" },
	{ "allow-host", 0, "NAMES", OPTION_TEXT, offsetof(struct serve_options, allow_hosts),
	  "also accept these host names, separated by commas; with or without a port" },
	{ "no-token", 0, NULL, OPTION_FLAG, offsetof(struct serve_options, no_token),
	  "accept requests of all users and programs of this machine, without a token" },
	{ "open", 0, NULL, OPTION_FLAG, offsetof(struct serve_options, opens),
	  "open the URL in a browser" },
	{ "wait", 0, NULL, OPTION_FLAG, offsetof(struct serve_options, waits),
	  "wait for tapes that do not exist yet" },
	{ "attach", 0, NULL, OPTION_FLAG, offsetof(struct serve_options, attaches),
	  "let those attach to processes, too, who come without a token or from elsewhere" },
	{ "control", 0, "FD", OPTION_TEXT, offsetof(struct serve_options, control),
	  "internal: socket of `memtape record --serve`" },
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct serve_options, json),
	  "print the URL, the port and the token as JSON" },
	{ "timeout", 0, "TIME", OPTION_DURATION, offsetof(struct serve_options, timeout_ns),
	  "time limit per request (default: 5s)" },
	{ "sql-timeout", 0, "TIME", OPTION_DURATION, offsetof(struct serve_options, sql_timeout_ns),
	  "time limit of an SQL statement (default: --timeout if given, else 5 minutes)" },
	{ "memory", 0, "SIZE", OPTION_BYTES, offsetof(struct serve_options, memory_bytes),
	  "memory limit of an SQL statement (default: 256MiB)" },
	{ "answer-memory", 0, "SIZE", OPTION_BYTES, offsetof(struct serve_options, answer_bytes),
	  "memory limit of any other request (default: 1GiB)" },
	{ "cache", 0, "SIZE", OPTION_BYTES, offsetof(struct serve_options, cache_bytes),
	  "size of the cache of answers (default: 64MiB)" },
	{ "source-root", 0, "DIR[:DIR]", OPTION_TEXT, offsetof(struct serve_options, source_roots),
	  "show only source files below DIR" },
	KEEPING_OPTION(struct serve_options, keep),
	{ "openapi", 0, NULL, OPTION_FLAG, offsetof(struct serve_options, openapi),
	  "print the OpenAPI document of the HTTP API and exit" },
	READING_INDEX_OPTION(struct serve_options, no_index),
	SUPPRESSING_OPTIONS(struct serve_options, suppressing),
	READING_SYMBOL_OPTIONS(struct serve_options, symbols),
};

static const uint64_t NOT_GIVEN = UINT64_MAX;
static const uint64_t usual_timeout_ns = UINT64_C(5) * 1000000000;
static const uint64_t usual_sql_timeout_ns = UINT64_C(300) * 1000000000;

enum {
	FILE_TIME_FACTOR = 60, /* time limit of a file, as a multiple of an answer's */
	WAIT_LOOK_MS = 20      /* polling interval for missing tapes */
};

/* --- where --------------------------------------------------------------------------------- */

static const char unix_scheme[] = "unix:";

static bool is_unix(const struct serve_options *options)
{
	return options->listen && strncmp(options->listen, unix_scheme, strlen(unix_scheme)) == 0;
}

static bool is_open(const struct serve_options *options)
{
	return options->listen && !is_unix(options) && !listen_is_loopback(options->listen);
}

/* Only the user can be there: a token, and nobody passes requests on. */
static bool is_private(const struct serve_options *options)
{
	return !is_open(options) && !options->no_token && !options->allow_hosts;
}

static bool may_attach(const struct serve_options *options)
{
	return !options->control && (options->attaches || is_private(options));
}

static const char my_code_refusal[] =
	"this server writes no files, for others could ask it to (--listen, --allow-host, "
	"--no-token): write the patterns into the file, or use --my, --library and --wrapper";

static struct err *options_check(const struct serve_options *options)
{
	if (options->port > UINT16_MAX)
		return err_new(ERR_USAGE, "--port must be from 1 to 65535");
	if (is_open(options) && !options->knows)
		return err_new(ERR_USAGE,
			       "--listen %s: others can reach that, and HTTP is not encrypted; say "
			       "--i-know if that is meant, or use `ssh -L` or --listen unix:PATH",
			       options->listen);
	if (is_open(options) && options->no_token)
		return err_new(ERR_USAGE, "--no-token needs a loopback address or a UNIX socket");
	if (is_unix(options) && options->port)
		return err_new(ERR_USAGE, "--port does not go with a UNIX socket");
	if (is_unix(options) && options->opens)
		return err_new(ERR_USAGE, "--open: a browser cannot open a UNIX socket");
	return NULL;
}

static struct err *listen_somewhere(const struct serve_options *options, struct listener *listener)
{
	if (is_unix(options))
		return listen_unix(options->listen + strlen(unix_scheme), listener);
	if (options->listen)
		return listen_address(options->listen, (unsigned)options->port, listener);
	return listen_loopback((unsigned)options->port, listener);
}

/* Accepted host names; clients of a Unix socket send localhost. */
static struct err *allow_hosts(const struct serve_options *options, const struct listener *listener,
			       struct guard *guard)
{
	static const char *const loopback[] = { "127.0.0.1", "localhost", "[::1]" };
	CLEAN(free) char *names = strdup(options->allow_hosts ? options->allow_hosts : "");
	struct err *err = names ? NULL : err_nomem();

	for (size_t i = 0; !err && i < array_size(loopback); i++)
		err = guard_allow(guard, loopback[i], listener->port);
	if (!err && options->listen && !is_unix(options))
		err = guard_allow(guard, options->listen, listener->port);
	for (char *name = names; !err && name && *name;) {
		char *end = name + strcspn(name, ",");
		char *next = *end ? end + 1 : end;

		*end = '\0';
		err = err_wrap(guard_allow(guard, name, listener->port), "--allow-host");
		name = next;
	}
	return err;
}

/* --- telling ------------------------------------------------------------------------------- */

static void url_add(struct str *out, const struct serve_options *options,
		    const struct listener *listener, const struct token *token)
{
	const bool is_v6 = options->listen && strchr(options->listen, ':');
	const char *host = options->listen ? options->listen : "127.0.0.1";

	if (is_unix(options))
		str_printf(out, "http://localhost/");
	else
		str_printf(out, is_v6 ? "http://[%s]:%u/" : "http://%s:%u/", host, listener->port);
	if (token->text[0])
		str_printf(out, "#k=%s", token->text);
}

static struct err *print_json(const char *url, const struct listener *listener,
			      const struct token *token)
{
	const struct emit_settings settings = { .format = EMIT_JSON, .compact = true };
	CLEAN(emit_destroy) struct emit *emit = emit_create(stdout, &settings);

	if (!emit)
		return err_nomem();
	emit_object(emit, NULL);
	emit_text(emit, "url", url);
	if (listener->port)
		emit_u64(emit, "port", listener->port, EMIT_PLAIN);
	else
		emit_null(emit, "port");
	emit_text(emit, "token", token->text[0] ? token->text : NULL);
	emit_text(emit, "socket", listener->unix_path);
	emit_end(emit);
	return emit_finish(emit);
}

static struct err *address_print(const struct serve_options *options,
				 const struct listener *listener, const struct token *token)
{
	CLEAN(str_deinit) struct str url = { 0 };
	struct err *err = NULL;

	url_add(&url, options, listener, token);
	if (url.failed)
		return err_nomem();
	if (options->json)
		err = print_json(url.ptr, listener, token);
	else if (is_unix(options))
		printf("%s on %s\n", url.ptr, options->listen);
	else
		printf("%s\n", url.ptr);
	fflush(stdout);
	if (!err && options->opens)
		browser_open(url.ptr);
	return err;
}

/* --- serving ------------------------------------------------------------------------------- */

/* The tapes to serve, opened before the first request or as they appear. */
struct serving {
	const struct serve_options *options;
	char **paths;
	size_t count;
	struct tape_source *sources;
	struct tapes *tapes; /* NULL: not opened yet */
	const sigset_t *signals;
	struct control *control;	    /* NULL: no recording in progress */
	struct serve_attach *attach;	    /* NULL: nobody may */
	const struct folder_source *folder; /* NULL: none is served */
	struct serve_my_code my_code;
};

static bool is_there(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && status.st_size >= (off_t)TAPE_HEADER_BYTES;
}

/* False: asked to stop before all tapes are there. */
static bool wait_for_tapes(const struct serving *serving)
{
	const struct timespec pause = { .tv_nsec = WAIT_LOOK_MS * 1000000L };

	for (size_t i = 0; i < serving->count; i++) {
		while (!is_there(serving->paths[i])) {
			if (sigtimedwait(serving->signals, NULL, &pause) > 0)
				return false;
		}
	}
	return true;
}

/* Something that cannot be cancelled is still using everything, so nothing can be freed. */
static _Noreturn void leave(const struct listener *listener)
{
	if (listener->unix_path)
		unlink(listener->unix_path);
	fflush(stdout);
	_exit(0);
}

/* Runs until a signal asks to stop. */
static struct err *serve_until_signal(struct serving *serving, struct server *server,
				      const struct listener *listener)
{
	CLEAN(daemon_stop) struct daemon *daemon = NULL;
	struct err *err = NULL;

	if (!serving->tapes) {
		err = address_print(serving->options, listener, &server->guard.token);
		if (err || !wait_for_tapes(serving))
			return err;
		err = tapes_create(serving->sources, serving->count, &serving->tapes);
	}
	if (err)
		return err;
	server->tapes = serving->tapes;
	err = daemon_start(server, listener, &daemon);
	if (!err && !serving->options->waits)
		err = address_print(serving->options, listener, &server->guard.token);
	while (!err && sigwaitinfo(serving->signals, NULL) < 0)
		; /* stopped and continued, or looked at by a debugger */
	if (!daemon_end(daemon))
		leave(listener);
	return err;
}

static struct err *serve(struct serving *serving)
{
	const struct serve_options *options = serving->options;
	CLEAN(source_roots_deinit) struct source_roots roots = { 0 };
	CLEAN(listener_close) struct listener listener = { 0 };
	CLEAN(server_deinit) struct server server = {
		.settings = {
			.version = MEMTAPE_VERSION,
			.time_limit_ns = options->timeout_ns,
			.file_time_limit_ns = options->timeout_ns * FILE_TIME_FACTOR,
			.sql_time_limit_ns = options->sql_timeout_ns,
			.sql_memory_bytes = options->memory_bytes,
			.memory_bytes = options->answer_bytes,
			.file_bytes_max = UINT64_C(4) << 30,
		},
	};
	CLEAN(cache_destroy) struct cache *cache = cache_create(options->cache_bytes);
	struct err *err;

	server_init(&server);
	server.cache = cache;
	server.control = serving->control;
	server.processes = serving->attach ? &serving->attach->source : NULL;
	server.folder = serving->folder;
	server.my_code = &serving->my_code.source;
	server.added = &serving->sources[serving->count];
	if (!cache)
		return err_nomem();
	err = source_roots_parse(options->source_roots, &roots);
	server.settings.source_roots = roots;
	if (!err)
		err = listen_somewhere(options, &listener);
	if (!err)
		err = allow_hosts(options, &listener, &server.guard);
	if (!err && !options->no_token)
		err = token_make(&server.guard.token);
	return err ? err : serve_until_signal(serving, &server, &listener);
}

static void symbols_end(struct reading_symbols *symbols, size_t count)
{
	for (size_t i = 0; symbols && i < count; i++)
		reading_symbols_deinit(&symbols[i]);
	free(symbols);
}

/* *control_ret is unchanged if there is no recording. */
static struct err *control_take(const char *text, struct control *control,
				struct control **control_ret)
{
	struct err *err = text ? control_parse(text, control) : NULL;

	if (text && !err)
		*control_ret = control;
	return err;
}

/* The last source is of tapes that are added. */
static struct err *sources_make(const struct serve_options *options,
				const struct serve_paths *paths, struct reading_symbols *symbols,
				const struct suppressing *suppressing,
				const struct serve_my_code *my_code, struct tape_source *sources)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i <= paths->count; i++) {
		err = reading_symbols_init(&symbols[i], &options->symbols, paths->items[i]);
		sources[i] = (struct tape_source) {
			.path = paths->items[i],
			.symbols = &symbols[i].options,
			.suppressions = &suppressing->rules,
			.leaves_no_index = options->no_index,
			.announce = reading_announce,
			.announce_context = READING_INDEX_AVOIDED,
			.rules = serve_my_code_rules,
			.rules_context = my_code,
		};
	}
	return err;
}

static struct err *serve_tapes(const struct command *command, const struct serve_options *options,
			       const struct serve_paths *paths, struct serve_list *list,
			       const sigset_t *signals)
{
	CLEAN(serve_attach_deinit) struct serve_attach attach;
	struct suppressing *suppressing = calloc(1, sizeof(*suppressing));
	struct reading_symbols *symbols = calloc(paths->count + 1, sizeof(*symbols));
	struct tape_source *sources = calloc(paths->count + 1, sizeof(*sources));
	struct serving serving = { options, paths->items, paths->count, sources,
				   .signals = signals };
	struct err *err = symbols && sources && suppressing ? NULL : err_nomem();
	struct control control;

	serve_attach_init(&attach, paths->folder);
	serve_my_code_init(&serving.my_code, &options->symbols.my_code,
			   is_private(options) ? NULL : my_code_refusal);
	serving.attach = may_attach(options) ? &attach : NULL;
	serving.folder = list->source.gists ? &list->source : NULL;
	if (!err)
		err = suppressing_load(suppressing, &options->suppressing);
	if (!err)
		err = sources_make(options, paths, symbols, suppressing, &serving.my_code, sources);
	if (!err && !options->waits)
		err = tapes_create(sources, paths->count, &serving.tapes);
	if (!err)
		err = serve_list_keep(list, paths->listed, &options->keep);
	if (!err)
		err = control_take(options->control, &control, &serving.control);
	if (!err)
		err = serve(&serving);
	if (serving.control)
		control_deinit(serving.control);
	if (!serve_list_end(list) || !tapes_destroy(serving.tapes)) {
		serve_attach_deinit(&attach);
		_exit(command_end(command, err, EXIT_OK)); /* a load uses all the rest */
	}
	symbols_end(symbols, paths->count + 1);
	free(sources);
	if (suppressing)
		suppressing_deinit(suppressing);
	free(suppressing);
	return err;
}

/* Who limits all requests means statements, too. */
static void limits_complete(struct serve_options *options)
{
	if (options->sql_timeout_ns == NOT_GIVEN)
		options->sql_timeout_ns = options->timeout_ns == NOT_GIVEN ? usual_sql_timeout_ns
									   : options->timeout_ns;
	if (options->timeout_ns == NOT_GIVEN)
		options->timeout_ns = usual_timeout_ns;
}

static struct err *serve_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct serve_options options = {
		.timeout_ns = NOT_GIVEN,
		.sql_timeout_ns = NOT_GIVEN,
		.memory_bytes = 256 << 20,
		.cache_bytes = 64 << 20,
		.answer_bytes = UINT64_C(1) << 30,
	};
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct serve_list list = { .keeping = NULL };
	struct serve_paths paths;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);
	sigset_t signals;

	(void)exit_code;
	if (!err && options.openapi)
		return openapi_write(MEMTAPE_VERSION, stdout);
	limits_complete(&options);
	if (!err)
		err = options_check(&options);
	if (!err)
		err = serve_list_begin(&list, serve_listed(argv + 1, (size_t)operand_count),
				       &options.keep);
	if (!err)
		err = serve_paths_find(argv + 1, (size_t)operand_count, &arena, &paths);
	for (size_t i = 0; !err && i < paths.count; i++)
		err = foreign_check(paths.items[i]);
	if (err)
		return err;
	command_end_signals(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before threads are created */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit becomes an error */
	return serve_tapes(command, &options, &paths, &list, &signals);
}

const struct command cmd_serve = {
	.name = "serve",
	.summary = "serve tapes to a browser, and to programs over HTTP",
	.options = {
		.usage = "memtape serve [TAPE|FOLDER]... [options]",
		.about = "Serves tapes to a browser and to programs over HTTP, on this machine only and protected by the token in the printed URL. A folder stands for the tapes in it. In the browser, processes that run already can be attached to; their tapes are put in the first folder, or the working directory. Ctrl-C ends it.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = serve_run,
};
