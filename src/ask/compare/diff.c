#include "compare/diff.h"

#include <assert.h>

#include "base/map.h"
#include "base/sort.h"
#include "base/str.h"
#include "base/vec.h"
#include "compare/diff_name.h"
#include "sums/modules.h"
#include "sums/name_hash.h"
#include "sums/sites.h"

const char *const diff_by_words[] = { "function", "stack", "module", NULL };

const char *const diff_status_words[] = { "new", "gone", "grown", "shrunk", "same", NULL };

/* --- values -------------------------------------------------------------------------------- */

double diff_value(const struct diff_side *side, enum metric metric,
		  const struct model_stack_sums *sums)
{
	assert(side->units >= 1);
	return (double)metric_value(metric, sums) / (double)side->units;
}

double diff_change(const struct diff_side *sides, enum metric metric,
		   const struct model_stack_sums *sums)
{
	return diff_value(&sides[DIFF_B], metric, &sums[DIFF_B]) -
	       diff_value(&sides[DIFF_A], metric, &sums[DIFF_A]);
}

enum diff_status diff_row_status(const struct diff *diff, const struct diff_row *row)
{
	const double change = diff_change(diff->sides, diff->metric, row->sums);

	assert(row->stacks[DIFF_A] != UINT32_MAX || row->stacks[DIFF_B] != UINT32_MAX);
	if (row->stacks[DIFF_A] == UINT32_MAX)
		return DIFF_NEW;
	if (row->stacks[DIFF_B] == UINT32_MAX)
		return DIFF_GONE;
	return change > 0 ? DIFF_GROWN : change < 0 ? DIFF_SHRUNK : DIFF_SAME;
}

/* --- matching ------------------------------------------------------------------------------ */

VEC_DEFINE(diff_rows, struct diff_row);

struct match {
	const struct diff_side *sides;
	enum walk_mode mode;
	enum metric metric;
	struct arena *arena;
	struct diff_rows rows;
	struct map by_key; /* -> index of rows */
};

static void match_deinit(struct match *match)
{
	diff_rows_deinit(&match->rows);
	map_deinit(&match->by_key);
}

CLEAN_DEFINE_DEINIT(match_deinit, struct match);

/* Adds one side's sums under this key. */
/* name NULL: a module's row. */
static struct err *match_add(struct match *match, unsigned side, uint64_t key,
			     const struct name *name, const char *module, uint32_t stack,
			     const struct model_stack_sums *sums)
{
	const struct sums *all = match->sides[side].sums;
	const char *function = name ? name->function : NULL;
	const char *brief = name ? name->brief : NULL;
	struct diff_row *row;
	bool is_new;
	uint64_t *place = map_put(&match->by_key, key, &is_new);

	if (!place)
		return err_nomem();
	if (is_new) {
		*place = match->rows.count;
		if (!diff_rows_push(&match->rows, (struct diff_row) { function,
								      brief,
								      module,
								      { UINT32_MAX, UINT32_MAX },
								      { { { 0 } } } }))
			return err_nomem();
	}
	row = &match->rows.items[*place];
	if (side == DIFF_B) { /* B is newer and better known */
		row->function = function;
		row->brief = brief;
		row->module = module;
	}
	if (row->stacks[side] == UINT32_MAX ||
	    metric_value(match->metric, sums_of_stack(all, stack)) >
		    metric_value(match->metric, sums_of_stack(all, row->stacks[side])))
		row->stacks[side] = stack;
	metric_sums_add(&row->sums[side], sums);
	return NULL;
}

static struct err *match_functions(struct match *match, unsigned side)
{
	const struct diff_side *from = &match->sides[side];
	struct sites sites;
	struct err *err = sites_find(from->sums, from->names, match->mode, match->arena, &sites);

	for (size_t i = 0; i < sites.count && !err; i++) {
		const struct site *site = &sites.items[i];
		const struct name *name = names_get(from->names, site->name);

		err = match_add(match, side, diff_name_hash(from->sums->model, name), name,
				name->module_short, site->stacks[match->metric], &site->sums);
	}
	return err;
}

