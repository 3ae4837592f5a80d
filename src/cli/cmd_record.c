/*
 * record: runs a program and writes its tape.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "cli/command.h"
#include "cli/leak_heuristics.h"
#include "cli/record_options.h"
#include "collect/rotation.h"
#include "collect/signals.h"
#include "core/synonyms.h"

enum { FOLLOW_BYTES_MAX = 1000, SIZE_LIMIT_MIN = 1 << 20 };

struct record_command {
	struct record_options common;
	const char *follow; /* program names, or ""; NULL: only the program that is started */
	bool follow_exec;
	const char *leak_scan; /* when; "": at the end; NULL: never */
	const char *leak_heuristics;
	const char *staleness; /* period; "": the usual one; NULL: none */
	bool disabled;
	uint64_t delay_ns, duration_ns;
	struct option_list toggles; /* signals, as the user wrote them */
	uint64_t synonym_toggles;   /* a set, as in collector_settings */
	const char *tapes_output;   /* of bytehound's variable, a pattern for files; NULL: none */
	bool zero;
	struct option_list snapshots; /* limits, as the user wrote them */
	uint64_t size_max;
	bool rotates;
};

static const struct option_row rows[] = {
	RECORD_TAPE_OPTIONS(struct record_command, common),
	{ "follow", 0, "all|NAME,...", OPTION_OPTIONAL, offsetof(struct record_command, follow),
	  "also record child processes: --output names a folder, with a tape for each, unless it "
	  "ends in .mtape, which names tapes; with names (* and ? allowed), only programs called "
	  "so, whoever starts them" },
	{ "no-follow-exec", 0, NULL, OPTION_UNFLAG, offsetof(struct record_command, follow_exec),
	  "if the program replaces itself by exec, keep the tape of the first program" },
	RECORD_EVENT_OPTIONS(struct record_command, common),
	{ "leak-scan", 0, "WHEN", OPTION_OPTIONAL, offsetof(struct record_command, leak_scan),
	  "find out which blocks are lost and what holds the others, by looking for pointers to "
	  "them "
	  "in the program's memory; WHEN is exit (the default): when the program ends, also by a "
	  "signal; "
	  "signal: also when memtape gets SIGUSR1; or every:30s: also at that interval" },
	LEAK_HEURISTICS_OPTION(struct record_command, leak_heuristics),
	{ "staleness", 0, "TIME", OPTION_OPTIONAL, offsetof(struct record_command, staleness),
	  "look every TIME (10s, at least 100ms) at which pages were used since (as root; without "
	  "privilege: written to), for `memtape report TAPE stale`: live memory that nobody uses" },
	{ "disabled", 0, NULL, OPTION_FLAG, offsetof(struct record_command, disabled),
	  "begin paused: allocations are recorded from `memtape ctl PID start` on" },
	{ "delay", 0, "TIME", OPTION_DURATION, offsetof(struct record_command, delay_ns),
	  "begin paused, and record allocations after TIME (30s, 500ms, 2m)" },
	{ "duration", 'd', "TIME", OPTION_DURATION, offsetof(struct record_command, duration_ns),
	  "pause after having recorded for TIME; the program goes on" },
	{ "toggle", 0, "SIGNAL", OPTION_LIST, offsetof(struct record_command, toggles),
	  "let the program pause and resume its recording when it gets SIGNAL (USR1, SIGUSR2, 34), "
	  "unless it handles that signal itself; may be given several times" },
	{ "zero-memory", 0, NULL, OPTION_FLAG, offsetof(struct record_command, zero),
	  "fill new blocks, and those about to be freed, with zeros" },
	{ "snapshot-at", 0, "LIMIT", OPTION_LIST, offsetof(struct record_command, snapshots),
	  "look at which memory is resident, and set a mark, when a limit is reached: rss=1g (of "
	  "the program), heap=1g (of it, what is of no file), cgroup=90% (of its cgroup's limit) "
	  "or available=500m (left on the machine); "
	  "may be given several times" },
	{ "max-size", 0, "SIZE", OPTION_BYTES, offsetof(struct record_command, size_max),
	  "end the recording when the tape has SIZE (at least 1m); the program goes on, and what "
	  "is "
	  "missing is counted" },
	{ "rotate", 0, NULL, OPTION_FLAG, offsetof(struct record_command, rotates),
	  "with --max-size (at least 16m): go on, and leave out what was freed long ago; live "
	  "blocks and sums are kept" },
	RECORD_REST_OPTIONS(struct record_command, common),
};

static bool synonym_is_set(const char *name)
{
	const char *value = getenv(name);

	return value && synonym_is_true(value);
}

