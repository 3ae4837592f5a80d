#include "findings/bad_frees_rows.h"

#include <assert.h>

#include "base/clean.h"
#include "findings/bad_frees.h"

enum { SKETCH_BITS = 16, PAGE_BITS = 12, PAGES_MAX = 64, FAMILIES = 64 };

enum family { FAMILY_NONE, FAMILY_C, FAMILY_NEW, FAMILY_NEW_ARRAY };

VEC_DEFINE(group_vec, struct bad_frees_group);

struct target {
	uint64_t address;
	size_t stray;
};

struct worker {
	const struct model *model;
	const struct target *targets; /* ascending by address; shared */
	size_t target_count;
	const uint8_t *sketch;		/* a bit for each page that a target may be in; shared */
	const uint8_t *families;	/* by enum tape_fn; shared */
	struct bad_frees_place *places; /* its own */
	struct group_vec groups;
	struct map group_of;
	uint64_t unlisted_count;
	uint64_t fn[MODEL_BATCH];
	uint64_t free_fn[MODEL_BATCH];
	uint64_t address[MODEL_BATCH];
	uint64_t usable[MODEL_BATCH];
};

/* --- which functions go together ----------------------------------------------------------- */

/* By function name, as in the C++ standard. */
static void families_fill(uint8_t *families)
{
	memset(families, FAMILY_NONE, FAMILIES);
	for (unsigned fn = 0; fn < TAPE_FN_COUNT; fn++) {
		const char *name = tape_fn_name((enum tape_fn)fn);
		const bool is_cxx = name && strncmp(name, "operator ", strlen("operator ")) == 0;

		families[fn] = !is_cxx		    ? FAMILY_C
			       : strstr(name, "[]") ? FAMILY_NEW_ARRAY
						    : FAMILY_NEW;
	}
}

static bool fits(const struct worker *worker, size_t i)
{
	const uint64_t freer = worker->free_fn[i];

	/* what a process of a session left was not freed */
	return freer >= TAPE_FN_COUNT || worker->fn[i] >= TAPE_FN_COUNT ||
	       freer == TAPE_FN_PROCESS_END ||
	       worker->families[freer] == worker->families[worker->fn[i]];
}

static struct err *mismatch_take(struct worker *worker, uint64_t row)
{
	const uint64_t stack = model_row_value(worker->model, MODEL_STACK, row);
	const uint64_t free_stack = model_row_value(worker->model, MODEL_FREE_STACK, row);
	const uint64_t size = model_row_value(worker->model, MODEL_SIZE, row);
	uint64_t *place;
	bool is_new;

	place = map_find(&worker->group_of, stack << 32 | free_stack);
	if (!place && worker->groups.count >= BAD_FREE_GROUPS_MAX) {
		worker->unlisted_count++;
		return NULL;
	}
	place = map_put(&worker->group_of, stack << 32 | free_stack, &is_new);
	if (!place)
		return err_nomem();
	if (is_new) {
		*place = worker->groups.count;
		if (!group_vec_push(&worker->groups, (struct bad_frees_group) { .row = row }))
			return err_nomem();
	}
	worker->groups.items[*place].count++;
	worker->groups.items[*place].bytes += size;
	return NULL;
}

static struct err *mismatches_take(struct worker *worker, uint64_t first, size_t count)
{
	struct err *err = NULL;

	model_rows_read(worker->model, MODEL_FN, first, count, worker->fn);
	model_rows_read(worker->model, MODEL_FREE_FN, first, count, worker->free_fn);
	for (size_t i = 0; i < count && !err; i++)
		if (!fits(worker, i))
			err = mismatch_take(worker, first + i);
	return err;
}

/* --- what lies where something was freed --------------------------------------------------- */

static size_t sketch_bit(uint64_t page)
{
	return (size_t)(page * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SKETCH_BITS));
}

static bool sketch_has(const uint8_t *sketch, uint64_t page)
{
	const size_t bit = sketch_bit(page);

	return sketch[bit / 8] >> bit % 8 & 1;
}

/* False: certainly no target in these bytes. */
static bool may_hold(const struct worker *worker, uint64_t begin, uint64_t end)
{
	const uint64_t last = end >> PAGE_BITS;

	if (begin > worker->targets[worker->target_count - 1].address ||
	    end < worker->targets[0].address)
		return false;
	if (last - (begin >> PAGE_BITS) > PAGES_MAX)
		return true;
	for (uint64_t page = begin >> PAGE_BITS; page <= last; page++)
		if (sketch_has(worker->sketch, page))
			return true;
	return false;
}

