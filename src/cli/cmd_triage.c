/*
 * triage: how this machine, or a process, is off for memory: utilisation, saturation, errors, and
 * what to do next.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/pid_operand.h"
#include "cli/reading.h"
#include "host/host.h"
#include "report/triage.h"

enum {
	LOOKS_DEFAULT = 2,
	LOOKS_MAX = 1000, /* some 35 KiB each, in memory until the end */
	INTERVAL_NS_MIN = 1000000,
	RECORDING_BYTES_MAX = 1 << 30,
	NS_PER_S = 1000000000
};

#define NOT_GIVEN UINT64_MAX

struct triage_options {
	const char *pid;
	uint64_t interval_ns, count;
	const char *root;
	const char *record;
	bool force;
	bool json;
	int fail_on; /* -1: not given */
};

static const char *const fail_words[] = { "warning", "critical", NULL };

static const struct option_row rows[] = {
	{ "pid", 'p', "PID", OPTION_TEXT, offsetof(struct triage_options, pid),
	  "look at this process as well, and at the limits of its cgroups" },
	{ "interval", 'i', "TIME", OPTION_DURATION, offsetof(struct triage_options, interval_ns),
	  "time between two looks (10s, 500ms, 2m; default 1s)" },
	{ "count", 'c', "N", OPTION_U64, offsetof(struct triage_options, count),
	  "look N times, up to 1000 (default 2); rates and growth take two or more" },
	{ "root", 'r', "DIR", OPTION_TEXT, offsetof(struct triage_options, root),
	  "read the files of another root: of a container, or a saved tree" },
	{ "record", 'o', "FILE", OPTION_TEXT, offsetof(struct triage_options, record),
	  "also keep what was read, to look at it again or to send it" },
	OUTPUT_FORCE_OPTION(struct triage_options, force),
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct triage_options, json),
	  "JSON with a stable schema" },
	{ "fail-on", 0, "LEVEL", OPTION_CHOICE, offsetof(struct triage_options, fail_on),
	  "exit with 1 if a verdict is this bad, or worse", fail_words },
};

/* --- looking ---------------------------------------------------------------------------------- */

/* What is written is complete up to the last look, whenever that ends. */
static struct err *keep(FILE *file, const char *path, const struct looks *looks)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (looks->count == 1)
		looks_write_begin(looks, &text);
	look_write(&looks->items[looks->count - 1], &text);
	if (text.failed)
		return err_nomem();
	if (fwrite(text.ptr, 1, text.len, file) != text.len || fflush(file) != 0)
		return err_errno("%s", path);
	return NULL;
}

static struct err *record_open(const struct triage_options *options, FILE **file_ret)
{
	CLEAN(close) int fd = -1;

	if (!options->record)
		return NULL;
	fd = options->force || output_is_special(options->record) ? file_replace(options->record)
								  : file_create(options->record);
	if (fd < 0)
		return errno == EEXIST ? output_exists(options->record)
				       : err_errno("%s", options->record);
	*file_ret = fdopen(fd, "w");
	if (!*file_ret)
		return err_errno("%s", options->record);
	steal_fd(&fd);
	return NULL;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Looks are equally far apart, however long each takes. */
static void wait_until(uint64_t ns)
{
	const struct timespec then = { .tv_sec = (time_t)(ns / NS_PER_S),
				       .tv_nsec = (long)(ns % NS_PER_S) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) == EINTR)
		;
}

static struct err *look_around(const struct triage_options *options, struct host *host,
			       struct arena *arena, struct looks *looks)
{
	const uint64_t begin_ns = now_ns();
	CLEAN(fclose) FILE *file = NULL;
	struct err *err = record_open(options, &file);

	looks->items = arena_array(arena, options->count, sizeof(*looks->items));
	if (!looks->items && !err)
		err = err_nomem();
	while (!err && looks->count < options->count) {
		if (looks->count > 0)
			wait_until(begin_ns + looks->count * options->interval_ns);
		err = host_look(host, looks->count + 1 == options->count, arena,
				&looks->items[looks->count]);
		if (err)
			break;
		looks->count++;
		err = file ? keep(file, options->record, looks) : NULL;
	}
	return err;
}

