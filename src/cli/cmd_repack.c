/*
 * repack: compresses a tape that the recorder left uncompressed.
 */
#include <stdio.h>

#include "cli/command.h"
#include "cli/input.h"
#include "collect/repack.h"

enum { LEVEL_DEFAULT = 9, LEVEL_MAX = 19 }; /* for storage: smaller than while recording */

struct repack_options {
	const char *output;
	uint64_t level;
	bool force;
	bool quiet;
};

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct repack_options, output),
	  "write to FILE instead of replacing TAPE" },
	OUTPUT_FORCE_OPTION(struct repack_options, force),
	{ "level", 'l', "N", OPTION_U64, offsetof(struct repack_options, level),
	  "compression level from 1 (fast) to 19 (small); default: 9" },
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct repack_options, quiet),
	  "print errors only" },
};

static void print_result(const char *path, const struct capture_repacked *repacked)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_terminal(&text, path);
	str_add(&text, ": ");
	str_add_iec(&text, repacked->bytes_in);
	str_add(&text, " -> ");
	str_add_iec(&text, repacked->bytes_out);
	str_add(&text, ", ");
	str_add_counted(&text, repacked->event_count, "event");
	if (repacked->damage_count > 0) {
		str_add(&text, ", damaged in ");
		str_add_counted(&text, repacked->damage_count, "place");
	}
	printf("%s\n", str_text(&text));
}

static struct err *repack_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct repack_options options = { .level = LEVEL_DEFAULT };
	struct capture_repacked repacked = { 0 };
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);
	const char *out;

	if (err)
		return err;
	if (operand_count != 1)
		return err_new(ERR_USAGE, "expected one tape");
	if (options.level < 1 || options.level > LEVEL_MAX)
		return err_new(ERR_USAGE, "--level must be from 1 to %d", LEVEL_MAX);
	out = options.output ? options.output : argv[1];
	err = output_check_file(options.output, options.force);
	if (!err)
		err = repack_replace(argv[1], out, (int)options.level, &repacked);
	if (err)
		return err;
	if (!options.quiet)
		print_result(out, &repacked);
	*exit_code = repacked.damage_count ? EXIT_FINDINGS : EXIT_OK;
	return NULL;
}

const struct command cmd_repack = {
	.name = "repack",
	.summary = "make a tape smaller",
	.options = {
		.usage = "memtape repack [options] TAPE",
		.about = "Compresses the chunks of TAPE, where `memtape record` did not: programs recorded without it, children, or --no-compress. Of a damaged TAPE what can be read is kept, and the exit code is 1.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = repack_run,
};
