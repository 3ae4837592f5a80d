/*
 * index: builds the index that other commands would build on first use.
 */
#include <stdio.h>
#include <time.h>

#include "base/monotonic.h"
#include "cli/command.h"
#include "cli/reading.h"
#include "model/model.h"

enum { MEMORY_MIN = 64 << 20 };

struct index_options {
	uint64_t memory;
	bool force;
	bool json;
	bool quiet;
};

static const struct option_row rows[] = {
	{ "memory", 'm', "SIZE", OPTION_BYTES, offsetof(struct index_options, memory),
	  "approximate memory to use; at least 64m, default: 1g" },
	{ "force", 'f', NULL, OPTION_FLAG, offsetof(struct index_options, force),
	  "recreate it even if it is up to date" },
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct index_options, json), "print JSON" },
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct index_options, quiet),
	  "print errors only" },
};

struct made {
	const struct model *model;
	uint64_t took_ns;
};

static struct err *print_text(const struct made *made)
{
	const uint64_t events = model_totals(made->model)->event_count;
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_terminal(&text, model_index_path(made->model));
	str_add(&text, ": ");
	str_add_iec(&text, model_index_bytes(made->model));
	str_add(&text, ", ");
	str_add_counted(&text, model_row_count(made->model), "allocation");
	if (model_index_is_new(made->model)) {
		str_add(&text, "; ");
		str_add_counted(&text, events, "event");
		str_add(&text, " in ");
		str_add_duration(&text, made->took_ns);
	} else {
		str_add(&text, "; fits the tape, nothing was to be done");
	}
	if (text.failed)
		return err_nomem();
	printf("%s\n", str_text(&text));
	return NULL;
}

static struct err *print_json(const struct made *made)
{
	const struct emit_settings settings = { .format = EMIT_JSON };
	CLEAN(emit_destroy) struct emit *emit = emit_create(stdout, &settings);

	if (!emit)
		return err_nomem();
	emit_object(emit, NULL);
	emit_text(emit, "path", model_index_path(made->model));
	emit_bool(emit, "made", model_index_is_new(made->model));
	emit_u64(emit, "file_bytes", model_index_bytes(made->model), EMIT_BYTES);
	emit_u64(emit, "events", model_totals(made->model)->event_count, EMIT_COUNT);
	emit_u64(emit, "allocations", model_row_count(made->model), EMIT_COUNT);
	emit_u64(emit, "took_ns", made->took_ns, EMIT_DURATION);
	emit_end(emit);
	return emit_finish(emit);
}

static struct err *index_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct index_options options = { .memory = UINT64_C(1) << 30 };
	CLEAN(model_destroy) struct model *model = NULL;
	struct model_settings settings = { 0 };
	const uint64_t begin = monotonic_ns();
	int operand_count = 0;
	struct made made;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (err)
		return err;
	if (operand_count != 1)
		return err_new(ERR_USAGE, "expected one tape");
	if (options.memory < MEMORY_MIN)
		return err_new(ERR_USAGE, "--memory must be at least 64m");
	settings.index = options.force ? MODEL_INDEX_ANEW : MODEL_INDEX_KEEP;
	settings.memory_bytes = options.memory;
	err = reading_model(argv[1], MODEL_FULL, &settings, &model);
	if (err)
		return err;
	made = (struct made) { model, monotonic_ns() - begin };
	if (options.quiet)
		return NULL;
	return options.json ? print_json(&made) : print_text(&made);
}

const struct command cmd_index = {
	.name = "index",
	.summary = "create the index of a large tape",
	.options = {
		.usage = "memtape index [options] TAPE",
		.about = "Creates TAPE.index (in the user's cache folder if TAPE's folder is not writable), which makes other commands fast. They create it themselves when needed; this command only chooses when to wait for it.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = index_run,
};
