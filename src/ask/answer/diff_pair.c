/* Which two moments of one tape are compared, where none are chosen. */
#include <assert.h>

#include "answer/diff.h"
#include "base/str.h"
#include "select/mark.h"
#include "select/moment.h"

/* The start of a run is loading: what grows afterwards is what grows. */
enum { GROWTH_SHARE = 10 /* of the peak, at least */ };

static const char warm_moment[] = "10%";

static const struct member pair_members[] = {
	MEMBER_AS("a", struct diff_pair, moments[DIFF_A], TEXT, "the earlier moment"),
	MEMBER_AS("b", struct diff_pair, moments[DIFF_B], TEXT, "the later one"),
	MEMBER(struct diff_pair, words, TEXT, "both, in words"),
};
const struct shape shape_diff_pair = SHAPE("DiffPair", struct diff_pair, pair_members);

struct ends {
	const char *moments[DIFF_SIDES];
	const struct model_note *marks[DIFF_SIDES]; /* NULL: no mark */
};

/* Events at that moment are included. */
static uint64_t live_bytes_at(const struct model *model, uint64_t ns)
{
	struct model_timeline_span span = { 0 };

	model_timeline_window(model, 0, ns + 1, 1, &span);
	return span.live_bytes_end;
}

/* Marks after which nothing can be compared are none. */
static void marks_find(const struct model *model, struct ends *ends)
{
	const struct model_note *notes = model_notes(model);
	const struct model_note *first = NULL, *last = NULL;

	for (size_t i = 0; i < model_note_count(model); i++) {
		if (notes[i].type != TAPE_EXT_MARK ||
		    notes[i].ns >= model_process(model)->duration_ns)
			continue;
		first = first ? first : &notes[i];
		last = &notes[i];
	}
	ends->marks[DIFF_A] = first;
	ends->marks[DIFF_B] = first && last->ns > first->ns ? last : NULL;
}

static bool has_grown(const struct model *model)
{
	const uint64_t end_ns = model_process(model)->duration_ns;
	const uint64_t before = live_bytes_at(model, end_ns / 10);
	const uint64_t after = live_bytes_at(model, end_ns);

	return after > before && after - before >= model_totals(model)->peak.bytes / GROWTH_SHARE;
}

static struct err *ends_find(const struct model *model, struct arena *arena, struct ends *ends)
{
	const bool grows = has_grown(model);

	marks_find(model, ends);
	ends->moments[DIFF_A] = grows ? warm_moment : "start";
	ends->moments[DIFF_B] = grows || ends->marks[DIFF_A] ? "end" : "peak";
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		if (ends->marks[side])
			ends->moments[side] = mark_moment(model, ends->marks[side], arena);
	return ends->moments[DIFF_A] && ends->moments[DIFF_B] ? NULL : err_nomem();
}

static void add_end(struct str *out, const struct model *model, const struct ends *ends,
		    unsigned side)
{
	const struct model_note *mark = ends->marks[side];
	const struct mark_place place =
		mark ? mark_place_of(model, mark) : (struct mark_place) { 0 };

	if (!mark) {
		str_add(out, ends->moments[side] == warm_moment ? "" : "the ");
		str_add(out, ends->moments[side]);
		str_add(out, ends->moments[side] == warm_moment ? " of the run" : "");
		return;
	}
	if (!mark->text[0]) {
		str_add(out, "a mark without a name");
		return;
	}
	str_printf(out, "mark '%s'", mark->text);
	if (place.count > 1)
		str_printf(out, " (%zu of %zu)", place.number, place.count);
}

struct err *diff_pair_find(const struct model *model, struct arena *arena,
			   struct diff_pair *pair_ret)
{
	struct diff_pair pair = { 0 };
	struct ends ends = { 0 };
	CLEAN(str_deinit) struct str words = { 0 };
	struct err *err = ends_find(model, arena, &ends);

	str_add(&words, "from ");
	for (unsigned side = 0; side < DIFF_SIDES && !err; side++) {
		struct moment moment;

		pair.moments[side] = ends.moments[side];
		err = moment_parse(pair.moments[side], &moment);
		if (!err)
			err = moment_ns(&moment, model, &pair.ns[side]);
		add_end(&words, model, &ends, side);
		str_add(&words, side == DIFF_A ? " to " : "");
	}
	if (err)
		return err;
	pair.words = arena_strdup(arena, str_text(&words));
	if (!pair.words)
		return err_nomem();
	*pair_ret = pair;
	return NULL;
}
