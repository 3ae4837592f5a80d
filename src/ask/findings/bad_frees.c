#include "findings/bad_frees.h"

#include <assert.h>

#include "findings/allocators.h"
#include "findings/bad_frees_rows.h"
#include "findings/edits.h"
#include "findings/pauses.h"
#include "model/import.h"
#include "sums/walk.h"

enum { SIGNAL_ABORT = 6, SIGNAL_BUS = 7, SIGNAL_SEGV = 11 };

/* An allocation is left out a moment before the record of its pause, or after that of its end. */
enum { PAUSE_MARGIN_NS = 20 * 1000 * 1000 };

VEC_DEFINE(bad_free_vec, struct bad_free);
VEC_DEFINE(pause_vec, struct pause);

struct search {
	const struct model *model;
	struct names *names;
	struct bad_frees_rows rows;
	struct bad_free_vec found;
	struct map index_of;	 /* index into found, by stacks and kind */
	struct pause_vec pauses; /* in order of time */
	bool is_whole;
	bool is_hidden; /* addresses may have been reused unseen */
	struct bad_frees answer;
};

static void search_deinit(struct search *search)
{
	bad_frees_rows_deinit(&search->rows);
	bad_free_vec_deinit(&search->found);
	map_deinit(&search->index_of);
	pause_vec_deinit(&search->pauses);
}

CLEAN_DEFINE_DEINIT(search_deinit, struct search);

/* --- how much the tape knows --------------------------------------------------------------- */

/* Whether every allocation and free of the process was recorded, from its start. */
static struct err *wholeness_find(const struct model *model, struct arena *arena, bool *ret)
{
	const struct model_quality *quality = model_quality(model);
	const struct model_import *import = NULL;
	size_t edit = 0;
	struct err *err = model_import_get(model, arena, &import);

	*ret = !import && quality->lost_events == 0 && quality->missing_chunk_count == 0 &&
	       quality->damage_count == 0 && model_totals(model)->lost_free_count == 0 &&
	       !edits_next(model, &edit);
	return err;
}

/* Whether the process ended in this very call. */
static bool has_died_of(const struct model *model, const struct model_stray_free *stray)
{
	const struct model_process *process = model_process(model);

	return stray->is_last && process->end_kind == TAPE_END_SIGNAL &&
	       (process->end_status == SIGNAL_ABORT || process->end_status == SIGNAL_BUS ||
		process->end_status == SIGNAL_SEGV);
}

/* --- groups -------------------------------------------------------------------------------- */

/* Stacks with equal names and lines are one: compilers duplicate calls. */
static uint64_t look_of(const struct search *search, uint32_t stack)
{
	struct walk walk = walk_begin(search->model, search->names, stack, WALK_MY);
	const struct name_frame *frame;
	uint64_t look = 0;

	while ((frame = walk_next(&walk))) {
		const uint64_t parts[] = { frame->name, frame->line };

		look = hash_bytes(parts, sizeof(parts), look);
	}
	return look;
}

static struct err *bad_free_take(struct search *search, const struct bad_free *bad)
{
	const uint64_t parts[] = { bad->kind, bad->is_certain, look_of(search, bad->stack),
				   look_of(search, bad->alloc_stack),
				   look_of(search, bad->first_stack) };
	const uint64_t key = hash_bytes(parts, sizeof(parts), 0);
	bool is_new;
	uint64_t *place = map_put(&search->index_of, key, &is_new);

	if (!place)
		return err_nomem();
	if (is_new) {
		*place = search->found.count;
		return bad_free_vec_push(&search->found, *bad) ? NULL : err_nomem();
	}
	search->found.items[*place].count += bad->count;
	search->found.items[*place].bytes += bad->bytes;
	return NULL;
}

/* --- pauses -------------------------------------------------------------------------------- */

static struct err *pauses_take(struct search *search)
{
	struct pause pause;
	size_t at = 0;

