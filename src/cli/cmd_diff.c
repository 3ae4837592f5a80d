/*
 * diff: differences between two tapes, or two moments of one.
 */
#include "report/diff.h"

#include "cli/command.h"
#include "cli/diff_picture.h"
#include "cli/diff_times.h"
#include "cli/flame_options.h"
#include "cli/input.h"
#include "cli/reading.h"
#include "cli/session_operand.h"
#include "cli/suppressing.h"
#include "report/diff_tree.h"
#include "select/moment.h"

enum { TO_REPORT = -1, TO_FLAMEGRAPH, TO_FOLDED, TO_JSON, TO_HTML };

static const char *const to_words[] = { "flamegraph", "folded", "json", "html", NULL };

struct diff_options {
	int by;	    /* -1: not given */
	int metric; /* -1: chosen from the other options */
	const char *at;
	const char *between;
	struct reading_part_options part; /* applies to both sides */
	struct suppressing_options suppressing;
	const char *per;
	const char *fail_if;
	uint64_t top;
	bool json;
	bool csv;
	int frames; /* enum walk_mode */
	int to;	    /* TO_REPORT: rows */
	bool negate;
	struct flame_look_options look;
	const char *output;
	bool force;
	struct reading_symbol_options symbols;
};

static const struct option_row rows[] = {
	{ "by", 'b', "WHAT", OPTION_CHOICE, offsetof(struct diff_options, by),
	  "what a row stands for; default: function", diff_by_words },
	{ "metric", 'm', "WHAT", OPTION_CHOICE, offsetof(struct diff_options, metric),
	  "what is compared; default: peak (allocated with --between, live with --at)",
	  metric_words_all },
	{ "at", 0, "T[,T]", OPTION_TEXT, offsetof(struct diff_options, at),
	  "compare what was alive at a moment (1.5s, 75%, peak, mark(NAME)) of A and of B" },
	{ "between", 0, "T..T[,T..T]", OPTION_TEXT, offsetof(struct diff_options, between),
	  "compare what was allocated in a time range of A and of B" },
	READING_PART_OPTIONS(struct diff_options, part),
	SUPPRESSING_OPTIONS(struct diff_options, suppressing),
	{ "per", 0, "N[:N]", OPTION_TEXT, offsetof(struct diff_options, per),
	  "divide values by units of work done by A and by B" },
	{ "fail-if", 0, "CONDITIONS", OPTION_TEXT, offsetof(struct diff_options, fail_if),
	  "exit with 1 if B exceeds A by more than this: peak>5%,leaked>0,allocated>1MiB" },
	{ "top", 'n', "N", OPTION_U64, offsetof(struct diff_options, top),
	  "show the first N differences" },
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct diff_options, json),
	  "JSON with a stable schema" },
	{ "csv", 0, NULL, OPTION_FLAG, offsetof(struct diff_options, csv),
	  "CSV with a header row" },
	{ "to", 't', "WHAT", OPTION_CHOICE, offsetof(struct diff_options, to),
	  "all stacks instead of rows: a flame graph (SVG), folded stacks with two counts, a tree "
	  "(json), or a page with everything (html)",
	  to_words },
	{ "negate", 0, NULL, OPTION_FLAG, offsetof(struct diff_options, negate),
	  "flame graph: swap colours, as if B were before A" },
	FLAME_LOOK_OPTIONS(struct diff_options, look),
	READING_FRAMES_OPTION(struct diff_options, frames),
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct diff_options, output),
	  "write to FILE" },
	OUTPUT_FORCE_OPTION(struct diff_options, force),
	READING_SYMBOL_OPTIONS(struct diff_options, symbols),
};

enum part { PART_WHOLE, PART_MOMENT, PART_SPAN };

/* The request, as far as it can be checked without a tape. */
struct diff_question {
	const char *paths[DIFF_SIDES];
	struct selection_settings selection; /* for both sides */
	struct suppressing suppressing;
	enum part part;
	bool is_paired;			    /* PART_MOMENT: the usual moments of one tape */
	char *texts[DIFF_SIDES];	    /* each side's text, as the user wrote it */
	struct moment moments[DIFF_SIDES];  /* PART_MOMENT */
	struct parameters with[DIFF_SIDES]; /* selection parameters of each side */
	char *ends[DIFF_SIDES][2];	    /* PART_SPAN: from and until */
	uint64_t units[DIFF_SIDES];
	struct gate gate;
	struct diff_settings settings;
	struct report_settings report;
	int to;
	struct flame_look look; /* TO_FLAMEGRAPH */
	const char *title;	/* title from the user; NULL: none */
	const char *subtitle;
};

