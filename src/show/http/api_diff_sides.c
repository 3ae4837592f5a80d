#include "http/api_diff_sides.h"

#include <assert.h>

#include "http/server.h"

static bool has_moments(const struct call *call)
{
	return call_has(call, "a_at") || call_has(call, "b_at");
}

static bool has_spans(const struct call *call)
{
	return call_has(call, "a_from") || call_has(call, "a_until") || call_has(call, "b_from") ||
	       call_has(call, "b_until");
}

/* One tape and no moments: the usual pair of them, which are about live memory. */
static struct err *pair_take(struct call *call, struct api_diff_sides *sides)
{
	struct err *err;

	if (call_has(call, "m") && sides->asked != METRIC_LIVE)
		return call_blame(call, "b",
				  err_new(ERR_USAGE,
					  "expected two tapes, or two times of one: b, or a_at "
					  "and b_at, or a_from, a_until, b_from and b_until"));
	sides->asked = METRIC_LIVE;
	err = diff_pair_find(call->model, call->arena, &sides->pair);
	sides->settings.pair = sides->pair.words;
	return err;
}

static struct err *question_take(struct call *call, struct api_diff_sides *sides)
{
	const bool is_one = !call_has(call, "b");

	sides->asked = (enum metric)call_choice(call, "m");
	if (has_moments(call) && !call_has(call, "m"))
		sides->asked = METRIC_LIVE;
	if (is_one && !has_moments(call) && !has_spans(call)) {
		struct err *err = pair_take(call, sides);

		if (err)
			return err;
	}
	if (has_moments(call) && sides->asked != METRIC_LIVE)
		return call_blame(call, "m", err_new(ERR_USAGE, "a_at and b_at need m=live"));
	/* What was alive at a moment is stored as the peak of its sums (sums_at). */
	sides->settings.is_live = sides->asked == METRIC_LIVE;
	sides->settings.metric = sides->settings.is_live ? METRIC_PEAK : sides->asked;
	sides->settings.mode = api_frames(call);
	return NULL;
}

/* Opens the other tape, as the server does for c. */
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
	return call_choose_subject(other);
}

/* The side's span; if it has none, the span of both. */
static struct err *part_find(struct api_diff_sides *sides, unsigned side)
{
	static const char *const names[DIFF_SIDES][2] = { { "a_from", "a_until" },
							  { "b_from", "b_until" } };
	struct call *call = &sides->calls[side];
	const bool has_span = call_has(call, names[side][0]) || call_has(call, names[side][1]);
	const char *const taken[2] = {
		has_span && call_has(call, names[side][0]) ? names[side][0] : "from",
		has_span && call_has(call, names[side][1]) ? names[side][1] : "until"
	};
	struct diff_subject *subject = &sides->subjects[side];
	struct err *err = call_moment(call, taken[0], 0, &subject->from_ns);

	if (!err)
		err = call_moment(call, taken[1], MODEL_NEVER, &subject->until_ns);
	if (!err && subject->from_ns > subject->until_ns)
		err = call_blame(call, taken[0], err_new(ERR_USAGE, "it begins after it ends"));
	sides->with[side] = (struct parameters) {
		.filter = call_text(call, "q"),
		.from = call_text(call, taken[0]),
		.until = call_text(call, taken[1]),
	};
	return err;
}

static struct err *moment_find(struct api_diff_sides *sides, unsigned side)
{
	static const char *const names[] = { "a_at", "b_at" };
	struct call *call = &sides->calls[side];
	struct diff_subject *subject = &sides->subjects[side];

	if (!sides->settings.is_live)
		return NULL;
	subject->from_ns = 0;
	if (sides->settings.pair) {
		subject->until_ns = sides->pair.ns[side];
		return NULL;
	}
	return call_moment(call, names[side], model_totals(call->model)->peak_ns,
			   &subject->until_ns);
}

static struct err *side_find(struct api_diff_sides *sides, unsigned side)
{
	static const char *const per_names[] = { "a_per", "b_per" };
	struct call *call = &sides->calls[side];
	struct diff_subject *subject = &sides->subjects[side];
	const struct parameters *with = &sides->with[side];
	struct err *err = call_names_view(call, &subject->names);

	*subject = (struct diff_subject) {
		.model = call->model,
		.names = subject->names,
		.with = with,
		.tape = names_short_path(call->tape->source->path),
		.id = call->tape->id,
		.units = call_number(call, per_names[side]),
	};
	if (!err)
		err = part_find(sides, side);
	if (!err)
		err = moment_find(sides, side);
	if (!err)
		err = call_select_part(call, with->filter, with->from, with->until, CALL_LEAKS,
				       &subject->selection);
	if (err && err_code_of(err) == ERR_USAGE && with->filter)
		return call_blame(call, "q", err);
	return err ? err : diff_subject_sum(subject, &sides->settings, call->arena);
}

static void sides_end(void *ends)
{
	struct api_diff_sides *sides = ends;

	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		call_release(&sides->calls[side]);
		names_destroy(sides->subjects[side].names);
	}
	if (sides->is_other_held)
		tapes_release(sides->calls[DIFF_B].loaded);
}

struct err *api_diff_sides_find(struct call *call, struct api_diff_sides **sides_ret)
{
	struct api_diff_sides *sides = arena_new(call->arena, struct api_diff_sides);
	struct err *err;

	assert(call->arena);
	if (!sides)
		return err_nomem();
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		sides->calls[side] = *call;
		sides->calls[side].held_count = 0;
	}
	call_at_end(call, sides_end, sides);
	err = question_take(call, sides);
	if (!err)
		err = tape_open(call, sides);
	for (unsigned side = 0; side < DIFF_SIDES && !err; side++)
		err = side_find(sides, side);
	*sides_ret = sides;
	return err;
}
