#include "groups/grouping.h"

#include <assert.h>

#include "base/map.h"
#include "groups/lifetimes.h"
#include "sums/firsts.h"

enum { AHEAD = 24 /* prefetch distance in stacks */ };

/* --- rows by their stack ------------------------------------------------------------------- */

static uint64_t text_key(const char *text, uint64_t seed)
{
	return text ? hash_bytes(text, strlen(text), seed + 1) : 0;
}

/* Rows with equal keys are one group. */
static uint64_t site_key(const struct grouping *grouping, const struct name_frame *site,
			 uint32_t stack)
{
	struct names *names = grouping->selection->names;

	switch (grouping->by) {
	case GROUP_BY_FUNCTION:
		return site->name;
	case GROUP_BY_SOURCE:
		return text_key(site->file, site->line);
	case GROUP_BY_MODULE:
		return text_key(names_get(names, site->name)->module, 0);
	case GROUP_BY_STACK:
	case GROUP_BY_THREAD:
	case GROUP_BY_SIZE:
	case GROUP_BY_MARK:
	case GROUP_BY_TAG:
	case GROUP_BY_POOL:
	case GROUP_BY_CALL:
	case GROUP_BY_LIFETIME:
	case GROUP_BY_PROCESS:
		break;
	}
	return stack;
}

/* A group's place in the code is that of its stack with the most bytes: see `stack` of struct group. */
static struct err *group_stacks(struct grouping *grouping, enum walk_mode mode, struct arena *arena)
{
	const struct selection *selection = grouping->selection;
	const size_t stack_count = model_stack_count(selection->model);
	CLEAN(map_deinit) struct map groups = { 0 };
	CLEAN(firsts_deinit) struct firsts firsts = { 0 };
	CLEAN(free) uint64_t *most_bytes = calloc(stack_count + 1, sizeof(*most_bytes));

	grouping->of_stack = arena_array(arena, stack_count, sizeof(*grouping->of_stack));
	grouping->sites = arena_array(arena, stack_count, sizeof(*grouping->sites));
	if (!grouping->of_stack || !grouping->sites || !most_bytes)
		return err_nomem();
	if (grouping->by == GROUP_BY_MODULE && mode == WALK_MY)
		mode = WALK_EXACT; /* which libraries allocate */
	if (!firsts_init(&firsts, selection->model, selection->names, mode))
		return err_nomem();
	for (uint32_t i = 0; i < stack_count; i++) {
		const uint64_t bytes = sums_of_stack(&selection->sums, i)->allocated.bytes;
		const struct name_frame *site;
		uint64_t *place;
		bool is_new;

		grouping->of_stack[i] = UINT32_MAX;
		if (model_stack_sums(selection->model, i)->allocated.count == 0)
			continue;
		site = firsts_get(&firsts, i);
		place = map_put(&groups, site_key(grouping, site, i), &is_new);
		if (!place)
			return err_nomem();
		if (is_new)
			*place = grouping->count++;
		if (is_new || bytes > most_bytes[*place]) {
			grouping->sites[*place] = site;
			most_bytes[*place] = bytes;
		}
		grouping->of_stack[i] = (uint32_t)*place;
	}
	return NULL;
}

/* --- rows by something else ---------------------------------------------------------------- */

/* Marks with the same text are one group; the last group is for rows before the first mark. */
static struct err *group_marks(struct grouping *grouping, struct arena *arena)
{
	const struct facts *facts = grouping->selection->facts;

	grouping->count = facts->mark_count + 1;
	grouping->of_mark = arena_array(arena, grouping->count, sizeof(*grouping->of_mark));
	if (!grouping->of_mark)
		return err_nomem();
	for (uint32_t i = 0; i < facts->mark_count; i++) {
		uint32_t first = 0;

		while (strcmp(facts->marks[first]->text, facts->marks[i]->text) != 0)
			first++;
		grouping->of_mark[i] = first;
	}
	return NULL;
}

/*
 * Several tape numbers are one function for callers: realloc(NULL, n), realloc(p, n).
 */
static struct err *group_calls(struct grouping *grouping, struct arena *arena)
{
	grouping->count = TAPE_FN_COUNT;
	grouping->of_call = arena_array(arena, grouping->count, sizeof(*grouping->of_call));
	if (!grouping->of_call)
		return err_nomem();
	for (uint32_t i = 0; i < TAPE_FN_COUNT; i++) {
		const char *name = tape_fn_name((enum tape_fn)i);
		uint32_t first = 0;

		while (first < i && (!name || !tape_fn_name((enum tape_fn)first) ||
				     strcmp(tape_fn_name((enum tape_fn)first), name) != 0))
			first++;
		grouping->of_call[i] = first;
	}
	return NULL;
}

