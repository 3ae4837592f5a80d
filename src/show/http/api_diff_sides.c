#include "http/api_diff_sides.h"

#include "http/api_tapes.h"
#include "http/server.h"
#include "select/sums_rows.h"

static bool has_moments(const struct call *call)
{
	return call_has(call, "a_at") || call_has(call, "b_at");
}

static bool has_spans(const struct call *call)
{
	return call_has(call, "a_from") || call_has(call, "a_until") || call_has(call, "b_from") ||
	       call_has(call, "b_until");
}

static struct err *question_take(struct call *call, struct api_diff_sides *sides)
{
	const bool is_one = !call_has(call, "b");

	sides->asked = (enum metric)call_choice(call, "m");
	if (has_moments(call) && !call_has(call, "m"))
		sides->asked = METRIC_LIVE;
	if (is_one && !has_moments(call) && !has_spans(call))
		return call_blame(call, "b",
				  err_new(ERR_USAGE, "expected two tapes, or two moments of one: "
						     "b, or a_at and b_at, or a_from, a_until, "
						     "b_from and b_until"));
	if (has_moments(call) && sides->asked != METRIC_LIVE)
		return call_blame(call, "m",
				  err_new(ERR_USAGE, "moments are those of m=live alone"));
	/* What was alive at a moment is the peak of its sums (sums_at). */
	sides->metric = sides->asked == METRIC_LIVE ? METRIC_PEAK : sides->asked;
	sides->mode = call_flag(call, "fold") ? WALK_FOLD : WALK_ALL;
	return NULL;
}

/* The other tape, as the server does for c. */
static struct err *tape_open(struct call *call, struct api_diff_sides *sides)
{
	const char *id = call_text(call, "b");
	struct call *other = &sides->calls[DIFF_B];
	struct err *err;

	if (!id)
		return NULL;
	other->tape = tapes_find(call->server->tapes, id, strlen(id));
	if (!other->tape)
		return call_blame(call, "b", err_new(ERR_NOT_FOUND, "no tape '%.64s'", id));
	err = tapes_acquire(other->tape, call_number(call, "gen"), &call->limits, &other->loaded);
	if (err)
		return err;
	sides->is_other_held = true;
	other->model = other->loaded->model;
	other->gen = other->loaded->gen;
	return NULL;
}

/* What q and the side's span choose; where the side has none, the span of both. */
static struct err *side_select(struct api_diff_sides *sides, unsigned side,
			       const struct selection **selection_ret)
{
	static const char *const names[DIFF_SIDES][2] = { { "a_from", "a_until" },
							  { "b_from", "b_until" } };
	struct call *call = &sides->calls[side];
	const char *span[2] = { call_text(call, "from"), call_text(call, "until") };
	uint64_t ns[2];
	struct err *err = NULL;

	if (!call_has(call, names[side][0]) && !call_has(call, names[side][1]))
		return call_select(call, selection_ret);
	for (unsigned i = 0; i < 2 && !err; i++) {
		if (call_has(call, names[side][i]))
			span[i] = call_text(call, names[side][i]);
		err = call_moment(call, names[side][i], i * UINT64_MAX, &ns[i]);
	}
	if (!err && ns[0] > ns[1])
		err = call_blame(call, names[side][0],
				 err_new(ERR_USAGE, "it begins after it ends"));
	return err ? err
		   : call_select_part(call, call_text(call, "q"), span[0], span[1], CALL_LEAKS,
				      selection_ret);
}

static struct err *side_find(struct api_diff_sides *sides, unsigned side)
{
	static const char *const at_names[] = { "a_at", "b_at" };
	static const char *const per_names[] = { "a_per", "b_per" };
	struct call *call = &sides->calls[side];
	const uint64_t peak_ns = model_totals(call->model)->peak_ns;
	const struct selection *selection;
	struct names *names;
	struct err *err = call_names(call, &names);

	if (!err)
		err = call_moment(call, at_names[side], peak_ns, &sides->at_ns[side]);
	if (!err)
		err = side_select(sides, side, &selection);
	if (err)
		return err;
	sides->suppressed[side] = selection->suppressed_leaks.total;
	sides->sides[side] = (struct diff_side) {
		.sums = &sides->sums[side],
		.names = names,
		.units = call_number(call, per_names[side]),
	};
	return sides->asked == METRIC_LIVE
		       ? sums_at(call->model, selection, sides->at_ns[side], call->arena,
				 &sides->sums[side])
		       : measure_sums(selection, sides->asked, 0, call->arena, &sides->sums[side]);
}

struct err *api_diff_sides_open(struct call *call, struct api_diff_sides *sides)
{
	struct err *err;

	*sides = (struct api_diff_sides) { .calls = { *call, *call } };
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		sides->calls[side].held_count = 0;
	err = question_take(call, sides);
	if (!err)
		err = tape_open(call, sides);
	for (unsigned side = 0; side < DIFF_SIDES && !err; side++)
		err = side_find(sides, side);
	return err;
}

void api_diff_sides_close(struct api_diff_sides *sides)
{
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		call_release(&sides->calls[side]);
	if (sides->is_other_held)
		tapes_release(sides->calls[DIFF_B].loaded);
}

void api_diff_value(struct emit *emit, const char *key, double value)
{
	if (value == (double)(int64_t)value)
		emit_i64(emit, key, (int64_t)value);
	else
		emit_ratio(emit, key, value, 3);
}

static void side_emit(struct emit *emit, const struct api_diff_sides *sides, unsigned side)
{
	const struct call *call = &sides->calls[side];
	const struct model_stack_sums *total = &sides->sums[side].total;

	emit_object(emit, side == DIFF_A ? "a" : "b");
	emit_text(emit, "id", call->tape->id);
	emit_text(emit, "name", api_program_name(call->model));
	emit_text(emit, "file", names_short_path(call->tape->source->path));
	if (sides->asked == METRIC_LIVE)
		emit_u64(emit, "at_ns", sides->at_ns[side], EMIT_DURATION);
	else
		emit_null(emit, "at_ns");
	emit_u64(emit, "units", sides->sides[side].units, EMIT_COUNT);
	api_diff_value(emit, "total", diff_value(&sides->sides[side], sides->metric, total));
	emit_u64(emit, "count", metric_calls(sides->metric, total), EMIT_COUNT);
	api_sum(emit, "suppressed", sides->suppressed[side]);
	emit_end(emit);
}

void api_diff_sides_emit(struct call *call, const struct api_diff_sides *sides)
{
	emit_text(call->emit, "m", metric_words_all[sides->asked]);
	emit_text(call->emit, "unit", metric_is_bytes(sides->asked) ? "bytes" : "count");
	side_emit(call->emit, sides, DIFF_A);
	side_emit(call->emit, sides, DIFF_B);
}