static uint64_t stack_hash(const struct match *match, unsigned side, uint32_t stack,
			   uint32_t *innermost)
{
	const struct diff_side *from = &match->sides[side];
	struct walk walk = walk_begin(from->sums->model, from->names, stack, match->mode);
	const struct name_frame *frame;
	uint64_t hash = 0;

	*innermost = UINT32_MAX;
	while ((frame = walk_next(&walk))) {
		const struct name *name = names_get(from->names, frame->name);
		const uint64_t one = diff_name_hash(from->sums->model, name);

		if (*innermost == UINT32_MAX)
			*innermost = frame->name;
		hash = hash_bytes(&one, sizeof(one), hash);
	}
	return hash;
}

static struct err *match_stacks(struct match *match, unsigned side)
{
	const struct sums *sums = match->sides[side].sums;
	struct err *err = NULL;

	for (uint32_t i = 0; i < model_stack_count(sums->model) && !err; i++) {
		const struct name *name;
		uint32_t innermost;
		uint64_t key;

		if (!metric_sums_any(sums_of_stack(sums, i)))
			continue;
		key = stack_hash(match, side, i, &innermost);
		name = names_get(match->sides[side].names, innermost);
		err = match_add(match, side, key, name, name->module_short, i,
				sums_of_stack(sums, i));
	}
	return err;
}

static struct err *match_module(struct match *match, unsigned side, size_t index, uint32_t stack)
{
	const struct sums *sums = match->sides[side].sums;
	const size_t objects = model_module_count(sums->model);
	const char *path = index < objects ? model_module(sums->model, index)->path : "";
	const char *shown;

	if (index == 0 && path[0] == '\0')
		path = model_process(sums->model)->exe;
	shown = index < objects	   ? names_short_path(path)
		: index == objects ? "(outside of every object)"
				   : "(no stack taken)";
	return match_add(match, side, name_hash_module(sums->model, path, shown), NULL, shown,
			 stack, sums_of_stack(sums, stack));
}

static struct err *match_modules(struct match *match, unsigned side)
{
	const struct diff_side *from = &match->sides[side];
	const struct model *model = from->sums->model;
	struct err *err = NULL;

	for (uint32_t i = 0; i < model_stack_count(model) && !err; i++) {
		if (metric_sums_any(sums_of_stack(from->sums, i)))
			err = match_module(match, side,
					   modules_of_stack(model, from->names, match->mode, i), i);
	}
	return err;
}

static int row_compare(const void *context, const void *a, const void *b)
{
	const struct match *match = context;
	const struct diff_row *left = a, *right = b;
	const double x = diff_change(match->sides, match->metric, left->sums);
	const double y = diff_change(match->sides, match->metric, right->sums);
	const double far_x = x < 0 ? -x : x, far_y = y < 0 ? -y : y;

	return (far_x < far_y) - (far_x > far_y);
}

struct err *diff_find(const struct diff_side *sides, enum diff_by by, enum walk_mode mode,
		      enum metric metric, struct arena *arena, struct diff *diff_ret)
{
	static struct err *(*const matchers[])(struct match * match, unsigned side) = {
		[DIFF_BY_FUNCTION] = match_functions,
		[DIFF_BY_STACK] = match_stacks,
		[DIFF_BY_MODULE] = match_modules,
	};
	CLEAN(match_deinit)
	struct match match = { .sides = sides, .mode = mode, .metric = metric, .arena = arena };
	struct diff diff = { .sides = sides, .metric = metric };

	assert((unsigned)by < array_size(matchers));
	assert((unsigned)metric < METRICS_KEYED);
	assert(sides[DIFF_A].units >= 1 && sides[DIFF_B].units >= 1);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		struct err *err = matchers[by](&match, side);

		if (err)
			return err;
	}
	diff.count = match.rows.count;
	diff.rows = arena_array(arena, diff.count + 1, sizeof(*diff.rows));
	if (!diff.rows || !sort_stable(match.rows.items, diff.count, sizeof(*match.rows.items),
				       row_compare, &match))
		return err_nomem();
	if (diff.count)
		memcpy(diff.rows, match.rows.items, diff.count * sizeof(*diff.rows));
	*diff_ret = diff;
	return NULL;
}
