/*
 * /api/v1/diff: the differences between two tapes, or two moments, and the functions responsible.
 * Same contents as `memtape diff --json`.
 */
#include "http/api_diff_sides.h"

static const struct param params[] = {
	API_PARAMS_DIFF,
	{ .name = "by",
	  .kind = PARAM_CHOICE,
	  .words = diff_by_words,
	  .doc = "what rows are of",
	  .missing = "function" },
	{ .name = "top",
	  .kind = PARAM_NUMBER,
	  .max = UINT32_MAX,
	  .doc = "rows at most, those that changed most; 0: all",
	  .missing = "0" },
	{ .name = "stacks",
	  .kind = PARAM_FLAG,
	  .fallback = 1,
	  .doc = "whether rows have a stack",
	  .missing = "1" },
};

static struct err *find(struct call *call, void *answer)
{
	const struct diff_part part = { .row_max = call_number(call, "top"),
					.has_stacks = call_flag(call, "stacks") };
	struct diff_found *found = arena_new(call->arena, struct diff_found);
	struct api_diff_sides *sides;
	struct err *err = found ? api_diff_sides_find(call, &sides) : err_nomem();

	if (err)
		return err;
	sides->settings.by = (enum diff_by)call_choice(call, "by");
	err = diff_compare(sides->subjects, &sides->settings, call->arena, found);
	return err ? err : diff_value_fill(found, &part, call->arena, answer);
}

const struct route route_api_diff = {
	.path = "/api/v1/diff",
	.summary = "what two tapes, or two moments of one, do not have in common",
	.shape = &shape_diff,
	/* The other tape may still grow while this one is finished. */
	.flags = ROUTE_TAPE | ROUTE_SELECTS | ROUTE_UNCACHED,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