/* The first target at or after an address. */
static size_t target_at(const struct worker *worker, uint64_t address)
{
	size_t low = 0, high = worker->target_count;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (worker->targets[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void place_take(struct worker *worker, const struct target *target, uint64_t row,
		       uint64_t address)
{
	const struct model_stray_free *stray = &model_stray_frees(worker->model)[target->stray];
	struct bad_frees_place *place = &worker->places[target->stray];
	uint64_t free_ns;

	if (row >= stray->row_count)
		return;
	if (target->address == address) { /* freed before, or this would not be a stray free */
		if (place->before == MODEL_NO_ROW || row > place->before)
			place->before = row;
		return;
	}
	free_ns = model_row_value(worker->model, MODEL_FREE_NS, row);
	if (free_ns > stray->ns && (place->around == MODEL_NO_ROW || row > place->around))
		place->around = row;
}

static void places_take(struct worker *worker, uint64_t first, size_t count)
{
	model_rows_read(worker->model, MODEL_ADDRESS, first, count, worker->address);
	model_rows_read(worker->model, MODEL_USABLE, first, count, worker->usable);
	for (size_t i = 0; i < count; i++) {
		const uint64_t begin = worker->address[i];
		const uint64_t end = begin + worker->usable[i];

		if (end < begin || !may_hold(worker, begin, end))
			continue;
		for (size_t t = target_at(worker, begin);
		     t < worker->target_count &&
		     (worker->targets[t].address < end || worker->targets[t].address == begin);
		     t++)
			place_take(worker, &worker->targets[t], first + i, begin);
	}
}

/* --- the pass ------------------------------------------------------------------------------ */

static struct err *segment_take(void *context, uint64_t segment)
{
	struct worker *worker = context;
	const uint64_t first = segment * MODEL_SEGMENT;
	const uint64_t end = u64_min(first + MODEL_SEGMENT, model_row_count(worker->model));
	struct err *err = NULL;

	for (uint64_t at = first; at < end && !err; at += MODEL_BATCH) {
		const size_t count = u64_min(end - at, MODEL_BATCH);

		err = mismatches_take(worker, at, count);
		if (worker->target_count > 0)
			places_take(worker, at, count);
	}
	return err;
}

struct pass {
	struct worker *workers;
	size_t worker_count;
	struct bad_frees_place *places; /* of all workers */
	struct target *targets;
	size_t stray_count;
	uint8_t sketch[(1 << SKETCH_BITS) / 8];
	uint8_t families[FAMILIES];
};

static void pass_destroy(struct pass *pass)
{
	for (size_t i = 0; pass && pass->workers && i < pass->worker_count; i++) {
		group_vec_deinit(&pass->workers[i].groups);
		map_deinit(&pass->workers[i].group_of);
	}
	if (pass) {
		free(pass->workers);
		free(pass->places);
		free(pass->targets);
	}
	free(pass);
}

CLEAN_DEFINE(pass_destroy, struct pass *);

static int compare_targets(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static bool pass_init(struct pass *pass, const struct model *model, size_t worker_count)
{
	const size_t strays = model_stray_free_count(model);

	pass->worker_count = worker_count;
	pass->stray_count = strays;
	pass->workers = calloc(worker_count, sizeof(*pass->workers));
	pass->places = malloc(worker_count * strays * sizeof(*pass->places) + 1);
	pass->targets = calloc(strays + 1, sizeof(*pass->targets));
	if (!pass->workers || !pass->places || !pass->targets)
		return false;
	memset(pass->places, 0xff, worker_count * strays * sizeof(*pass->places));
	families_fill(pass->families);
	for (size_t i = 0; i < strays; i++) {
		const uint64_t address = model_stray_frees(model)[i].address;
		const size_t bit = sketch_bit(address >> PAGE_BITS);

		pass->targets[i] = (struct target) { address, i };
		pass->sketch[bit / 8] |= (uint8_t)(1 << bit % 8);
	}
	qsort(pass->targets, strays, sizeof(*pass->targets), compare_targets);
	for (size_t i = 0; i < worker_count; i++)
		pass->workers[i] = (struct worker) { .model = model,
						     .targets = pass->targets,
						     .target_count = strays,
						     .sketch = pass->sketch,
						     .families = pass->families,
						     .places = pass->places + i * strays };
	return true;
}

/* The later row; MODEL_NO_ROW counts as earliest. */
static uint64_t later_row(uint64_t a, uint64_t b)
{
	return a == MODEL_NO_ROW ? b : b == MODEL_NO_ROW ? a : u64_max(a, b);
}

static struct err *groups_join(struct pass *pass, struct bad_frees_rows *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < pass->worker_count; i++)
		count += pass->workers[i].groups.count;
	rows->groups = calloc(count + 1, sizeof(*rows->groups));
	if (!rows->groups)
		return err_nomem();
	for (size_t i = 0; i < pass->worker_count; i++) { /* the caller merges equal groups */
		const struct worker *worker = &pass->workers[i];

		if (worker->groups.count > 0)
			memcpy(rows->groups + rows->group_count, worker->groups.items,
			       worker->groups.count * sizeof(*rows->groups));
		rows->group_count += worker->groups.count;
		rows->unlisted_count += worker->unlisted_count;
	}
	return NULL;
}

struct err *bad_frees_rows_find(const struct model *model, const struct sweep_limits *limits,
				struct bad_frees_rows *rows)
{
	const uint64_t segments = div_up(model_row_count(model), MODEL_SEGMENT);
	CLEAN(pass_destroy) struct pass *pass = calloc(1, sizeof(*pass));
	struct err *err;

	assert(limits);
	if (!pass || !pass_init(pass, model, sweep_workers(limits, segments)))
		return err_nomem();
	err = sweep_run(limits, segments, segment_take, pass->workers, sizeof(*pass->workers),
			pass->worker_count);
	if (err)
		return err;
	for (size_t i = pass->stray_count; i < pass->worker_count * pass->stray_count; i++) {
		struct bad_frees_place *to = &pass->places[i % pass->stray_count];

		to->before = later_row(to->before, pass->places[i].before);
		to->around = later_row(to->around, pass->places[i].around);
	}
	rows->places = steal(pass->places);
	return groups_join(pass, rows);
}

void bad_frees_rows_deinit(struct bad_frees_rows *rows)
{
	free(rows->places);
	free(rows->groups);
}
