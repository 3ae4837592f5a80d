/*
 * /api/v1/diff: what one tape, or one moment, has more or less of than another, and who is behind
 * it. What `memtape diff --json` says, from the same engine.
 */
#include "http/api_diff_sides.h"
#include "sums/name_hash.h"

static const struct param params[] = {
	API_PARAMS_DIFF,
	{ .name = "by",
	  .kind = PARAM_CHOICE,
	  .words = diff_by_words,
	  .doc = "what rows are of",
	  .missing = "function" },
	{ .name = "n",
	  .kind = PARAM_NUMBER,
	  .min = 1,
	  .max = 200,
	  .fallback = 50,
	  .doc = "rows of each list at most",
	  .missing = "50" },
};

struct answer {
	struct call *call;
	const struct api_diff_sides *sides;
	struct diff diff;
};

/* Of the side where it is best known: the innermost frame that is shown. */
static void function_emit(const struct answer *answer, const struct diff_row *row)
{
	const unsigned side = row->stacks[DIFF_B] == UINT32_MAX ? DIFF_A : DIFF_B;
	const struct diff_side *from = &answer->diff.sides[side];
	struct emit *emit = answer->call->emit;
	struct walk walk =
		walk_begin(from->sums->model, from->names, row->stacks[side], answer->sides->mode);
	const struct name_frame *frame = walk_next(&walk);
	const struct name *name = names_get(from->names, frame->name);

	json_hash(emit, "hash", name_hash(from->sums->model, name));
	emit_text(emit, "function", row->function);
	emit_text(emit, "module", row->module[0] ? row->module : NULL);
	emit_text(emit, "file", frame->file);
	json_u64_or_null(emit, "line", frame->line, 0);
	frame = walk_next(&walk);
	emit_text(emit, "caller", frame ? names_get(from->names, frame->name)->function : NULL);
}

static void row_emit(const struct answer *answer, const char *key, const struct diff_row *row)
{
	struct emit *emit = answer->call->emit;
	const enum metric metric = answer->diff.metric;

	emit_object(emit, key);
	if (row->function) {
		function_emit(answer, row);
	} else {
		emit_null(emit, "hash");
		emit_null(emit, "function");
		emit_text(emit, "module", row->module);
	}
	emit_text(emit, "status", diff_status_word(diff_row_status(&answer->diff, row)));
	api_diff_value(emit, "a",
		       diff_value(&answer->diff.sides[DIFF_A], metric, &row->sums[DIFF_A]));
	api_diff_value(emit, "b",
		       diff_value(&answer->diff.sides[DIFF_B], metric, &row->sums[DIFF_B]));
	api_diff_value(emit, "difference", diff_change(answer->diff.sides, metric, row->sums));
	emit_u64(emit, "a_count", metric_calls(metric, &row->sums[DIFF_A]), EMIT_COUNT);
	emit_u64(emit, "b_count", metric_calls(metric, &row->sums[DIFF_B]), EMIT_COUNT);
	emit_end(emit);
}

static bool is_in_list(const struct answer *answer, const struct diff_row *row, unsigned statuses)
{
	return statuses & (1u << diff_row_status(&answer->diff, row)) &&
	       diff_change(answer->diff.sides, answer->diff.metric, row->sums) != 0;
}

static void list_emit(const struct answer *answer, const char *key, unsigned statuses)
{
	uint64_t room = call_number(answer->call, "n");

	emit_list(answer->call->emit, key);
	for (size_t i = 0; i < answer->diff.count && room > 0; i++) {
		if (!is_in_list(answer, &answer->diff.rows[i], statuses))
			continue;
		row_emit(answer, NULL, &answer->diff.rows[i]);
		room--;
	}
	emit_end(answer->call->emit);
}

/* How many rows of each kind there are; of new and gone ones those that matter to the metric. */
static void counts_emit(const struct answer *answer)
{
	struct emit *emit = answer->call->emit;
	uint64_t counts[DIFF_SAME + 1] = { 0 };

	for (size_t i = 0; i < answer->diff.count; i++) {
		const struct diff_row *row = &answer->diff.rows[i];
		const bool differs =
			diff_change(answer->diff.sides, answer->diff.metric, row->sums) != 0;

		counts[differs ? diff_row_status(&answer->diff, row) : DIFF_SAME]++;
	}
	emit_object(emit, "counts");
	for (unsigned status = 0; status <= DIFF_SAME; status++)
		emit_u64(emit, diff_status_word(status), counts[status], EMIT_COUNT);
	emit_end(emit);
}

/* The row behind the change: of those in its direction the one that changed most. */
static const struct diff_row *main_row(const struct answer *answer, double total)
{
	for (size_t i = 0; i < answer->diff.count; i++) {
		const double change = diff_change(answer->diff.sides, answer->diff.metric,
						  answer->diff.rows[i].sums);

		if (change != 0 && total != 0 && (change > 0) == (total > 0))
			return &answer->diff.rows[i];
	}
	return NULL;
}

static void verdict_emit(const struct answer *answer)
{
	const struct model_stack_sums totals[DIFF_SIDES] = {
		answer->sides->sums[DIFF_A].total,
		answer->sides->sums[DIFF_B].total,
	};
	const double change = diff_change(answer->diff.sides, answer->diff.metric, totals);
	const struct diff_row *row = main_row(answer, change);

	api_diff_value(answer->call->emit, "difference", change);
	if (row)
		row_emit(answer, "main", row);
	else
		emit_null(answer->call->emit, "main");
}

static struct err *run(struct call *call)
{
	CLEAN(api_diff_sides_close) struct api_diff_sides sides;
	struct answer answer = { .call = call, .sides = &sides };
	const enum diff_by by = (enum diff_by)call_choice(call, "by");
	struct err *err = api_diff_sides_open(call, &sides);

	if (!err)
		err = diff_find(sides.sides, by, sides.mode, sides.metric, call->arena,
				&answer.diff);
	if (err)
		return err;
	api_diff_sides_emit(call, &sides);
	emit_text(call->emit, "by", diff_by_words[by]);
	verdict_emit(&answer);
	counts_emit(&answer);
	list_emit(&answer, "changed", 1u << DIFF_GROWN | 1u << DIFF_SHRUNK);
	list_emit(&answer, "new", 1u << DIFF_NEW);
	list_emit(&answer, "gone", 1u << DIFF_GONE);
	return NULL;
}

const struct route route_api_diff = {
	.path = "/api/v1/diff",
	.summary = "what two tapes, or two moments of one, do not have in common",
	.answer = "Diff",
	/* The other tape may go on while this one is finished. */
	.flags = ROUTE_TAPE | ROUTE_SELECTS | ROUTE_UNCACHED,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
