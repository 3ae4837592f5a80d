#include "answer/diff.h"

#include <assert.h>

#include "answer/about.h"
#include "answer/frame.h"
#include "answer/program.h"
#include "groups/measure.h"
#include "select/sums_rows.h"
#include "sums/name_hash.h"

/* --- shapes --------------------------------------------------------------------------------- */

struct change {
	const char *metric;
	double a, b, difference;
};

struct diff_sums {
	uint64_t peak_bytes, peak_count;
	uint64_t leaked_bytes, leaked_count;
	uint64_t allocated_bytes, allocated_count;
	uint64_t temporary_bytes, temporary_count;
};

struct row_value {
	uint64_t hash;
	const char *function, *brief, *module, *file, *caller, *caller_brief;
	uint64_t line;
	const char *status;
	double a, b, difference;
	uint64_t a_count, b_count;
	struct diff_sums sums[DIFF_SIDES];
	struct shape_rows stack;
};

struct diff_side_value {
	const char *id, *tape, *name, *exe;
	uint64_t from_ns, until_ns, units;
	double total;
	uint64_t count;
	struct diff_sums sums;
	uint64_t suppressed_bytes, suppressed_count;
	struct quality quality;
};

struct diff_counts {
	uint64_t of[DIFF_SAME + 1];
};

struct diff_value {
	const char *by, *metric, *unit, *pair, *verdict;
	struct shape_rows totals;
	const struct row_value *main;
	const struct diff_below *below;
	struct diff_counts counts;
	struct shape_rows rows, conditions;
	const struct diff_side_value *sides[DIFF_SIDES];
};

static const struct member change_members[] = {
	MEMBER(struct change, a, AMOUNT, "of A, for one unit of work"),
	MEMBER(struct change, b, AMOUNT, "of B"),
	MEMBER(struct change, difference, AMOUNT, "of B, less that of A"),
};
static const struct shape shape_change = SHAPE("DiffTotal", struct change, change_members);

#define SUM_MEMBERS(type, place, side)                                                             \
	MEMBER_AS("peak_bytes" side, type, place.peak_bytes, BYTES, NULL),                         \
		MEMBER_AS("peak_count" side, type, place.peak_count, COUNT, NULL),                 \
		MEMBER_AS("leaked_bytes" side, type, place.leaked_bytes, BYTES, NULL),             \
		MEMBER_AS("leaked_count" side, type, place.leaked_count, COUNT, NULL),             \
		MEMBER_AS("allocated_bytes" side, type, place.allocated_bytes, BYTES, NULL),       \
		MEMBER_AS("allocated_count" side, type, place.allocated_count, COUNT, NULL),       \
		MEMBER_AS("temporary_bytes" side, type, place.temporary_bytes, BYTES,              \
			  "null: other sums were made for the metric", .nullable = true),          \
		MEMBER_AS("temporary_count" side, type, place.temporary_count, COUNT, NULL,        \
			  .nullable = true)

static const struct member row_members[] = {
	MEMBER(struct row_value, function, TEXT, "innermost function; null: a row of a module",
	       .nullable = true),
	MEMBER(struct row_value, brief, TEXT, PLACE_BRIEF_MEANING, .nullable = true,
	       .is_data = true),
	MEMBER(struct row_value, module, TEXT, "short name of the program or library",
	       .nullable = true),
	MEMBER(struct row_value, hash, HASH, "identifies the function", .nullable = true,
	       .is_data = true),
	MEMBER(struct row_value, file, TEXT, "where it allocates", .nullable = true,
	       .is_data = true),
	MEMBER(struct row_value, line, PLAIN, "in that file", .nullable = true, .is_data = true),
	MEMBER(struct row_value, caller, TEXT, "function that called it", .nullable = true,
	       .is_data = true),
	MEMBER(struct row_value, caller_brief, TEXT, "the same, shortened for people",
	       .nullable = true, .is_data = true),
	MEMBER(struct row_value, status, TEXT, NULL, .words = diff_status_words),
	MEMBER(struct row_value, a, AMOUNT, "the metric of A, for one unit of work"),
	MEMBER(struct row_value, b, AMOUNT, "the metric of B"),
	MEMBER(struct row_value, difference, AMOUNT, "of B, less that of A"),
	MEMBER(struct row_value, a_count, COUNT, "allocations behind it", .is_data = true),
	MEMBER(struct row_value, b_count, COUNT, "allocations behind it", .is_data = true),
	SUM_MEMBERS(struct row_value, sums[DIFF_A], "_a"),
	SUM_MEMBERS(struct row_value, sums[DIFF_B], "_b"),
	MEMBER(struct row_value, stack, ROWS, "one with much of it, innermost first",
	       .shape = &shape_frame, .optional = true),
};
static const struct shape shape_row = SHAPE("DiffRow", struct row_value, row_members);