struct err *grouping_init(struct grouping *grouping, const struct selection *selection,
			  enum group_by by, enum walk_mode mode, struct arena *arena)
{
	assert((unsigned)by < GROUP_BYS);
	assert(mode <= WALK_ALL);
	*grouping = (struct grouping) { .by = by, .selection = selection };
	switch (by) {
	case GROUP_BY_STACK:
	case GROUP_BY_FUNCTION:
	case GROUP_BY_SOURCE:
	case GROUP_BY_MODULE:
		return group_stacks(grouping, mode, arena);
	case GROUP_BY_THREAD:
		grouping->count = model_thread_count(selection->model);
		break;
	case GROUP_BY_SIZE:
		grouping->count = MODEL_SIZE_BUCKETS;
		break;
	case GROUP_BY_MARK:
		return group_marks(grouping, arena);
	case GROUP_BY_TAG: /* the last one is for rows without */
		grouping->count = selection->facts->tags.count + 1;
		break;
	case GROUP_BY_POOL: /* the last one is for the heap */
		grouping->count = model_pool_count(selection->model) + 1;
		break;
	case GROUP_BY_CALL:
		return group_calls(grouping, arena);
	case GROUP_BY_LIFETIME:
		grouping->count = LIFETIME_BUCKETS + 1;
		break;
	case GROUP_BY_PROCESS:
		grouping->count = selection->facts->members.count;
		break;
	}
	return NULL;
}

static uint32_t size_bucket(uint64_t size)
{
	return size ? 64 - (uint32_t)__builtin_clzll(size) : 0;
}

static uint32_t mark_group(const struct grouping *grouping, uint64_t ns)
{
	const uint64_t mark = facts_mark_at(grouping->selection->facts, ns);

	return mark == UINT64_MAX ? (uint32_t)grouping->count - 1 : grouping->of_mark[mark];
}

static void keys_by_lifetime(struct batch *batch, const uint64_t *end, uint32_t *keys)
{
	const uint64_t *begin = batch_column(batch, MODEL_ALLOC_NS);

	for (size_t i = 0; i < batch->count; i++)
		keys[i] = end[i] == MODEL_NEVER ? (uint32_t)LIFETIME_BUCKETS
						: lifetimes_bucket(end[i] - begin[i]);
}

static void keys_by_tag(const struct grouping *grouping, struct batch *batch, const uint64_t *ns,
			uint32_t *keys)
{
	const struct tags *tags = &grouping->selection->facts->tags;
	const uint64_t *threads = batch_column(batch, MODEL_THREAD);

	for (size_t i = 0; i < batch->count; i++) {
		const uint32_t tag = threads[i] == MODEL_NO_THREAD
					     ? TAG_NONE
					     : tags_at(tags, (uint32_t)threads[i], ns[i]);

		keys[i] = tag == TAG_NONE ? tags->count : tag;
	}
}

/* Stacks may be millions: a loop with nothing else, so that many lookups overlap. */
static void keys_by_stack(const struct grouping *grouping, const uint64_t *stacks, size_t count,
			  uint32_t *keys)
{
	const uint32_t *of_stack = grouping->of_stack;
	uint32_t most = 0;

	for (size_t i = 0; i < count; i++) {
		__builtin_prefetch(&of_stack[stacks[u64_min(i + AHEAD, count - 1)]]);
		keys[i] = of_stack[stacks[i]];
		most = keys[i] > most ? keys[i] : most;
	}
	assert(count == 0 || most < grouping->count);
}

