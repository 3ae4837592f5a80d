/*
 * list: which tapes there are in a folder. Only what is asked for is read: names and ages of ten
 * thousand tapes cost as many first pages.
 */
#include "answer/speak.h"
#include "cli/command.h"
#include "cli/keeping.h"
#include "cli/reading.h"
#include "tapes/tapes.h"

enum { TOP_DEFAULT = 50 };

struct list_options {
	struct tapes_wanted wanted;
	int sort;
	bool all;
	bool reads;
	bool json, csv;
};

static const struct option_row rows[] = {
	{ "find", 'f', "WORDS", OPTION_TEXT, offsetof(struct list_options, wanted.find),
	  "only tapes in whose name, program, command line, host or build-id these words occur" },
	{ "program", 'p', "NAME", OPTION_TEXT, offsetof(struct list_options, wanted.program),
	  "only tapes of this program" },
	{ "host", 0, "NAME", OPTION_TEXT, offsetof(struct list_options, wanted.host),
	  "only tapes of this host" },
	{ "newer", 0, "AGE", OPTION_AGE, offsetof(struct list_options, wanted.newer_ns),
	  "only tapes that were written since, as 90min, 12h, 30d or 2w" },
	{ "older", 0, "AGE", OPTION_AGE, offsetof(struct list_options, wanted.older_ns),
	  "only tapes that were not" },
	{ "larger", 0, "SIZE", OPTION_BYTES, offsetof(struct list_options, wanted.larger_bytes),
	  "only tapes of this size or more" },
	{ "live", 0, NULL, OPTION_FLAG, offsetof(struct list_options, wanted.is_live),
	  "only tapes that are being written" },
	{ "sort", 's', "KEY", OPTION_CHOICE, offsetof(struct list_options, sort),
	  "by age (default), begin, duration, host, live, peak, program or size; the newest, the "
	  "largest or the first of the alphabet first",
	  tapes_sort_words },
	{ "reverse", 'r', NULL, OPTION_FLAG, offsetof(struct list_options, wanted.reverse),
	  "the other way round" },
	{ "top", 'n', "N", OPTION_U64, offsetof(struct list_options, wanted.limit),
	  "show N tapes (default: 50; as JSON and CSV: all)" },
	{ "all", 'a', NULL, OPTION_FLAG, offsetof(struct list_options, all), "show all" },
	{ "read", 0, NULL, OPTION_FLAG, offsetof(struct list_options, reads),
	  "read the tapes that are shown: how long was recorded, the peak, what was live" },
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct list_options, json),
	  "JSON with a stable schema" },
	{ "csv", 0, NULL, OPTION_FLAG, offsetof(struct list_options, csv),
	  "CSV with a header row" },
};

/* A folder as it is, and what was read of its tapes. */
struct listed {
	struct folder folder;
	struct gist *gists;
	const char **troubles; /* in the arena */
	struct gists_view view;
	struct arena arena;
};

static void listed_deinit(struct listed *listed)
{
	for (size_t i = 0; listed->gists && i < listed->folder.count; i++)
		gist_deinit(&listed->gists[i]);
	free(listed->gists);
	folder_close(&listed->folder);
	arena_deinit(&listed->arena);
}
CLEAN_DEFINE_DEINIT(listed_deinit, struct listed);

static struct err *listed_init(struct listed *listed, const char *path)
{
	struct err *err = folder_read(path, &listed->folder);
	const size_t count = listed->folder.count;

	if (err)
		return err;
	listed->gists = calloc(count + 1, sizeof(*listed->gists));
	listed->view = (struct gists_view) {
		.path = listed->folder.path,
		.rows = arena_array(&listed->arena, count + 1, sizeof(*listed->view.rows)),
		.count = count,
	};
	if (!listed->gists || !listed->view.rows)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		listed->view.rows[i] =
			(struct gists_row) { .tape = &listed->folder.tapes[i],
					     .trouble = listed->folder.tapes[i].trouble };
	return NULL;
}

/* What cannot be read is part of the answer. */
static struct err *row_read(struct listed *listed, size_t index, enum gist_depth depth)
{
	struct gists_row *row = &listed->view.rows[index];
	struct gist *gist = &listed->gists[index];
	CLEAN(err_destroy) struct err *err = NULL;

