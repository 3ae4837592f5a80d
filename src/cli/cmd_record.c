/*
 * record: runs a program and writes its tape.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "capture/pack.h"
#include "cli/command.h"
#include "cli/leak_heuristics.h"
#include "cli/record_player.h"
#include "cli/record_serve.h"
#include "cli/record_summary.h"
#include "collect/allocators.h"
#include "collect/collector.h"
#include "collect/pattern.h"
#include "collect/signals.h"
#include "collect/spool.h"
#include "core/synonyms.h"

enum { LEVEL_DEFAULT = 1, LEVEL_MAX = 19, FOLLOW_BYTES_MAX = 1000 };

struct record_options {
	const char *output;
	uint64_t buffer_bytes;
	uint64_t level;
	bool force;
	const char *follow; /* program names, or ""; NULL: only the program that is started */
	bool follow_exec;
	bool stacks;
	bool free_stacks;
	bool latency;
	const char *leak_scan; /* when; "": at the end; NULL: never */
	const char *leak_heuristics;
	const char *staleness; /* period; "": the usual one; NULL: none */
	struct option_list allocators;
	bool compress;
	bool live;
	bool serves;
	bool serves_until_exit;
	struct record_serve serve;
	bool summary;
	bool verbose;
	bool quiet;
};

static const struct option_row rows[] = {
	{ "output", 'o', "PATTERN", OPTION_TEXT, offsetof(struct record_options, output),
	  "name of the tape; %e is the program's name, %p its pid, %h the host, %t the start in "
	  "seconds since 1970, %n the smallest number not taken, %% a percent sign "
	  "(default " PATTERN_DEFAULT ")" },
	{ "force", 'f', NULL, OPTION_FLAG, offsetof(struct record_options, force),
	  "overwrite an existing tape" },
	{ "follow", 0, "NAME,...", OPTION_OPTIONAL, offsetof(struct record_options, follow),
	  "also record child processes, each to its own tape; with names (* and ? allowed), only "
	  "programs called so, whoever starts them" },
	{ "no-follow-exec", 0, NULL, OPTION_UNFLAG, offsetof(struct record_options, follow_exec),
	  "if the program replaces itself by exec, keep the tape of the first program" },
	{ "no-free-stacks", 0, NULL, OPTION_UNFLAG, offsetof(struct record_options, free_stacks),
	  "record no stacks of frees: faster, but who freed a block is unknown" },
	{ "no-stacks", 0, NULL, OPTION_UNFLAG, offsetof(struct record_options, stacks),
	  "record no stacks at all" },
	{ "latency", 0, NULL, OPTION_FLAG, offsetof(struct record_options, latency),
	  "also record how long each call of the allocator took" },
	{ "allocator", 0, "NAME[=PREFIX]", OPTION_LIST, offsetof(struct record_options, allocators),
	  "also record PREFIXmalloc, PREFIXfree ...; NAME alone: jemalloc, mimalloc, tcmalloc, "
	  "tbbmalloc, mozjemalloc, rust, or none, which disables detection" },
	{ "leak-scan", 0, "WHEN", OPTION_OPTIONAL, offsetof(struct record_options, leak_scan),
	  "find out which blocks are lost and what holds the others, by looking for pointers to "
	  "them "
	  "in the program's memory; WHEN is exit (the default): when the program ends, also by a "
	  "signal; "
	  "signal: also when memtape gets SIGUSR1; or every:30s: also at that interval" },
	LEAK_HEURISTICS_OPTION(struct record_options, leak_heuristics),
	{ "staleness", 0, "TIME", OPTION_OPTIONAL, offsetof(struct record_options, staleness),
	  "look every TIME (10s, at least 100ms) at which pages were written to since, for "
	  "`memtape report TAPE stale`: live memory that nobody uses" },
	{ "no-compress", 0, NULL, OPTION_UNFLAG, offsetof(struct record_options, compress),
	  "do not compress the tape; `memtape repack` does so later" },
	{ "level", 'l', "N", OPTION_U64, offsetof(struct record_options, level),
	  "compression level from 1 (fast, the default) to 19 (small)" },
	{ "live", 0, NULL, OPTION_FLAG, offsetof(struct record_options, live),
	  "keep the tape at most half a second behind, for `memtape serve`" },
	{ "serve", 0, NULL, OPTION_FLAG, offsetof(struct record_options, serves),
	  "serve the tape while it is recorded and then until Ctrl-C; prints the URL before the "
	  "program starts (implies --live)" },
	{ "serve-until-exit", 0, NULL, OPTION_FLAG,
	  offsetof(struct record_options, serves_until_exit),
	  "the same, but only until the program ends" },
	{ "port", 'p', "N", OPTION_U64, offsetof(struct record_options, serve.port),
	  "serve on port N instead of a free one" },
	{ "open", 0, NULL, OPTION_FLAG, offsetof(struct record_options, serve.opens),
	  "open the URL in a browser" },
	{ "buffer", 'b', "SIZE", OPTION_BYTES, offsetof(struct record_options, buffer_bytes),
	  "buffer for events not yet compressed, 256k to 8g (default: 4m); a larger one absorbs "
	  "longer bursts" },
	{ "no-summary", 0, NULL, OPTION_UNFLAG, offsetof(struct record_options, summary),
	  "do not print a summary, only the tape's name" },
	{ "verbose", 'v', NULL, OPTION_FLAG, offsetof(struct record_options, verbose),
	  "also say how the summary was made" },
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct record_options, quiet),
	  "print errors only" },
};