void grouping_keys(const struct grouping *grouping, struct batch *batch, uint32_t *keys)
{
	static const enum model_column columns[] = {
		[GROUP_BY_STACK] = MODEL_STACK,	  [GROUP_BY_FUNCTION] = MODEL_STACK,
		[GROUP_BY_SOURCE] = MODEL_STACK,  [GROUP_BY_MODULE] = MODEL_STACK,
		[GROUP_BY_THREAD] = MODEL_THREAD, [GROUP_BY_SIZE] = MODEL_SIZE,
		[GROUP_BY_MARK] = MODEL_ALLOC_NS, [GROUP_BY_CALL] = MODEL_FN,
		[GROUP_BY_TAG] = MODEL_ALLOC_NS,  [GROUP_BY_LIFETIME] = MODEL_FREE_NS,
		[GROUP_BY_PROCESS] = MODEL_STACK, [GROUP_BY_POOL] = MODEL_POOL,
	};
	const uint64_t *values = batch_column(batch, columns[grouping->by]);

	assert((unsigned)grouping->by < GROUP_BYS);
	assert(batch->count <= MODEL_BATCH);
	if (grouping->of_stack) {
		keys_by_stack(grouping, values, batch->count, keys);
		return;
	}
	if (grouping->by == GROUP_BY_LIFETIME) {
		keys_by_lifetime(batch, values, keys);
		return;
	}
	if (grouping->by == GROUP_BY_TAG) {
		keys_by_tag(grouping, batch, values, keys);
		return;
	}
	for (size_t i = 0; i < batch->count; i++) {
		if (grouping->by == GROUP_BY_SIZE)
			keys[i] = size_bucket(values[i]);
		else if (grouping->by == GROUP_BY_MARK)
			keys[i] = mark_group(grouping, values[i]);
		else if (grouping->by == GROUP_BY_CALL)
			keys[i] = grouping->of_call[values[i]];
		else if (grouping->by == GROUP_BY_PROCESS)
			keys[i] = members_of(&grouping->selection->facts->members, values[i]);
		else if (grouping->by == GROUP_BY_POOL)
			keys[i] = (uint32_t)u64_min(values[i], grouping->count - 1);
		else
			keys[i] = (uint32_t)values[i];
		assert(keys[i] < grouping->count);
	}
}

uint64_t grouping_key(const struct grouping *grouping, uint32_t group)
{
	assert(group < grouping->count);
	if (grouping->by == GROUP_BY_FUNCTION)
		return grouping->sites[group]->name;
	if ((grouping->by == GROUP_BY_MARK || grouping->by == GROUP_BY_TAG ||
	     grouping->by == GROUP_BY_POOL) &&
	    group == grouping->count - 1)
		return FIELD_NONE;
	return group;
}

struct err *grouping_numbers(const struct grouping *grouping, const struct group *items,
			     size_t count, uint32_t *number_of)
{
	CLEAN(map_deinit) struct map by_key = { 0 };

	for (size_t i = 0; i < count; i++) {
		uint64_t *place = map_put(&by_key, items[i].key, NULL);

		if (!place)
			return err_nomem();
		*place = i;
	}
	for (uint32_t i = 0; i < grouping->count; i++) {
		const uint64_t *place = map_find(&by_key, grouping_key(grouping, i));

		number_of[i] = place ? (uint32_t)*place : UINT32_MAX;
	}
	return NULL;
}

/* --- going through all rows ---------------------------------------------------------------- */

static struct err *work_segment(void *context, uint64_t segment)
{
	struct group_worker *worker = context;
	const struct selection *selection = worker->grouping->selection;
	const uint64_t first = segment * MODEL_SEGMENT;
	const uint64_t end = u64_min(first + MODEL_SEGMENT, model_row_count(selection->model));
	uint64_t all[MODEL_BATCH / 64];
	uint32_t keys[MODEL_BATCH];

	memset(all, 0xff, sizeof(all));
	for (uint64_t at = first; at < end; at += MODEL_BATCH) {
		batch_rows(worker->batch, selection->facts, at, u64_min(end - at, MODEL_BATCH));
		grouping_keys(worker->grouping, worker->batch, keys);
		worker->visit(worker, keys, selection->bits ? selection->bits + at / 64 : all);
	}
	return NULL;
}

static uint64_t segment_count(const struct grouping *grouping)
{
	return div_up(model_row_count(grouping->selection->model), MODEL_SEGMENT);
}

size_t group_workers_count(const struct grouping *grouping, size_t bytes)
{
	const size_t bytes_max = (size_t)256 << 20;
	const struct sweep_limits *limits = &grouping->selection->limits;

	return u64_max(
		u64_min(sweep_workers(limits, segment_count(grouping)), bytes_max / (bytes + 1)),
		1);
}

struct err *group_workers_run(struct group_worker *workers, size_t count)
{
	const struct sweep_limits *limits = &workers[0].grouping->selection->limits;
	CLEAN(free) struct batch *batches = calloc(count, sizeof(*batches));

	assert(count >= 1 && count <= SWEEP_WORKERS_MAX);
	assert(workers[count - 1].grouping == workers[0].grouping);
	assert(workers[count - 1].visit == workers[0].visit);
	if (!batches)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		workers[i].batch = &batches[i];
	return sweep_run(limits, segment_count(workers[0].grouping), work_segment, workers,
			 sizeof(*workers), count);
}
