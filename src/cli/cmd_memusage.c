/*
 * memusage: glibc's memusage, based on a tape.
 *
 * A script that calls memusage must not see a difference, so the messages about the command line
 * and the exit codes are those of the original, and report errors never change the program's exit
 * code.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "capture/pack.h"
#include "cli/command.h"
#include "cli/memusage_of_tape.h"
#include "cli/memusage_options.h"
#include "cli/memusagestat.h"
#include "cli/reading.h"
#include "collect/collector.h"
#include "collect/own_malloc.h"
#include "collect/pattern.h"
#include "collect/spool.h"
#include "memusage/memusage_summary.h"
#include "memusage/memusage_tapes.h"

static const char TRY_TEXT[] =
	"Try `memusage --help' or `memusage --usage' for more information.\n";
static const char TAPE_SUFFIX[] = ".mtape";
static const char PNG_SUFFIX[] = ".png";

enum { SIGNAL_CODES = 128 };

struct run {
	const struct memusage_options *options;
	struct program program;
	struct collector_result result;
	struct arena arena;
	const char *folder;
	size_t data_count; /* data files written */
	size_t picture_count;
};

static void complain(struct err *err)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (!err)
		return;
	str_add_terminal(&text, err_message(err));
	fprintf(stderr, "memusage: %s\n", str_text(&text));
	err_destroy(err);
}

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static bool keeps_tape(const struct memusage_options *options)
{
	return options->data && ends_with(options->data, TAPE_SUFFIX);
}

/* --- before --------------------------------------------------------------------------------- */

/* Whether an output made elsewhere can be renamed to that path. */
static bool is_place_of_file(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 ? S_ISREG(status.st_mode) : errno == ENOENT;
}

/* Outputs are written beside their final path where possible, so that a rename is enough. */
static struct err *folder_make(struct run *run)
{
	const char *data = run->options->data;
	CLEAN(str_deinit) struct str directory = { 0 };
	struct err *err = NULL;

	if (data && is_place_of_file(data)) {
		pattern_directory(&directory, data);
		if (directory.failed)
			return err_nomem();
		err = memusage_folder_make(str_text(&directory), &run->arena, &run->folder);
		if (!err || keeps_tape(run->options))
			return err;
		err_destroy(err);
	}
	return memusage_folder_make(NULL, &run->arena, &run->folder);
}

/* Whether only the counts are needed, not the events. */
static bool wants_counts_only(const struct memusage_options *options)
{
	return !options->has_stacks && !keeps_tape(options);
}

static struct err *settings_make(struct run *run, struct collector_settings *settings)
{
	CLEAN(str_deinit) struct str pattern = { 0 };

	for (const char *at = run->folder; *at; at++)
		str_add(&pattern, (const char[]) { *at, *at == '%' ? '%' : '\0', '\0' });
	str_add(&pattern, "/%p.mtape");
	*settings = (struct collector_settings) {
		.output = arena_strdup(&run->arena, str_text(&pattern)),
		.follow = true,
		.calls = true,
		.counts = wants_counts_only(run->options),
		.maps = run->options->has_mappings,
		.moments = run->options->data || run->options->png,
		.is_passing = !keeps_tape(run->options),
		.stacks = run->options->has_stacks,
		.free_stacks = run->options->has_stacks,
		.level =
			keeps_tape(run->options) ? CAPTURE_PACK_LEVEL : 0, /* read once, and gone */
		.chunk_bytes = SPOOL_CHUNK_BYTES,
		.chunk_count = SPOOL_CHUNK_COUNT + SPOOL_OPEN_COUNT,
	};
	return pattern.failed || !settings->output ? err_nomem() : NULL;
}

/* --- after ---------------------------------------------------------------------------------- */

/* FILE, then FILE.PID; after an exec the same pid appears again. */
static const char *data_path(struct run *run, const struct calls *calls)
{
	const char *base = run->options->data;
	const char *path = base;

	if (run->data_count > 0)
		path = arena_printf(&run->arena, "%s.%u", base, calls->pid);
	for (unsigned i = 2; path && run->data_count > 0 && access(path, F_OK) == 0; i++)
		path = arena_printf(&run->arena, "%s.%u.%u", base, calls->pid, i);
	run->data_count++;
	return path;
}

/* The destination may be a device or on another disk. */
static struct err *data_copy(const char *from, const char *path)
{
	enum { COPY_BYTES = 64 << 10 };
	CLEAN(fclose) FILE *in = fopen(from, "re");
	CLEAN(free) char *bytes = malloc(COPY_BYTES);
	FILE *out = NULL;
	CLEAN(close) int fd = in && bytes ? file_replace(path) : -1;
	struct err *err = NULL;
	size_t got;

	if (!bytes)
		return err_nomem();
	out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (out)
		fd = -1; /* now owned by the stream */
	else
		return err_errno("%s", in ? path : from);
	while (!err && (got = fread(bytes, 1, COPY_BYTES, in)) > 0)
		if (fwrite(bytes, 1, got, out) != got)
			err = err_errno("write %s", path);
	if (!err && ferror(in))
		err = err_errno("read %s", from);
	if (fclose(out) != 0 && !err)
		err = err_errno("write %s", path);
	return err;
}