	while (pauses_next(search->model, &at, &pause))
		if (!pause_vec_push(&search->pauses, pause))
			return err_nomem();
	return NULL;
}

/* Whether an address may have been allocated unseen between two moments. */
static bool is_paused_between(const struct search *search, uint64_t from_ns, uint64_t until_ns)
{
	size_t low = 0, high = search->pauses.count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (search->pauses.items[middle].begin_ns < until_ns + PAUSE_MARGIN_NS)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 &&
	       search->pauses.items[low - 1].end_ns > from_ns - u64_min(from_ns, PAUSE_MARGIN_NS);
}

/* A block of a pause may have had the address of one that was freed before it. */
static bool is_stray_hidden(const struct search *search, const struct model_stray_free *stray,
			    const struct bad_frees_place *place)
{
	return search->is_hidden ||
	       (place->before != MODEL_NO_ROW &&
		is_paused_between(search,
				  model_row_value(search->model, MODEL_FREE_NS, place->before),
				  stray->ns));
}

/* --- frees of no block --------------------------------------------------------------------- */

static struct err *take_stray(struct search *search, const struct model_stray_free *stray,
			      const struct bad_frees_place *place)
{
	const struct model *model = search->model;
	const bool has_died = has_died_of(model, stray);
	const uint64_t row = place->before != MODEL_NO_ROW ? place->before : place->around;
	struct bad_free bad = {
		.kind = place->before != MODEL_NO_ROW	? BAD_FREE_DOUBLE
			: place->around != MODEL_NO_ROW ? BAD_FREE_INSIDE
							: BAD_FREE_REFUSED,
		.is_certain = search->is_whole || has_died,
		.count = 1,
		.address = stray->address,
		.ns = stray->ns,
		.row = row,
		.stack = stray->stack,
		.fn = stray->fn,
		.alloc_stack = CAPTURE_STACK_NONE,
		.first_stack = CAPTURE_STACK_NONE,
	};

	search->answer.has_died |= has_died;
	if (row == MODEL_NO_ROW || (!has_died && is_stray_hidden(search, stray, place))) {
		if (has_died)
			return bad_free_take(search, &bad);
		search->answer.unknown_count++;
		return NULL;
	}
	bad.bytes = model_row_value(model, MODEL_SIZE, row);
	bad.alloc_stack = (uint32_t)model_row_value(model, MODEL_STACK, row);
	bad.alloc_fn = (uint32_t)model_row_value(model, MODEL_FN, row);
	bad.offset = stray->address - model_row_value(model, MODEL_ADDRESS, row);
	if (bad.kind == BAD_FREE_DOUBLE) {
		bad.first_stack = (uint32_t)model_row_value(model, MODEL_FREE_STACK, row);
		bad.first_fn = (uint32_t)model_row_value(model, MODEL_FREE_FN, row);
	}
	return bad_free_take(search, &bad);
}

/*
 * A free of an address that was never seen allocated means that some allocator is not on the tape:
 * it may have reused an address that looks freed twice. If the process's beginning is not on the
 * tape, such frees mean nothing.
 */
static void doubt_find(struct search *search)
{
	const bool has_all = !pauses_hide_blocks(search->model);

	for (size_t i = 0; i < model_stray_free_count(search->model); i++) {
		const struct bad_frees_place *place = &search->rows.places[i];

		if (has_all && place->before == MODEL_NO_ROW && place->around == MODEL_NO_ROW &&
		    !has_died_of(search->model, &model_stray_frees(search->model)[i]))
			search->is_whole = false;
	}
}

static struct err *take_strays(struct search *search)
{
	const size_t count = model_stray_free_count(search->model);
	struct err *err = NULL;

	doubt_find(search);
	for (size_t i = 0; i < count && !err; i++)
		err = take_stray(search, &model_stray_frees(search->model)[i],
				 &search->rows.places[i]);
	search->answer.unread_count = model_totals(search->model)->unknown_free_count - count;
	return err;
}

/* --- of another kind ----------------------------------------------------------------------- */