static const struct member side_members[] = {
	MEMBER(struct diff_side_value, id, TEXT, "of the tape, where it is served",
	       .optional = true),
	MEMBER(struct diff_side_value, tape, TEXT, "its path as given, or its name"),
	MEMBER(struct diff_side_value, name, TEXT, "of the program"),
	MEMBER(struct diff_side_value, exe, TEXT, "its path"),
	MEMBER(struct diff_side_value, from_ns, NS, "where what is compared begins"),
	MEMBER(struct diff_side_value, until_ns, NS, "where it ends, or the moment; null: the end",
	       .nullable = true),
	MEMBER(struct diff_side_value, units, COUNT, "of work, by which values are divided"),
	MEMBER(struct diff_side_value, total, AMOUNT, "the metric"),
	MEMBER(struct diff_side_value, count, COUNT, "allocations behind it"),
	SUM_MEMBERS(struct diff_side_value, sums, ""),
	MEMBER(struct diff_side_value, suppressed_bytes, BYTES, "leaks, not in the sums"),
	MEMBER(struct diff_side_value, suppressed_count, COUNT, "blocks of these"),
	MEMBER(struct diff_side_value, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
const struct shape shape_diff_side = SHAPE("DiffSide", struct diff_side_value, side_members);

static const struct member below_members[] = {
	MEMBER(struct diff_below, function, TEXT, "its name"),
	MEMBER(struct diff_below, brief, TEXT, PLACE_BRIEF_MEANING, .is_data = true),
	MEMBER(struct diff_below, file, TEXT, "where it calls; null: not known, or several places",
	       .nullable = true),
	MEMBER(struct diff_below, line, PLAIN, "in that file", .nullable = true),
	MEMBER(struct diff_below, module, TEXT, "path of the program or library"),
	MEMBER(struct diff_below, hash, HASH, "identifies the function"),
	MEMBER(struct diff_below, difference, AMOUNT, "of B, less that of A"),
};
static const struct shape shape_below = SHAPE("DiffBelow", struct diff_below, below_members);

static const struct member count_members[] = {
	MEMBER_AS("new", struct diff_counts, of[DIFF_NEW], COUNT, "only on B's side"),
	MEMBER_AS("gone", struct diff_counts, of[DIFF_GONE], COUNT, "only on A's side"),
	MEMBER_AS("grown", struct diff_counts, of[DIFF_GROWN], COUNT, NULL),
	MEMBER_AS("shrunk", struct diff_counts, of[DIFF_SHRUNK], COUNT, NULL),
	MEMBER_AS("same", struct diff_counts, of[DIFF_SAME], COUNT, "or nothing of the metric"),
};
static const struct shape shape_counts = SHAPE("DiffCounts", struct diff_counts, count_members);

static const char *const unit_words[] = { "bytes", "count", NULL };

static const struct member diff_members[] = {
	MEMBER(struct diff_value, by, TEXT, "what rows are of", .words = diff_by_words),
	MEMBER(struct diff_value, metric, TEXT, "what is compared", .words = metric_words_all),
	MEMBER(struct diff_value, unit, TEXT, "of the metric", .words = unit_words),
	MEMBER(struct diff_value, pair, TEXT, "the moments, if none were given; null: they were",
	       .nullable = true),
	MEMBER(struct diff_value, verdict, TEXT, "what changed, in a sentence"),
	MEMBER(struct diff_value, totals, KEYED, "by metric", .shape = &shape_change),
	MEMBER(struct diff_value, main, OBJECT,
	       "the row that changed most, in the direction of all", .shape = &shape_row,
	       .nullable = true),
	MEMBER(struct diff_value, below, OBJECT,
	       "the innermost function that nearly all of the change is below; null: only main",
	       .shape = &shape_below, .nullable = true),
	MEMBER(struct diff_value, counts, OBJECT, "rows there are", .shape = &shape_counts),
	MEMBER(struct diff_value, rows, ROWS, "those that changed most first", .shape = &shape_row),
	MEMBER(struct diff_value, conditions, ROWS, "of --fail-if", .shape = &shape_diff_condition),
	MEMBER_AS("a", struct diff_value, sides[DIFF_A], OBJECT, NULL, .shape = &shape_diff_side),
	MEMBER_AS("b", struct diff_value, sides[DIFF_B], OBJECT, NULL, .shape = &shape_diff_side),
};
const struct shape shape_diff = SHAPE("Diff", struct diff_value, diff_members);

/* --- the comparison ------------------------------------------------------------------------- */

bool diff_needs_rows(const struct diff_settings *settings)
{
	return settings->is_live || measure_needs_rows(settings->metric);
}

struct err *diff_subject_sum(struct diff_subject *subject, const struct diff_settings *settings,
			     struct arena *arena)
{
	const struct selection *selection = subject->selection;

	assert(selection->model == subject->model);
	if (settings->is_live)
		return sums_at(subject->model, selection, subject->until_ns, arena, &subject->sums);
	subject->suppressed = selection->suppressed_leaks.total;
	return err_wrap(measure_sums(selection, &(struct measure) { .metric = settings->metric },
				     arena, &subject->sums),
			"%s", subject->tape);
}

struct diff_found diff_begin(const struct diff_subject *subjects,
			     const struct diff_settings *settings)
{
	struct diff_found found = { .subjects = subjects, .settings = settings };

	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		found.sides[side] = (struct diff_side) { &subjects[side].sums, subjects[side].names,
							 subjects[side].units };
		found.totals[side] = subjects[side].sums.total;
	}
	return found;
}

struct err *diff_compare(const struct diff_subject *subjects, const struct diff_settings *settings,
			 struct arena *arena, struct diff_found *found_ret)
{
	struct diff_found found = diff_begin(subjects, settings);
	struct err *err;

	*found_ret = found; /* the sides must not move */
	err = diff_find(found_ret->sides, settings->by, settings->mode, settings->metric, arena,
			&found_ret->diff);
	for (size_t i = 0; !err && i < found_ret->diff.count; i++)
		found_ret->changed_count += diff_change(found_ret->sides, settings->metric,
							found_ret->diff.rows[i].sums) != 0;
	return err ? err : diff_below_find(found_ret, arena, &found_ret->below);
}

/* --- the value ------------------------------------------------------------------------------ */

static struct diff_sums sums_of(const struct diff_found *found, const struct model_stack_sums *sums)
{
	const bool is_known = metric_is_member(found->settings->metric);

	return (struct diff_sums) {
		.peak_bytes = sums->peak.bytes,
		.peak_count = sums->peak.count,
		.leaked_bytes = sums->leaked.bytes,
		.leaked_count = sums->leaked.count,
		.allocated_bytes = sums->allocated.bytes,
		.allocated_count = sums->allocated.count,
		.temporary_bytes = is_known ? sums->temporary.bytes : SHAPE_NONE,
		.temporary_count = is_known ? sums->temporary.count : SHAPE_NONE,
	};
}

static struct change change_of(const struct diff_found *found, enum metric metric)
{
	return (struct change) {
		.metric = diff_metric_word(found->settings, metric),
		.a = diff_value(&found->sides[DIFF_A], metric, &found->totals[DIFF_A]),
		.b = diff_value(&found->sides[DIFF_B], metric, &found->totals[DIFF_B]),
		.difference = diff_change(found->sides, metric, found->totals),
	};
}

static struct err *totals_fill(const struct diff_found *found, struct arena *arena,
			       struct shape_rows *rows)
{
	const enum metric asked = found->settings->metric;
	struct change *changes = arena_array(arena, METRICS + 1, sizeof(*changes));
	size_t count = 0;

	if (!changes)
		return err_nomem();
	for (unsigned metric = 0; metric < METRICS; metric++)
		if (metric != METRIC_TEMPORARY || metric_is_member(found->settings->metric))
			changes[count++] = change_of(found, (enum metric)metric);
	if ((unsigned)asked >= METRICS)
		changes[count++] = change_of(found, asked);
	*rows = (struct shape_rows) { .items = changes, .count = count };
	return NULL;
}

static struct diff_counts counts_of(const struct diff_found *found)
{
	struct diff_counts counts = { 0 };

	for (size_t i = 0; i < found->diff.count; i++) {
		const struct diff_row *row = &found->diff.rows[i];
		const bool differs = diff_change(found->sides, found->diff.metric, row->sums) != 0;

		counts.of[differs ? diff_row_status(&found->diff, row) : DIFF_SAME]++;
	}
	return counts;
}

/* The side to take the row's place from: B, or A if B does not have the row. */
static const struct diff_subject *known_subject(const struct diff_found *found,
						const struct diff_row *row, uint32_t *stack_ret)
{
	const unsigned side = row->stacks[DIFF_B] == UINT32_MAX ? DIFF_A : DIFF_B;

	*stack_ret = row->stacks[side];
	return &found->subjects[side];
}

struct place diff_row_place(const struct diff_found *found, const struct diff_row *row)
{
	uint32_t stack;
	const struct diff_subject *subject = known_subject(found, row, &stack);
	struct walk walk = walk_begin(subject->model, subject->names, stack, found->settings->mode);

	return place_of(subject->model, subject->names, walk_next(&walk));
}

static void place_fill(const struct diff_found *found, const struct diff_row *row,
		       struct row_value *value)
{
	uint32_t stack;
	const struct diff_subject *subject = known_subject(found, row, &stack);
	struct walk walk = walk_begin(subject->model, subject->names, stack, found->settings->mode);
	const struct place place = place_of(subject->model, subject->names, walk_next(&walk));
	struct place caller;

	value->hash = place.hash;
	value->file = place.file;
	value->line = place.line;
	caller = place_of(subject->model, subject->names, walk_next(&walk));
	value->caller = caller.function;
	value->caller_brief = caller.brief;
}

static struct row_value row_value_of(const struct diff_found *found, const struct diff_row *row)
{
	const enum metric metric = found->diff.metric;
	struct row_value value = {
		.hash = SHAPE_NONE,
		.line = SHAPE_NONE,
		.function = row->function,
		.brief = row->brief,
		.module = row->module[0] ? row->module : NULL,
		.status = diff_status_words[diff_row_status(&found->diff, row)],
		.a = diff_value(&found->sides[DIFF_A], metric, &row->sums[DIFF_A]),
		.b = diff_value(&found->sides[DIFF_B], metric, &row->sums[DIFF_B]),
		.difference = diff_change(found->sides, metric, row->sums),
		.a_count = metric_calls(metric, &row->sums[DIFF_A]),
		.b_count = metric_calls(metric, &row->sums[DIFF_B]),
		.sums = { sums_of(found, &row->sums[DIFF_A]), sums_of(found, &row->sums[DIFF_B]) },
	};

	if (row->function)
		place_fill(found, row, &value);
	return value;
}

static struct err *stack_fill(const struct diff_found *found, const struct diff_row *row,
			      struct arena *arena, struct shape_rows *frames)
{
	uint32_t stack;
	const struct diff_subject *subject = known_subject(found, row, &stack);
	const enum walk_mode mode = found->settings->mode;
	struct walk walk = walk_begin(subject->model, subject->names, stack, mode);
	const struct name_frame *at;
	struct frame *items;
	size_t count = 0;

	while (walk_next(&walk))
		count++;
	items = arena_array(arena, count, sizeof(*items));
	if (!items)
		return err_nomem();
	walk = walk_begin(subject->model, subject->names, stack, mode);
	while ((at = walk_next(&walk)))
		items[frames->count++] = frame_of(subject->model, subject->names, at);
	frames->items = items;
	return NULL;
}

static struct err *rows_fill(const struct diff_found *found, const struct diff_part *part,
			     struct arena *arena, struct shape_rows *rows)
{
	const size_t count =
		part->row_max ? u64_min(part->row_max, found->diff.count) : found->diff.count;
	struct row_value *values = arena_array(arena, count, sizeof(*values));
	struct err *err = values ? NULL : err_nomem();

	for (size_t i = 0; i < count && !err; i++) {
		const struct diff_row *row = &found->diff.rows[i];

		values[i] = row_value_of(found, row);
		if (row->function && part->has_stacks)
			err = stack_fill(found, row, arena, &values[i].stack);
	}
	*rows = (struct shape_rows) { .items = values, .count = count };
	return err;
}

static struct err *main_fill(const struct diff_found *found, struct arena *arena,
			     const struct row_value **main_ret)
{
	const struct diff_row *row = diff_main_row(found);
	struct row_value *value = row ? arena_new(arena, struct row_value) : NULL;

	if (row && !value)
		return err_nomem();
	if (row)
		*value = row_value_of(found, row);
	*main_ret = value;
	return NULL;
}

struct err *diff_side_value(const struct diff_found *found, unsigned side, struct arena *arena,
			    const struct diff_side_value **side_ret)
{
	const struct diff_subject *subject = &found->subjects[side];
	const enum metric metric = found->settings->metric;
	struct diff_side_value *value = arena_new(arena, struct diff_side_value);
	const struct asked asked = {
		.model = subject->model,
		.names = subject->names,
		.selection = subject->selection,
		.arena = arena,
		.with = subject->with,
	};

	assert(side < DIFF_SIDES);
	if (!value)
		return err_nomem();
	*value = (struct diff_side_value) {
		.id = subject->id,
		.tape = subject->tape,
		.name = program_name(subject->model),
		.exe = model_process(subject->model)->exe,
		.from_ns = subject->from_ns,
		.until_ns = subject->until_ns == MODEL_NEVER ? SHAPE_NONE : subject->until_ns,
		.units = subject->units,
		.total = diff_value(&found->sides[side], metric, &found->totals[side]),
		.count = metric_calls(metric, &found->totals[side]),
		.sums = sums_of(found, &found->totals[side]),
		.suppressed_bytes = subject->suppressed.bytes,
		.suppressed_count = subject->suppressed.count,
	};
	*side_ret = value;
	return quality_find(&asked, &value->quality);
}

struct err *diff_value_fill(const struct diff_found *found, const struct diff_part *part,
			    struct arena *arena, void *value_ret)
{
	const enum metric metric = found->settings->metric;
	struct diff_value *value = value_ret;
	CLEAN(str_deinit) struct str verdict = { 0 };
	struct err *err;

	diff_add_verdict(&verdict, found);
	value->by = diff_by_words[found->settings->by];
	value->metric = diff_metric_word(found->settings, metric);
	value->unit = unit_words[!metric_is_bytes(metric)];
	value->pair = found->settings->pair;
	value->verdict = arena_strdup(arena, str_text(&verdict));
	value->counts = counts_of(found);
	value->below = found->below.function ? &found->below : NULL;
	err = value->verdict && !verdict.failed ? NULL : err_nomem();
	if (!err)
		err = totals_fill(found, arena, &value->totals);
	if (!err)
		err = main_fill(found, arena, &value->main);
	if (!err)
		err = rows_fill(found, part, arena, &value->rows);
	if (!err)
		err = diff_conditions_fill(found, arena, &value->conditions);
	for (unsigned side = 0; side < DIFF_SIDES && !err; side++)
		err = diff_side_value(found, side, arena, &value->sides[side]);
	return err;
}