static void question_deinit(struct diff_question *question)
{
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		free(question->texts[side]);
		free(question->ends[side][0]);
		free(question->ends[side][1]);
	}
	suppressing_deinit(&question->suppressing);
}

CLEAN_DEFINE_DEINIT(question_deinit, struct diff_question);

static struct err *part_parse(const struct diff_options *options, struct diff_question *question)
{
	const char *text = options->at ? options->at : options->between;
	struct err *err;

	if (options->at && options->between)
		return err_new(ERR_USAGE, "--at and --between exclude each other");
	if (!text)
		return NULL;
	question->part = options->at ? PART_MOMENT : PART_SPAN;
	err = diff_times_split(text, question->texts);
	for (unsigned side = 0; side < DIFF_SIDES && !err; side++)
		err = options->at ? moment_parse(question->texts[side], &question->moments[side])
				  : diff_span_split(question->texts[side], question->ends[side]);
	return err_wrap(err, options->at ? "--at" : "--between");
}

/* Fills the selection parameters of each side. */
static void with_fill(const struct diff_options *options, struct diff_question *question)
{
	const struct selection_settings part = reading_part(&options->part);

	question->selection = part;
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const bool is_span = question->part == PART_SPAN;

		question->with[side] = (struct parameters) {
			.filter = part.filter,
			.from = is_span ? question->ends[side][0] : part.from,
			.until = is_span ? question->ends[side][1] : part.until,
		};
	}
}

static struct err *units_parse(const char *text, uint64_t *units)
{
	const char *colon = text ? strchr(text, ':') : NULL;
	CLEAN(free) char *first = NULL;

	units[DIFF_A] = units[DIFF_B] = 1;
	if (!text)
		return NULL;
	first = colon ? strndup(text, (size_t)(colon - text)) : strdup(text);
	if (!first)
		return err_nomem();
	if (!str_parse_u64(first, &units[DIFF_A]) ||
	    !str_parse_u64(colon ? colon + 1 : text, &units[DIFF_B]) || units[DIFF_A] == 0 ||
	    units[DIFF_B] == 0 || u64_max(units[DIFF_A], units[DIFF_B]) > GATE_UNITS_MAX)
		return err_new(ERR_USAGE, "--per %s: expected N or N:N, from 1 to %d", text,
			       (int)GATE_UNITS_MAX);
	return NULL;
}

static struct err *paths_take(struct diff_question *question, int operand_count, char **argv,
			      const char **paths)
{
	if (operand_count < 1 || operand_count > 2)
		return err_new(ERR_USAGE, "expected two tapes, or one tape and two times");
	question->is_paired = operand_count == 1 && question->part == PART_WHOLE;
	if (question->is_paired)
		question->part = PART_MOMENT;
	else if (operand_count == 1 &&
		 strcmp(question->texts[DIFF_A], question->texts[DIFF_B]) == 0)
		return err_new(
			ERR_USAGE,
			"one tape is compared at two times: --at T,T or --between T..T,T..T");
	paths[DIFF_A] = argv[1];
	paths[DIFF_B] = argv[operand_count];
	return NULL;
}

static struct err *look_parse(const struct diff_options *options, struct flame_look *look)
{
	look->is_negated = options->negate;
	if (options->to != TO_FLAMEGRAPH &&
	    (options->negate || flame_look_is_asked(&options->look)))
		return err_new(
			ERR_USAGE,
			"--negate, --title and other flame graph options need --to flamegraph");
	return flame_look_make(&options->look, look);
}

/* Sums of some metrics have no temporary allocations. */
static struct err *gate_check(const struct diff_settings *settings)
{
	for (size_t i = 0; settings->gate && i < settings->gate->count; i++)
		if (settings->gate->conditions[i].metric == METRIC_TEMPORARY &&
		    !metric_is_member(settings->metric))
			return err_new(ERR_USAGE, "--fail-if temporary excludes --metric %s",
				       metric_words_all[settings->metric]);
	return NULL;
}

