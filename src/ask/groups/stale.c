#include "groups/stale.h"

#include <assert.h>

#include "select/passes.h"

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
	struct pass pass;
	uint64_t size[MODEL_BATCH];
	uint64_t address[MODEL_BATCH];
	uint64_t free_ns[MODEL_BATCH];
	uint64_t stack[MODEL_BATCH];
};

size_t stale_look(const struct touches *touches)
{
	const struct touches_look_vec *looks = &touches->looks;
	size_t look = looks->count;

	assert(look > 0);
	while (look-- > 0)
		if (!looks->items[look].is_exit && !looks->items[look].is_first)
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

/* A part of a block, in pages that were touched last at the same time. */
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

static void block_add(struct looking *looking, struct stale_group *site, uint64_t address,
		      uint64_t bytes)
{
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

		part_add(looking, site, part, run->ns);
		known += part;
	}
	site->sums.unknown += bytes - known;
	site->sums.stale_blocks += bytes > 0 && site->sums.stale - stale_before == bytes;
}

static void batch_add(struct looking *looking)
{
	const struct pass *pass = &looking->pass;

	pass_read(pass, MODEL_FREE_NS, looking->free_ns);
	pass_read(pass, MODEL_SIZE, looking->size);
	pass_read(pass, MODEL_ADDRESS, looking->address);
	pass_read(pass, MODEL_STACK, looking->stack);
	for (size_t i = 0; i < pass->count; i++) {
		const uint32_t stack = (uint32_t)looking->stack[i];
		const uint32_t *group_of = looking->wanted->group_of;
		const uint32_t group = group_of ? group_of[stack] : stack;

		if (looking->free_ns[i] > looking->wanted->ns && group != UINT32_MAX)
			block_add(looking, &looking->found.groups[group], looking->address[i],
				  looking->size[i]);
	}
}

struct err *stale_find(const struct stale_wanted *wanted, const struct model *model,
		       struct arena *arena, struct stale_found *found_ret)
{
	CLEAN(free) struct looking *looking = calloc(1, sizeof(*looking));
	struct err *err = NULL;

	if (!looking)
		return err_nomem();
	looking->wanted = wanted;
	looking->found.groups =
		arena_array(arena, wanted->group_count + 1, sizeof(*looking->found.groups));
	if (!looking->found.groups)
		return err_nomem();
	looking->pass = pass_begin_between(model, wanted->selection, 0, wanted->ns);
	while (!err && pass_next(&looking->pass)) {
		batch_add(looking);
		err = wanted->limits ? sweep_check(wanted->limits) : NULL;
	}
	*found_ret = looking->found;
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