/* Uses bytehound's variables as defaults for our options; warns of those without effect. */
static void synonyms_read(struct record_command *options)
{
	const char *output = getenv(SYNONYM_OUTPUT), *follow = getenv(SYNONYM_FOLLOW);
	const char *free_stacks = getenv(SYNONYM_FREE_STACKS);
	const char *disabled = getenv("MEMTAPE_DISABLED");
	unsigned count = 0;

	if (output && *output)
		options->common.output = options->tapes_output = output;
	if (follow)
		options->follow = synonym_is_true(follow) ? "" : NULL;
	if (free_stacks)
		options->common.free_stacks = synonym_is_true(free_stacks);
	options->disabled =
		synonym_is_set(SYNONYM_PAUSED) || (disabled && *disabled && *disabled != '0');
	options->zero = synonym_is_set(SYNONYM_ZERO);
	for (size_t i = 0; i < array_size(synonym_toggles); i++)
		if (synonym_is_set(synonym_toggles[i].name))
			options->synonym_toggles |= UINT64_C(1) << synonym_toggles[i].signal;
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

static struct err *leak_options_take(const struct record_command *options,
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

static struct err *staleness_take(const struct record_command *options,
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

/* "USR1", "SIGUSR1" or a number; 0: none. The two that cannot be handled are none. */
static int signal_number(const char *text)
{
	const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
	char *end;
	const long number = strtol(text, &end, 10);

	if (end != text && !*end)
		return number > 0 && number < 64 && number != SIGKILL && number != SIGSTOP
			       ? (int)number
			       : 0;
	for (int known = 1; known < NSIG && known < 64; known++) {
		const char *own = sigabbrev_np(known);

		if (own && strcmp(own, name) == 0)
			return known == SIGKILL || known == SIGSTOP ? 0 : known;
	}
	return 0;
}

static struct err *rotation_take(const struct record_command *options,
				 struct collector_settings *settings)
{
	settings->rotates = options->rotates;
	if (!options->rotates)
		return NULL;
	if (options->size_max < ROTATION_BYTES_MIN)
		return err_new(ERR_USAGE, "--rotate needs --max-size, of at least 16m");
	if (options->staleness)
		return err_new(ERR_USAGE,
			       "--rotate leaves out what --staleness has seen: use one of them");
	return NULL;
}

static struct err *pauses_take(const struct record_command *options,
			       struct collector_settings *settings)
{
	struct err *err;

	if (options->disabled && (options->delay_ns || options->duration_ns))
		return err_new(ERR_USAGE,
			       "--disabled waits for `memtape ctl PID start`, so that there is no "
			       "--delay or --duration; --delay alone begins paused, too");
	settings->is_paused = options->disabled || options->delay_ns > 0;
	settings->delay_ns = options->delay_ns;
	settings->duration_ns = options->duration_ns;
	settings->zero = options->zero;
	settings->toggles = options->synonym_toggles;
	settings->tape_bytes_max = options->size_max;
	if (options->size_max && options->size_max < SIZE_LIMIT_MIN)
		return err_new(ERR_USAGE, "--max-size must be at least 1m");
	err = rotation_take(options, settings);
	if (err)
		return err;
	for (size_t i = 0; i < options->toggles.count; i++) {
		const int number = signal_number(options->toggles.items[i]);

		if (!number)
			return err_new(ERR_USAGE,
				       "--toggle: %s is no signal that a program can handle, such "
				       "as USR1 or SIGUSR2",
				       options->toggles.items[i]);
		settings->toggles |= UINT64_C(1) << number;
	}
	return NULL;
}

/* --output is a pattern of tapes, and not the folder of a process tree. */
static bool names_tapes(const struct record_command *options)
{
	static const char suffix[] = ".mtape";
	const char *output = options->common.output;
	const size_t len = strlen(output);

	if (output == options->tapes_output)
		return true;
	return strcmp(output, PATTERN_DEFAULT) != 0 && len >= strlen(suffix) &&
	       strcmp(output + len - strlen(suffix), suffix) == 0;
}

static struct err *settings_make(struct record_command *options,
				 struct collector_settings *settings)
{
	struct err *err = record_settings(&options->common, settings);

	if (err)
		return err;
	if (options->follow && strlen(options->follow) > FOLLOW_BYTES_MAX)
		return err_new(ERR_USAGE, "--follow: names have at most %d bytes",
			       FOLLOW_BYTES_MAX);
	settings->follow = options->follow != NULL;
	settings->session = settings->follow && !names_tapes(options);
	if (settings->session && options->common.send.removes)
		return err_new(ERR_USAGE, "--no-local is for one tape; a session stays here");
	settings->follow_names =
		options->follow && strcmp(options->follow, "all") == 0 ? "" : options->follow;
	if (settings->session && strcmp(settings->output, PATTERN_DEFAULT) == 0)
		settings->output = PATTERN_SESSION;
	settings->follow_exec = options->follow_exec;
	err = leak_options_take(options, settings);
	if (!err)
		err = staleness_take(options, settings);
	if (!err)
		err = limits_parse(&options->snapshots, &settings->limits);
	return err ? err : pauses_take(options, settings);
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
	struct collector_result result;
	enum program_trouble trouble;
	struct program program;
	int exec_errno;
	struct err *err = program_find(&program, argv, &arena, &trouble);

	*exit_code = trouble_exit_code(trouble);
	if (err)
		return trouble == PROGRAM_NOT_FOUND ? add_guess(err, argv[0]) : err;
	if (program.is_narrow && (settings->leak_scan || settings->staleness_ns))
		return err_new(ERR_UNSUPPORTED,
			       "%s is a 32-bit program: it is recorded, but not looked into; leave "
			       "out --leak-scan and --staleness",
			       program.subject);
	options->send.program = program.name;
	err = collector_run(settings, &program, &arena, &result, &exec_errno);
	record_ended(options, err, &result);
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
	err = record_show(options, &program, &result);
	companion_destroy(result.companion);
	record_send_wait(&options->send, result.session_path);
	record_serve_wait(&options->serve, result.is_asked_to_end);
	return err;
}

static struct err *record_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct record_command options = {
		.common = RECORD_OPTIONS_DEFAULTS,
		.leak_heuristics = "all",
		.follow_exec = true,
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
	err = run_program(&options.common, &settings, argv + 1, exit_code, &number);
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
		.stop_at_operand = 1,
	},
	.run = record_run,
};