	if (row->trouble || gist->depth >= depth)
		return NULL;
	gist_deinit(gist);
	err = gist_read(row->tape, depth, gist);
	if (!err) {
		row->gist = gist;
		return NULL;
	}
	row->gist = NULL;
	row->trouble = arena_strdup(&listed->arena, err_message(err));
	return row->trouble ? NULL : err_nomem();
}

static struct err *answer_find(const struct list_options *options, struct listed *listed,
			       struct tapes_answer *answer)
{
	const enum gist_depth needed = tapes_need(&options->wanted);
	const uint64_t now = keeping_now_ns();
	const uint32_t *chosen = NULL;
	size_t chosen_count = 0;
	uint64_t match_count = 0;
	struct err *err = NULL;

	for (size_t i = 0; i < listed->view.count && needed != GIST_NONE && !err; i++)
		err = row_read(listed, i, needed);
	if (!err)
		err = tapes_choose(listed->view.rows, listed->view.count, &options->wanted, now,
				   &listed->arena, &chosen, &chosen_count, &match_count);
	for (size_t i = 0; i < chosen_count && !err; i++)
		err = row_read(listed, chosen[i], options->reads ? GIST_WHOLE : GIST_TITLE);
	return err ? err
		   : tapes_make(&listed->view, chosen, chosen_count, match_count, now,
				&listed->arena, answer);
}

static void rest_emit(struct emit *emit, const struct tapes_answer *answer)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_counted(&text, answer->count, "tape");
	str_add(&text, ", ");
	str_add_iec(&text, answer->size_bytes);
	if (answer->match_count < answer->count) {
		str_add(&text, "; asked for: ");
		str_add_grouped(&text, answer->match_count);
	}
	if (answer->tapes.count < answer->match_count) {
		str_add(&text, "; the first ");
		str_add_grouped(&text, answer->tapes.count);
		str_add(&text, " are shown, --all shows all");
	}
	emit_prose(emit, str_text(&text));
}

static struct err *answer_write(const struct list_options *options,
				const struct tapes_answer *answer)
{
	const struct emit_settings settings = {
		.format = options->json	 ? EMIT_JSON
			  : options->csv ? EMIT_CSV
					 : EMIT_TEXT,
		.colour = reading_wants_colour(stdout),
		.width = reading_width(stdout),
	};
	CLEAN(emit_destroy) struct emit *emit = emit_create(stdout, &settings);
	const struct speaker speaker = { .emit = emit };
	struct err *err;

	if (!emit)
		return err_nomem();
	if (options->json)
		err = speak_object(&speaker, &shape_tapes, answer);
	else
		err = speak_table(&speaker, &shape_tapes, answer);
	if (!err && !options->json && !options->csv)
		rest_emit(emit, answer);
	return err ? err : emit_finish(emit);
}

static struct err *list_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct list_options options = { .sort = TAPES_BY_AGE };
	CLEAN(listed_deinit) struct listed listed = { .gists = NULL };
	struct tapes_answer answer;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (!err && operand_count > 1)
		err = err_new(ERR_USAGE, "expected one folder");
	if (!err && options.json && options.csv)
		err = err_new(ERR_USAGE, "--json or --csv, not both");
	if (err)
		return err;
	options.wanted.sort = (enum tapes_sort)options.sort;
	if (options.all)
		options.wanted.limit = 0;
	else if (options.wanted.limit == 0 && !options.json && !options.csv)
		options.wanted.limit = TOP_DEFAULT;
	err = listed_init(&listed, operand_count > 0 ? argv[1] : ".");
	if (!err)
		err = answer_find(&options, &listed, &answer);
	return err ? err : answer_write(&options, &answer);
}

const struct command cmd_list = {
	.name = "list",
	.summary = "list the tapes in a folder",
	.options = {
		.usage = "memtape list [FOLDER] [options]",
		.about = "Lists the tapes in a folder (default: the working directory): complete ones, those that are being written, recordings of process trees, and such as cannot be read.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = list_run,
};
