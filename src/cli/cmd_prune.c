/*
 * prune: removes the oldest tapes of a folder, by size, age or number.
 */
#include "answer/speak.h"
#include "cli/command.h"
#include "cli/keeping.h"
#include "cli/reading.h"
#include "tapes/pruned.h"

struct prune_options {
	struct option_list keep;
	bool dry_run;
	bool json;
	bool quiet;
};

static const struct option_row rows[] = {
	KEEPING_OPTION(struct prune_options, keep),
	{ "dry-run", 'n', NULL, OPTION_FLAG, offsetof(struct prune_options, dry_run),
	  "remove nothing, and show what would be removed" },
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct prune_options, json),
	  "JSON with a stable schema" },
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct prune_options, quiet),
	  "print errors only" },
};

static void sums_emit(struct emit *emit, const struct pruned *pruned)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_counted(&text, pruned->removed_count, "tape");
	str_add(&text, pruned->dry_run ? " would be removed, " : " removed, ");
	str_add_iec(&text, pruned->removed_bytes);
	str_add(&text, "; ");
	str_add_grouped(&text, pruned->kept_count);
	str_add(&text, " kept, ");
	str_add_iec(&text, pruned->kept_bytes);
	if (pruned->in_use_count > 0) {
		str_add(&text, "; ");
		str_add_grouped(&text, pruned->in_use_count);
		str_add(&text, " of them in use");
	}
	if (pruned->failed_count > 0) {
		str_add(&text, "; ");
		str_add_grouped(&text, pruned->failed_count);
		str_add(&text, " could not be removed");
	}
	emit_prose(emit, str_text(&text));
}

static struct err *pruned_write(const struct prune_options *options, const struct pruned *pruned)
{
	const struct emit_settings settings = {
		.format = options->json ? EMIT_JSON : EMIT_TEXT,
		.colour = reading_wants_colour(stdout),
		.width = reading_width(stdout),
	};
	CLEAN(emit_destroy) struct emit *emit = NULL;
	struct speaker speaker = { 0 };
	struct err *err = NULL;

	if (options->quiet)
		return NULL;
	emit = emit_create(stdout, &settings);
	if (!emit)
		return err_nomem();
	speaker.emit = emit;
	if (options->json)
		err = speak_object(&speaker, &shape_pruned, pruned);
	else if (pruned->tapes.count > 0)
		err = speak_table(&speaker, &shape_pruned, pruned);
	if (!err && !options->json)
		sums_emit(emit, pruned);
	return err ? err : emit_finish(emit);
}

static struct err *prune_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct prune_options options = { .json = false };
	CLEAN(folder_close) struct folder folder = { .count = 0 };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct keep_rules rules;
	struct pruned pruned;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	if (!err && operand_count != 1)
		err = err_new(ERR_USAGE, "expected one folder");
	if (!err && options.keep.count == 0)
		err = err_new(ERR_USAGE, "--keep is missing: how much is to be kept");
	if (!err)
		err = keeping_rules(&options.keep, argv[1], &rules);
	if (!err)
		err = folder_read(argv[1], &folder);
	if (!err)
		err = pruned_make(&folder, &rules, keeping_now_ns(), options.dry_run, &arena,
				  &pruned);
	if (err)
		return err;
	if (pruned.failed_count > 0)
		*exit_code = EXIT_FINDINGS;
	return pruned_write(&options, &pruned);
}

const struct command cmd_prune = {
	.name = "prune",
	.summary = "remove the oldest tapes of a folder",
	.options = {
		.usage = "memtape prune FOLDER --keep RULE... [options]",
		.about = "Removes the oldest tapes of a folder until it keeps no more than the rules say. Tapes that are being written or received stay, and so does the one that was written last. A session goes as a whole; files that are no tapes and symbolic links are left alone.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = prune_run,
};