static struct err *data_keep(struct run *run, const struct memusage_tape *tape)
{
	const char *path;

	if (!run->options->data)
		return NULL;
	path = data_path(run, &tape->calls);
	if (!path)
		return err_nomem();
	if (!keeps_tape(run->options) && !tape->data)
		return err_new(ERR_STATE, "%s: not enough space in TMPDIR", path);
	if (!keeps_tape(run->options))
		return is_place_of_file(path) && rename(tape->data, path) == 0
			       ? NULL
			       : data_copy(tape->data, path);
	return rename(tape->path, path) == 0 ? NULL : err_errno("%s", path);
}

/* FILE.png, then FILE.PID.png, like data files. */
static const char *picture_path(struct run *run, const struct calls *calls)
{
	const char *asked = run->options->png;
	const size_t len = strlen(asked) - (ends_with(asked, PNG_SUFFIX) ? strlen(PNG_SUFFIX) : 0);
	const char *path = arena_printf(&run->arena, "%.*s%s", (int)len, asked, PNG_SUFFIX);

	if (run->picture_count > 0)
		path = arena_printf(&run->arena, "%.*s.%u%s", (int)len, asked, calls->pid,
				    PNG_SUFFIX);
	for (unsigned i = 2; path && run->picture_count > 0 && access(path, F_OK) == 0; i++)
		path = arena_printf(&run->arena, "%.*s.%u.%u%s", (int)len, asked, calls->pid, i,
				    PNG_SUFFIX);
	run->picture_count++;
	return path;
}

static struct err *picture_draw(struct run *run, const struct memusage_tape *tape)
{
	const struct memusage_options *options = run->options;
	struct memusagestat_options picture = {
		.title = options->title ? options->title : tape->calls.name,
		.is_by_time = options->is_by_time,
		.shows_total = options->shows_total,
		.width = options->width,
		.height = options->height,
		.has_mappings = options->has_mappings,
		.clock_hz = tape->calls.clock_hz,
	};

	if (!options->png)
		return NULL;
	picture.output = picture_path(run, &tape->calls);
	if (!picture.output)
		return err_nomem();
	if (tape->calls.is_counted && !tape->data)
		return err_new(ERR_STATE, "%s: not enough space for its data in TMPDIR",
			       picture.output);
	return memusagestat_draw(&picture, tape->data ? tape->data : tape->path);
}

static bool wants_colour(const struct memusage_options *options)
{
	if (!options->colour || strcmp(options->colour, "auto") == 0)
		return reading_wants_colour(stderr);
	return strcmp(options->colour, "always") == 0;
}

/* One write, so that output of processes that end together does not interleave. */
static void summary_print(const struct run *run, const struct calls *calls, bool is_one_of_many)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (is_one_of_many) {
		str_add(&text, "\nmemusage: ");
		str_add_terminal(&text, calls->name);
		str_printf(&text, " (%u)", calls->pid);
	}
	memusage_summary_add(&text, calls, run->options->has_mappings, wants_colour(run->options));
	fputs(text.failed ? "memusage: out of memory\n" : str_text(&text), stderr);
}

static void absence_print(const struct run *run, const struct err *unrecordable)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add(&text, "memusage: nothing was recorded: ");
	if (unrecordable)
		str_add_terminal(&text, err_message(unrecordable));
	else
		str_add_terminal(&text, run->program.name);
	str_add(&text, unrecordable ? "\n" : " did not load the recorder\n");
	fputs(str_text(&text), stderr);
}

static void losses_print(const struct run *run)
{
	if (run->result.fault)
		fprintf(stderr, "memusage: recording stopped early: %s\n", run->result.fault);
	if (run->result.missing_count > 0)
		fprintf(stderr, "memusage: at least %llu calls are not counted\n",
			(unsigned long long)run->result.missing_count);
}

/* Without this warning the zeros could be believed. */
static void own_malloc_print(const struct run *run)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (!run->result.path || !own_malloc_is_in(run->program.path))
		return;
	str_add_terminal(&text, run->program.name);
	fprintf(stderr, "memusage: %s has its own malloc, whose calls are not seen\n",
		str_text(&text));
}

static bool is_wanted(const struct memusage_options *options, const struct calls *calls)
{
	return !options->name || !*options->name || strcmp(options->name, calls->name) == 0;
}

static struct err *report(struct run *run)
{
	CLEAN(memusage_tapes_deinit) struct memusage_tapes tapes = { 0 };
	const bool makes_data =
		(run->options->data || run->options->png) && !keeps_tape(run->options);
	struct err *err = memusage_tapes_count(run->folder, run->options->has_mappings, makes_data,
					       &run->arena, &tapes);
	size_t wanted_count = 0;