/* The default suits a process that runs beside the recorded program. */
static int level_make(const struct record_options *options)
{
	if (!options->compress)
		return 0;
	return options->level == LEVEL_DEFAULT ? CAPTURE_PACK_LEVEL : (int)options->level;
}

static struct err *serve_begin(void *context, const char *path)
{
	struct record_options *options = context;

	return record_serve_start(&options->serve, path);
}

static bool take_wish(void *context, struct collector_wish *wish)
{
	struct record_options *options = context;

	return record_serve_wish(&options->serve, wish);
}

static void grant(void *context, const struct collector_granted *granted)
{
	struct record_options *options = context;

	record_serve_grant(&options->serve, granted);
}

/* Uses bytehound's variables as defaults for our options; warns of those without effect. */
static void synonyms_read(struct record_options *options)
{
	const char *output = getenv(SYNONYM_OUTPUT), *follow = getenv(SYNONYM_FOLLOW);
	const char *free_stacks = getenv(SYNONYM_FREE_STACKS);
	unsigned count = 0;

	if (output && *output)
		options->output = output;
	if (follow)
		options->follow = synonym_is_true(follow) ? "" : NULL;
	if (free_stacks)
		options->free_stacks = synonym_is_true(free_stacks);
	for (char **entry = environ; *entry; entry++) {
		const size_t len = synonym_unused(*entry);

		if (len)
			fprintf(stderr, "%s%.*s",
				count++ ? ", " : "memtape: without effect here: ", (int)len,
				*entry);
	}
	if (count)
		fputc('\n', stderr);
}

static struct err *leak_options_take(const struct record_options *options,
				     struct collector_settings *settings)
{
	static const char every[] = "every:";
	const char *when = options->leak_scan;
	struct err *err =
		leak_heuristics_parse(options->leak_heuristics, &settings->leak_heuristics);

	if (err || !when)
		return err;
	if (!*when || strcmp(when, "exit") == 0)
		settings->leak_scan = COLLECTOR_SCAN_EXIT;
	else if (strcmp(when, "signal") == 0)
		settings->leak_scan = COLLECTOR_SCAN_SIGNAL;
	else if (strncmp(when, every, strlen(every)) == 0 &&
		 str_parse_duration(when + strlen(every), &settings->leak_period_ns) &&
		 settings->leak_period_ns > 0)
		settings->leak_scan = COLLECTOR_SCAN_PERIOD;
	else
		return err_new(ERR_USAGE,
			       "--leak-scan: %s is none of exit, signal, every:TIME, where TIME is "
			       "30s, 500ms or the like",
			       when);
	return NULL;
}

static struct err *staleness_take(const struct record_options *options,
				  struct collector_settings *settings)
{
	static const uint64_t usual_ns = UINT64_C(10000000000), min_ns = 100000000;

	if (!options->staleness)
		return NULL;
	settings->staleness_ns = usual_ns;
	if (*options->staleness &&
	    (!str_parse_duration(options->staleness, &settings->staleness_ns) ||
	     settings->staleness_ns < min_ns))
		return err_new(ERR_USAGE,
			       "--staleness: %s is not a time of at least 100ms, such as 500ms, "
			       "10s or 5m",
			       options->staleness);
	return NULL;
}

static struct err *settings_make(struct record_options *options,
				 struct collector_settings *settings)
{
	const char *selfcheck = getenv("MEMTAPE_SELFCHECK");
	const uint64_t chunk_count = options->buffer_bytes / SPOOL_CHUNK_BYTES;
	struct err *err;

