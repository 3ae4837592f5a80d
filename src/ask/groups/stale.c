#include "groups/stale.h"

#include <assert.h>

#include "groups/live_blocks.h"

const uint64_t stale_ages_ns[STALE_AGES] = {
	0,
	UINT64_C(1000000000),
	UINT64_C(10000000000),
	UINT64_C(60000000000),
	UINT64_C(600000000000),
	UINT64_C(3600000000000),
	UINT64_C(86400000000000),
};

struct looking {
	const struct stale_wanted *wanted;
	struct stale_found found;
};

/* Programs free what they have at their end: a look may come in the middle of that. */
static bool is_near_exit(const struct touches *touches, const struct touches_look *look)
{
	const struct model_process *process = model_process(touches->model);

	return look->is_exit || (process->end_kind == TAPE_END_EXIT &&
				 look->ns + touches->period_ns > process->duration_ns);
}

size_t stale_look(const struct touches *touches)
{
	const struct touches_look_vec *looks = &touches->looks;
	size_t look = looks->count;

	assert(look > 0);
	while (look-- > 0)
		if (!looks->items[look].is_first && !is_near_exit(touches, &looks->items[look]))
			return look;
	return looks->count - 1; /* of a short program */
}

static size_t age_of(uint64_t ns)
{
	size_t age = STALE_AGES - 1;

	while (ns < stale_ages_ns[age])
		age--;
	return age;
}

/* A part of a block, in pages that were touched last at the same time, or handed out since. */
static void part_add(struct looking *looking, struct stale_group *site, uint64_t bytes,
		     uint64_t touched_ns)
{
	const uint64_t idle_ns = looking->wanted->ns - u64_min(touched_ns, looking->wanted->ns);
	const bool is_since_begin = touched_ns <= looking->wanted->touches->first_ns;

	if (touched_ns == TOUCHES_NEVER) {
		site->sums.untouched += bytes;
		return;
	}
	looking->found.ages[age_of(idle_ns)] += bytes;
	if (idle_ns < looking->wanted->idle_ns) {
		/* What was there when watching began may have been idle for longer. */
		*(is_since_begin ? &site->sums.unknown : &site->sums.recent) += bytes;
		return;
	}
	site->sums.stale += bytes;
	site->oldest_ns = u64_max(site->oldest_ns, idle_ns);
}

static void block_add(void *context, const struct live_block *block)
{
	struct looking *looking = context;
	struct stale_group *site = &looking->found.groups[block->group];
	const uint64_t address = block->address, bytes = block->bytes;
	const struct touches_run_vec *runs = &looking->wanted->state->runs;
	const uint64_t stale_before = site->sums.stale;
	uint64_t end, known = 0;

	site->sums.blocks++;
	site->sums.bytes += bytes;
	if (__builtin_add_overflow(address, bytes, &end))
		end = address;
	for (size_t i = touches_run_at(looking->wanted->state, address);
	     i < runs->count && runs->items[i].begin < end; i++) {
		const struct touches_run *run = &runs->items[i];
		const uint64_t part = u64_min(end, run->end) - u64_max(address, run->begin);

		part_add(looking, site, part, u64_max(run->ns, block->alloc_ns));
		known += part;
	}
	site->sums.unknown += bytes - known;
	site->sums.stale_blocks += bytes > 0 && site->sums.stale - stale_before == bytes;
}

struct err *stale_find(const struct stale_wanted *wanted, const struct model *model,
		       struct arena *arena, struct stale_found *found_ret)
{
	const struct live_blocks blocks = { .model = model,
					    .selection = wanted->selection,
					    .ns = wanted->ns,
					    .group_of = wanted->group_of,
					    .limits = wanted->limits };
	struct looking looking = { .wanted = wanted };
	struct err *err;

	looking.found.groups =
		arena_array(arena, wanted->group_count + 1, sizeof(*looking.found.groups));
	if (!looking.found.groups)
		return err_nomem();
	err = live_blocks_each(&blocks, block_add, &looking);
	*found_ret = looking.found;
	return err;
}

struct err *stale_stacks(const struct selection *selection, struct arena *arena,
			 struct stale_found *found_ret)
{
	CLEAN(touches_deinit) struct touches touches = { 0 };
	CLEAN(touches_state_deinit) struct touches_state state = { 0 };
	struct stale_wanted wanted = { .selection = selection,
				       .group_count = model_stack_count(selection->model),
				       .touches = &touches,
				       .state = &state,
				       .limits = &selection->limits };
	struct err *err = touches_find(selection->model, &touches);
	size_t look;

	if (!err)
		err = touches_need(&touches);
	if (err)
		return err;
	look = stale_look(&touches);
	wanted.ns = touches.looks.items[look].ns;
	wanted.idle_ns = touches.period_ns;
	err = touches_advance(&touches, look, &state);
	return err ? err : stale_find(&wanted, selection->model, arena, found_ret);
}