static struct err *look_live(const struct triage_options *options, struct arena *arena,
			     struct looks *looks)
{
	struct host_settings settings = { .root = options->root };
	CLEAN(host_close) struct host *host = NULL;
	char *pid = (char *)options->pid;
	struct err *err = pid ? pid_operand(1, &pid, &settings.subject) : NULL;

	if (!err)
		err = host_open(&settings, &host);
	if (err)
		return err;
	looks->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	looks->subject = (uint64_t)settings.subject;
	return look_around(options, host, arena, looks);
}

/* --- a recording ------------------------------------------------------------------------------ */

static struct err *read_file(const char *path, struct str *text)
{
	CLEAN(fclose) FILE *file = fopen(path, "re");
	char buf[BUFSIZ];
	size_t got;

	if (!file)
		return err_errno("%s", path);
	while ((got = fread(buf, 1, sizeof(buf), file)) > 0) {
		str_add_bytes(text, buf, got);
		if (text->failed)
			return err_nomem();
		if (text->len > RECORDING_BYTES_MAX)
			return err_new(ERR_LIMIT, "%s has more than 1 GiB", path);
	}
	return ferror(file) ? err_errno("%s", path) : NULL;
}

static struct err *look_again(const char *path, struct arena *arena, struct looks *looks)
{
	CLEAN(str_deinit) struct str text = { 0 };
	struct err *err = read_file(path, &text);

	return err ? err
		   : err_wrap(looks_parse(str_text(&text), text.len, arena, looks), "%s", path);
}

/* --- the command ------------------------------------------------------------------------------ */

static struct err *options_check(const struct triage_options *options, int operand_count)
{
	if (operand_count > 1)
		return err_new(ERR_USAGE,
			       "expected one recording at most; a process is named by -p");
	if (operand_count == 1 &&
	    (options->pid || options->root || options->record ||
	     options->interval_ns != NOT_GIVEN || options->count != NOT_GIVEN))
		return err_new(ERR_USAGE, "a recording has been made: --pid, --interval, --count, "
					  "--root and --record are of no use with it");
	if (options->count == 0 || (options->count > LOOKS_MAX && options->count != NOT_GIVEN))
		return err_new(ERR_USAGE,
			       "--count: from 1 to %d; a longer --interval looks for longer",
			       (int)LOOKS_MAX);
	if (options->interval_ns < INTERVAL_NS_MIN)
		return err_new(ERR_USAGE, "--interval: at least 1ms");
	return output_check(options->record, options->force);
}

static struct err *triage_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct triage_options options = { .fail_on = -1,
					  .count = NOT_GIVEN,
					  .interval_ns = NOT_GIVEN };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct triage *triage = NULL;
	struct looks looks = { 0 };
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	if (!err)
		err = options_check(&options, operand_count);
	if (err)
		return err;
	if (options.count == NOT_GIVEN)
		options.count = LOOKS_DEFAULT;
	if (options.interval_ns == NOT_GIVEN)
		options.interval_ns = NS_PER_S;
	err = operand_count == 1 ? look_again(argv[1], &arena, &looks)
				 : look_live(&options, &arena, &looks);
	if (!err)
		err = triage_make(&looks, &arena, &triage);
	if (!err)
		err = triage_report(triage, options.json, reading_wants_colour(stdout), stdout);
	if (!err && options.fail_on >= 0 &&
	    (int)triage->level_index >= (int)VERDICT_WARNING + options.fail_on)
		*exit_code = EXIT_FINDINGS;
	return err;
}

const struct command cmd_triage = {
	.name = "triage",
	.summary = "how a machine, or a process, is off for memory, and what to do next",
	.options = {
		.usage = "memtape triage [options]\n       memtape triage [options] FILE",
		.about = "Reads for a second what the kernel says of memory, and judges it: how much is used (utilisation), what waits for it (saturation), and what failed (errors). Names the next command where something is wrong. FILE is what --record has kept.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = triage_run,
};