	if (options->level < 1 || options->level > LEVEL_MAX)
		return err_new(ERR_USAGE, "--level must be from 1 to %d", LEVEL_MAX);
	if (chunk_count < SPOOL_CHUNK_COUNT_MIN || chunk_count > SPOOL_CHUNK_COUNT_MAX)
		return err_new(ERR_USAGE, "--buffer must be from 256k to 8g");
	options->serves |= options->serves_until_exit;
	if ((options->serve.port || options->serve.opens) && !options->serves)
		return err_new(ERR_USAGE, "--port and --open need --serve");
	if (options->serve.port > UINT16_MAX)
		return err_new(ERR_USAGE, "--port must be from 1 to 65535");
	if (options->follow && strlen(options->follow) > FOLLOW_BYTES_MAX)
		return err_new(ERR_USAGE, "--follow: names have at most %d bytes",
			       FOLLOW_BYTES_MAX);
	if (!*options->output)
		return err_new(ERR_USAGE, "--output needs a name");
	err = allocators_check(&options->allocators);
	if (err)
		return err;
	*settings = (struct collector_settings) {
		.output = options->output,
		.overwrite = options->force,
		.follow = options->follow != NULL,
		.follow_names = options->follow,
		.follow_exec = options->follow_exec,
		.stacks = options->stacks,
		.free_stacks = options->free_stacks && options->stacks,
		.latency = options->latency,
		.allocators = options->allocators,
		.live = options->live || options->serves,
		.on_ready = options->serves ? serve_begin : NULL,
		.take_wish = options->serves ? take_wish : NULL,
		.grant = grant,
		.player = options->summary && !options->quiet ? &record_player : NULL,
		.look = record_summary_look,
		.context = options,
		.selfcheck = selfcheck && *selfcheck && strcmp(selfcheck, "0") != 0,
		.level = level_make(options),
		.chunk_bytes = SPOOL_CHUNK_BYTES,
		.chunk_count = (uint32_t)chunk_count + SPOOL_OPEN_COUNT,
	};
	err = leak_options_take(options, settings);
	return err ? err : staleness_take(options, settings);
}

static int trouble_exit_code(enum program_trouble trouble)
{
	switch (trouble) {
	case PROGRAM_FINE:
	case PROGRAM_NOT_RECORDABLE:
		return EXIT_CANNOT_START;
	case PROGRAM_NOT_FOUND:
		return EXIT_NOT_FOUND;
	case PROGRAM_NOT_EXECUTABLE:
		return EXIT_NOT_EXECUTABLE;
	}
	return EXIT_CANNOT_START;
}

/* For `memtape reprot`: suggests a command. */
static struct err *add_guess(struct err *err, const char *word)
{
	const struct command *guess = command_guess(word);

	if (!guess)
		return err;
	err_destroy(err);
	return err_new(ERR_NOT_FOUND, "%s: no such command or program; did you mean `memtape %s`?",
		       word, guess->name);
}

static struct err *run_program(struct record_options *options,
			       const struct collector_settings *settings, char **argv,
			       int *exit_code, int *signal_ret)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct record_summary_wish wish = { options->summary && !options->quiet,
						  options->verbose };
	struct collector_result result;
	enum program_trouble trouble;
	struct program program;
	int exec_errno;
	struct err *err = program_find(&program, argv, &arena, &trouble);

	*exit_code = trouble_exit_code(trouble);
	if (err)
		return trouble == PROGRAM_NOT_FOUND ? add_guess(err, argv[0]) : err;
	err = collector_run(settings, &program, &arena, &result, &exec_errno);
	record_serve_ended(&options->serve);
	if (err || options->serves_until_exit || !result.path)
		record_serve_stop(&options->serve);
	if (err) {
		if (exec_errno)
			*exit_code = exec_errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
		return err;
	}
	if (WIFSIGNALED(result.wait_status))
		*signal_ret = WTERMSIG(result.wait_status);
	else
		*exit_code = WEXITSTATUS(result.wait_status);
	signal(SIGPIPE, SIG_IGN); /* a closed pipe must not cost us the exit code */
	if (!options->quiet || result.fault || !result.path)
		err = record_summary_print(&program, &result, &options->allocators, &wish);
	companion_destroy(result.companion);
	record_serve_wait(&options->serve);
	return err;
}

static struct err *record_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct record_options options = {
		.output = PATTERN_DEFAULT,
		.buffer_bytes = (uint64_t)SPOOL_CHUNK_COUNT * SPOOL_CHUNK_BYTES,
		.level = LEVEL_DEFAULT,
		.leak_heuristics = "all",
		.serve = { .fd = -1 },
		.follow_exec = true,
		.stacks = true,
		.free_stacks = true,
		.compress = true,
		.summary = true,
	};
	struct collector_settings settings;
	int operand_count = 0;
	int number = 0;
	struct err *err;

	synonyms_read(&options);
	err = options_parse(&command->options, argc, argv, &options, &operand_count);
	if (!err && operand_count == 0)
		err = err_new(ERR_USAGE, "which program?");
	if (!err)
		err = settings_make(&options, &settings);
	if (err)
		return err;
	argv[1 + operand_count] = NULL;
	err = run_program(&options, &settings, argv + 1, exit_code, &number);
	if (!err && number) {
		fflush(NULL);
		signals_die(number);
		*exit_code = 128 + number;
	}
	return err;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "run a program and record what it does with memory",
	.options = {
		.usage = "memtape record [options] [--] PROGRAM [ARGS]\n"
			 "       memtape [options] PROGRAM [ARGS]",
		.about = "Runs PROGRAM and records every allocation and free with its stack. Arguments, input, output and terminal are the program's own, and so is the exit code.",
		.rows = rows,
		.row_count = array_size(rows),
		.stop_at_operand = true,
	},
	.run = record_run,
};