	for (size_t i = 0; i < tapes.count; i++)
		if (is_wanted(run->options, &tapes.items[i].calls))
			tapes.items[wanted_count++] = tapes.items[i];
	for (size_t i = 0; i < wanted_count; i++)
		summary_print(run, &tapes.items[i].calls, wanted_count > 1);
	losses_print(run);
	own_malloc_print(run);
	if (tapes.count > 0 && wanted_count == 0)
		fprintf(stderr, "memusage: no process was called %s\n", run->options->name);
	for (size_t i = 0; i < wanted_count && !err; i++)
		err = picture_draw(run, &tapes.items[i]);
	for (size_t i = 0; i < wanted_count && !err; i++)
		err = data_keep(run, &tapes.items[i]);
	return err;
}

/* --- the run -------------------------------------------------------------------------------- */

static int trouble_code(enum program_trouble trouble)
{
	return trouble == PROGRAM_NOT_FOUND ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* A program that cannot be recorded (no disk space, say) runs unrecorded. */
static struct err *run_unrecorded(const struct run *run, struct err *why, int *exit_code)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_terminal(&text, err_message(why));
	fprintf(stderr, "memusage: nothing is recorded: %s\n", str_text(&text));
	err_destroy(why);
	execv(run->program.path, run->program.argv);
	*exit_code = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	return err_errno("run %s", run->program.path);
}

/* *did_run_ret: the program was run, or cannot be run. */
static struct err *program_run(struct run *run, const struct err *unrecordable, int *exit_code,
			       bool *did_run_ret)
{
	struct collector_settings settings;
	int exec_errno = 0;
	struct err *err = settings_make(run, &settings);

	if (!err)
		err = collector_run(&settings, &run->program, &run->arena, &run->result,
				    &exec_errno);
	*did_run_ret = !err || exec_errno != 0;
	if (err) {
		*exit_code = exec_errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
		return err;
	}
	*exit_code = WIFSIGNALED(run->result.wait_status)
			     ? SIGNAL_CODES + WTERMSIG(run->result.wait_status)
			     : WEXITSTATUS(run->result.wait_status);
	signal(SIGPIPE, SIG_IGN);
	if (!run->result.path)
		absence_print(run, unrecordable);
	complain(report(run));
	return NULL;
}

/* A program that cannot be recorded is run anyway. */
static struct err *run_all(struct run *run, char **argv, int *exit_code)
{
	CLEAN(err_destroy) struct err *unrecordable = NULL;
	enum program_trouble trouble;
	struct err *err = program_find(&run->program, argv, &run->arena, &trouble);
	bool did_run = false;

	if (err && trouble == PROGRAM_NOT_RECORDABLE) {
		unrecordable = err;
		err = NULL;
	}
	if (err) {
		*exit_code = trouble_code(trouble);
		return err;
	}
	err = folder_make(run);
	if (!err) {
		err = program_run(run, unrecordable, exit_code, &did_run);
		memusage_folder_remove(run->folder);
	}
	return err && !did_run ? run_unrecorded(run, err, exit_code) : err;
}

static struct err *information_print(const struct command *command,
				     const struct memusage_options *options)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (options->shows_help)
		command_help(command, command_terminal_width(), &text);
	else if (options->shows_usage)
		memusage_options_usage(&text);
	else
		str_add(&text, "memusage (memtape) " MEMTAPE_VERSION "\n");
	if (text.failed)
		return err_nomem();
	fputs(str_text(&text), stdout);
	return NULL;
}

static struct err *memusage_run(const struct command *command, int argc, char **argv,
				int *exit_code)
{
	struct memusage_options options;
	struct run run = { .options = &options };
	int first = argc;
	struct err *err = memusage_options_parse(argc, argv, &options, &first);

	if (err && err_code_of(err) == ERR_USAGE) {
		fprintf(stderr, "%s\n%s", err_message(err), TRY_TEXT);
		err_destroy(err);
		*exit_code = EXIT_FINDINGS;
		return NULL;
	}
	if (!err && (options.shows_help || options.shows_usage || options.shows_version))
		return information_print(command, &options);
	if (!err && memusage_is_tape(argv + first))
		err = memusage_of_tape(&options, argv[first]);
	else if (!err)
		err = run_all(&run, argv + first, exit_code);
	arena_deinit(&run.arena);
	return err;
}

const struct command cmd_memusage = {
	.name = "memusage",
	.summary = "run a program and summarise its calls, like glibc's memusage",
	.options = {
		.usage = "memtape memusage [options] [--] PROGRAM [ARGS]\n"
			 "       memtape memusage [options] TAPE\n"
			 "       memusage [options] [--] PROGRAM [ARGS]",
		.about = "Runs PROGRAM and shows its calls of the allocator: calls and bytes by function, peaks, and a histogram of block sizes; or shows this for a tape.",
		.rows = memusage_option_rows,
		.row_count = MEMUSAGE_OPTION_ROWS,
		.stop_at_operand = 1,
	},
	.run = memusage_run,
};