static struct err *question_parse(const struct diff_options *options, int operand_count,
				  char **argv, struct diff_question *question)
{
	struct diff_settings *settings = &question->settings;
	struct err *err = reading_format(options->json, options->csv, &question->report.format);

	if (!err)
		err = part_parse(options, question);
	if (!err)
		err = paths_take(question, operand_count, argv, question->paths);
	if (!err && options->metric == METRIC_LIVE && question->part != PART_MOMENT)
		err = err_new(ERR_USAGE, "--metric live needs two times: --at T,T");
	if (!err)
		err = units_parse(options->per, question->units);
	with_fill(options, question);
	if (!err && question->part == PART_SPAN && (options->part.from || options->part.until))
		err = err_new(ERR_USAGE, "--between excludes --from and --until");
	if (!err)
		err = selection_check(&question->selection);
	if (!err && options->to != TO_REPORT &&
	    (options->json || options->csv || options->by >= 0 || options->top > 0))
		err = err_new(ERR_USAGE,
			      "--to excludes --by, --top, --json and --csv, which are for rows");
	if (!err)
		err = look_parse(options, &question->look);
	if (!err)
		err = suppressing_load(&question->suppressing, &options->suppressing);
	if (!err && options->fail_if)
		err = err_wrap(gate_parse(options->fail_if, &question->gate), "--fail-if");
	if (err)
		return err;
	question->report.with = question->with[DIFF_A];
	question->report.with.top = options->top;
	settings->mode = (enum walk_mode)options->frames;
	settings->by = options->by >= 0 ? (enum diff_by)options->by : DIFF_BY_FUNCTION;
	question->to = options->to;
	question->title = options->look.title;
	question->subtitle = options->look.subtitle;
	settings->metric = question->part == PART_SPAN ? METRIC_ALLOCATED : METRIC_PEAK;
	if (options->metric >= 0 && options->metric != METRIC_LIVE)
		settings->metric = (enum metric)options->metric;
	settings->is_live = question->part == PART_MOMENT;
	settings->gate = options->fail_if ? &question->gate : NULL;
	return gate_check(settings);
}

static struct err *time_find(const char *text, const struct model *model, uint64_t *ns)
{
	struct moment moment;
	struct err *err = text ? moment_parse(text, &moment) : NULL;

	return text && !err ? moment_ns(&moment, model, ns) : err;
}

/* Finds the start and end of the span, or the moment. */
static struct err *times_find(const struct diff_question *question, unsigned side,
			      struct diff_subject *subject)
{
	struct err *err;

	subject->until_ns = MODEL_NEVER;
	if (question->part == PART_MOMENT)
		return moment_ns(&question->moments[side], subject->model, &subject->until_ns);
	err = time_find(question->with[side].from, subject->model, &subject->from_ns);
	return err ? err
		   : time_find(question->with[side].until, subject->model, &subject->until_ns);
}

static struct err *sums_make(const struct diff_question *question, unsigned side,
			     struct suppressor *suppressor, struct arena *arena,
			     struct diff_subject *subject)
{
	struct selection_settings wanted = question->selection;
	struct err *err = times_find(question, side, subject);

	wanted.from = question->with[side].from;
	wanted.until = question->with[side].until;
	wanted.suppressor = suppressor;
	wanted.ignores_leaks = question->settings.is_live;
	if (!err)
		err = selection_make(subject->model, subject->names, &wanted, arena,
				     &subject->selection);
	return err ? err : diff_subject_sum(subject, &question->settings, arena);
}

static enum model_depth diff_question_depth(const struct diff_question *question)
{
	return question->part != PART_WHOLE || selection_needs_rows(&question->selection) ||
			       diff_needs_rows(&question->settings)
		       ? MODEL_FULL
		       : MODEL_SUMMARY;
}

/* An open tape. */
struct tape {
	struct model *model;
	struct names *names;
	struct reading_symbols symbols;
	struct suppressor suppressor;
};

static void tape_deinit(struct tape *tape)
{
	suppressor_deinit(&tape->suppressor);
	names_destroy(tape->names);
	model_destroy(tape->model);
	reading_symbols_deinit(&tape->symbols);
}

CLEAN_DEFINE_DEINIT(tape_deinit, struct tape);

static struct err *tape_open(struct tape *tape, const char *path, enum model_depth depth,
			     const struct model_settings *how,
			     const struct reading_symbol_options *options,
			     const struct suppressions *suppressions)
{
	struct err *err = reading_symbols_init(&tape->symbols, options, path);

	if (!err)
		err = reading_model(path, depth, how, &tape->model);
	if (err)
		return err;
	tape->names = names_create(tape->model, &tape->symbols.options);
	if (!tape->names)
		return err_nomem();
	suppressor_init(&tape->suppressor, tape->model, tape->names, suppressions);
	return NULL;
}

/* Writes stacks instead of rows. */
static struct err *stacks_write(const struct diff_question *question,
				const struct diff_found *found, struct arena *arena, FILE *out)
{
	const struct diff_settings *settings = &question->settings;
	struct diff_tree tree;
	struct err *err =
		diff_tree_build(found->sides, settings->mode, settings->metric, arena, &tree);
	const struct diff_picture_question picture = {
		.found = found,
		.tree = &tree,
		.filter = question->selection.filter,
		.title = question->title,
		.subtitle = question->subtitle,
		.look = question->look,
	};

	if (err)
		return err;
	switch (question->to) {
	case TO_FLAMEGRAPH:
		return diff_picture_write(&picture, out);
	case TO_HTML:
		return diff_picture_write_page(&picture, out);
	case TO_FOLDED:
		return diff_tree_write_folded(&tree, out);
	default:
		return diff_tree_write_json(&tree, out);
	}
}

