/*
 * verify: checks whether a tape is whole. Every chunk is decoded and compared with its own header.
 */
#include "answer/speak.h"
#include "cli/command.h"
#include "cli/reading.h"
#include "cli/foreign.h"
#include "report/verification.h"

struct verify_options {
	bool json;
	bool quiet;
};

static const struct option_row rows[] = {
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct verify_options, json), "print JSON" },
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct verify_options, quiet),
	  "print nothing; only set the exit code" },
};

static struct err *json_write(const struct verification *found, FILE *out)
{
	CLEAN(emit_destroy)
	struct emit *emit = emit_create(out, &(struct emit_settings) { .format = EMIT_JSON });
	const struct speaker speaker = { .emit = emit };
	struct err *err = emit ? speak_object(&speaker, &shape_verification, found) : err_nomem();

	return err ? err : emit_finish(emit);
}

/* Reads only the capture, so tapes too damaged for a model can be verified. */
static struct err *verify_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct verify_options options = { 0 };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct verification found;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	if (err)
		return err;
	if (operand_count != 1)
		return err_new(ERR_USAGE, "expected one tape");
	err = foreign_explain(capture_open(argv[1], &capture), argv[1]);
	if (!err)
		err = verification_find(capture, &arena, &found);
	if (err)
		return err;
	if (!found.sound)
		*exit_code = EXIT_FINDINGS;
	if (options.json)
		return json_write(&found, stdout);
	return options.quiet ? NULL
			     : verification_write(&found, argv[1], reading_width(stdout), stdout);
}

const struct command cmd_verify = {
	.name = "verify",
	.summary = "check the integrity of a tape",
	.options = {
		.usage = "memtape verify TAPE [options]",
		.about = "Decodes every chunk of a tape, checks checksums and counts, and reports the offset of any damage. The exit code is 0 for a sound tape and 1 for a damaged one.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = verify_run,
};