/*
 * Name of the function that called malloc or free. An operator that calls them itself was not
 * recorded as an operator - it is linked into the program, or replaced by it - and is no mistake.
 */
static bool is_operator(const struct search *search, uint32_t stack, const char *word,
			bool *is_named_ret)
{
	struct walk walk = walk_begin(search->model, search->names, stack, WALK_ALL);
	const struct name_frame *frame = walk_next(&walk);
	const char *function = frame ? names_get(search->names, frame->name)->function : "0x";

	*is_named_ret = stack != CAPTURE_STACK_NONE && strncmp(function, "0x", 2) != 0;
	return strstr(function, word) != NULL;
}

/* From before the process was attached to: nobody knows which function allocated them. */
static bool is_nobodys(const struct model *model, uint32_t stack)
{
	return stack == CAPTURE_STACK_NONE && model_process(model)->flags & TAPE_FLAG_ATTACHED;
}

static struct err *take_mismatch(struct search *search, const struct bad_frees_group *group)
{
	const uint64_t row = group->row;
	const struct model *model = search->model;
	struct bad_free bad = {
		.kind = BAD_FREE_MISMATCHED,
		.count = group->count,
		.bytes = group->bytes,
		.address = model_row_value(model, MODEL_ADDRESS, row),
		.ns = model_row_value(model, MODEL_FREE_NS, row),
		.row = row,
		.stack = (uint32_t)model_row_value(model, MODEL_FREE_STACK, row),
		.fn = (uint32_t)model_row_value(model, MODEL_FREE_FN, row),
		.alloc_stack = (uint32_t)model_row_value(model, MODEL_STACK, row),
		.alloc_fn = (uint32_t)model_row_value(model, MODEL_FN, row),
		.first_stack = CAPTURE_STACK_NONE,
	};
	bool is_freer_named, is_maker_named;

	if (is_nobodys(model, bad.alloc_stack))
		return NULL;
	if (is_operator(search, bad.stack, "operator delete", &is_freer_named) ||
	    is_operator(search, bad.alloc_stack, "operator new", &is_maker_named))
		return NULL;
	bad.is_certain = search->is_whole && is_freer_named && is_maker_named;
	return bad_free_take(search, &bad);
}

static struct err *take_mismatches(struct search *search)
{
	struct err *err = NULL;

	for (size_t i = 0; i < search->rows.group_count && !err; i++)
		err = take_mismatch(search, &search->rows.groups[i]);
	search->answer.unlisted_count = search->rows.unlisted_count;
	return err;
}

/* --- */

static int compare(const void *a, const void *b)
{
	const struct bad_free *x = a, *y = b;

	if (x->is_certain != y->is_certain)
		return x->is_certain ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->ns == y->ns ? 0 : x->ns < y->ns ? -1 : 1;
}

struct err *bad_frees_find(const struct model *model, struct names *names,
			   const struct sweep_limits *limits, struct arena *arena,
			   struct bad_frees *bad_frees_ret)
{
	CLEAN(search_deinit) struct search search = { .model = model, .names = names };
	struct bad_free *items;
	struct err *err = wholeness_find(model, arena, &search.is_whole);

	assert(model && names);
	search.is_hidden = allocators_hide(model);
	search.is_whole &= !search.is_hidden;

	if (!err)
		err = pauses_take(&search);
	if (!err)
		err = bad_frees_rows_find(model, limits, &search.rows);
	if (!err)
		err = take_strays(&search);
	if (!err)
		err = take_mismatches(&search);
	if (err)
		return err;
	items = arena_array(arena, search.found.count, sizeof(*items));
	if (!items)
		return err_nomem();
	if (search.found.count > 0) {
		memcpy(items, search.found.items, search.found.count * sizeof(*items));
		qsort(items, search.found.count, sizeof(*items), compare);
	}
	search.answer.items = items;
	search.answer.count = search.found.count;
	*bad_frees_ret = search.answer;
	return NULL;
}