/* The moments that nobody chose. */
static struct err *pair_take(struct diff_question *question, const struct model *model,
			     struct arena *arena)
{
	struct diff_pair pair;
	struct err *err = diff_pair_find(model, arena, &pair);

	for (unsigned side = 0; side < DIFF_SIDES && !err; side++) {
		question->texts[side] = strdup(pair.moments[side]);
		err = question->texts[side]
			      ? moment_parse(question->texts[side], &question->moments[side])
			      : err_nomem();
	}
	if (!err)
		question->settings.pair = pair.words;
	return err;
}

static struct err *found_write(const struct diff_question *question,
			       const struct diff_subject *subjects, struct arena *arena,
			       bool *fails_ret, FILE *out)
{
	struct diff_found found = diff_begin(subjects, &question->settings);
	struct err *err = NULL;

	if (question->to == TO_REPORT || question->to == TO_HTML)
		err = diff_compare(subjects, &question->settings, arena, &found);
	if (err)
		return err;
	*fails_ret = diff_is_failed(&found);
	return question->to == TO_REPORT ? diff_report(&found, &question->report, out)
					 : stacks_write(question, &found, arena, out);
}

static struct err *diff_answer(struct diff_question *question,
			       const struct reading_symbol_options *options, bool *fails_ret,
			       FILE *out)
{
	const enum model_depth depth = diff_question_depth(question);
	const bool is_one = question->paths[DIFF_A] == question->paths[DIFF_B];
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(tape_deinit) struct tape first = { 0 };
	CLEAN(tape_deinit) struct tape second = { 0 };
	struct diff_subject subjects[DIFF_SIDES];
	const struct suppressions *rules = &question->suppressing.rules;
	const struct model_settings how = {
		.subject = selection_subject(question->selection.filter),
	};
	struct err *err = tape_open(&first, question->paths[DIFF_A], depth, &how, options, rules);

	if (!err && !is_one)
		err = tape_open(&second, question->paths[DIFF_B], depth, &how, options, rules);
	if (!err && question->is_paired)
		err = pair_take(question, first.model, &arena);
	for (unsigned side = 0; side < DIFF_SIDES && !err; side++) {
		struct tape *tape = side == DIFF_A || is_one ? &first : &second;

		subjects[side] = (struct diff_subject) {
			.model = tape->model,
			.names = tape->names,
			.tape = question->paths[side],
			.with = &question->with[side],
			.moment = question->texts[side],
			.units = question->units[side],
		};
		err = sums_make(question, side, &tape->suppressor, &arena, &subjects[side]);
	}
	return err ? err : found_write(question, subjects, &arena, fails_ret, out);
}

static struct err *diff_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct diff_options options = { .metric = -1, .by = -1, .to = TO_REPORT };
	CLEAN(question_deinit) struct diff_question question = { 0 };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct reading_output output;
	int operand_count = 0;
	bool fails = false;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	if (!err)
		err = session_operands(argv + 1, (size_t)operand_count, &arena);
	if (!err)
		err = question_parse(&options, operand_count, argv, &question);
	if (!err && (options.to == TO_FLAMEGRAPH || options.to == TO_HTML) && !options.output &&
	    isatty(STDOUT_FILENO))
		err = err_new(ERR_USAGE, "expected -o FILE; an HTML page is not for a terminal");
	if (!err)
		err = reading_output_check(options.output, question.paths[DIFF_A]);
	if (!err)
		err = reading_output_open(&output, options.output, options.force,
					  question.paths[DIFF_B]);
	if (err)
		return err;
	question.report.colour = reading_wants_colour(output.file);
	question.report.width = reading_width(output.file);
	err = reading_output_close(&output,
				   diff_answer(&question, &options.symbols, &fails, output.file));
	if (!err && fails)
		*exit_code = EXIT_FINDINGS;
	return err;
}

const struct command cmd_diff = {
	.name = "diff",
	.summary = "compare two tapes, or two moments of one",
	.options = {
		.usage = "memtape diff A B [options]",
		.about = "Compares two tapes: what grew or shrank from A to B, and which functions caused it. Functions and libraries are matched by name, so load addresses and line numbers do not matter. With one tape, two moments of it are compared: those of --at, or the first and the last mark, or what suits the tape.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = diff_run,
};
