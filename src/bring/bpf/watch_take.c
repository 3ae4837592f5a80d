/*
 * Takes what the kernel has, to be written: blocks by process and by time, and the stacks.
 */
#include "base/monotonic.h"
#include "base/sort.h"
#include "bpf/watch_parts.h"

static bool take_block(void *context, const struct probes_key *key,
		       const struct probes_block *block)
{
	struct watch *watch = context;

	return watch_is_over(watch, key->pid, block->ns) ||
	       watch_blocks_push(&watch->blocks, (struct watch_block) {
							 .ns = block->ns,
							 .address = key->address,
							 .size = block->size,
							 .stack = block->stack,
							 .pid = key->pid,
							 .tid = block->tid,
							 .fn = block->fn,
						 });
}

static bool take_stack(void *context, uint64_t key, const struct probes_stack *stack)
{
	struct watch *watch = context;
	const uint32_t depth = (uint32_t)u64_min(stack->depth, PROBES_FRAMES_MAX);
	uint64_t *index = map_put(&watch->stack_of, key, NULL);

	if (!index || !vec_u64_reserve(&watch->frames, watch->frames.count + depth))
		return false;
	*index = watch->stacks.count;
	if (!watch_stacks_push(&watch->stacks, (struct watch_stack) {
						       .key = key,
						       .freed_count = stack->freed_count,
						       .freed_bytes = stack->freed_bytes,
						       .first = watch->frames.count,
						       .pid = stack->pid,
						       .depth = depth,
						       .end = stack->end,
					       }))
		return false;
	for (uint32_t i = 0; i < depth; i++)
		vec_u64_push(&watch->frames, stack->frames[i]);
	return true;
}

static int compare_blocks(const void *context, const void *a, const void *b)
{
	const struct watch_block *left = a, *right = b;

	(void)context;
	return left->pid != right->pid ? sort_compare_u64(left->pid, right->pid)
				       : sort_compare_u64(left->ns, right->ns);
}

/* An entry may have been read twice, or two blocks at one address: the last one holds. */
static bool remove_former(struct watch_blocks *blocks)
{
	CLEAN(map_deinit) struct map latest = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < blocks->count; i++) {
		const struct watch_block *block = &blocks->items[i];
		uint64_t *place =
			map_put(&latest, block->address ^ (uint64_t)block->pid << 48, NULL);

		if (!place)
			return false;
		*place = i;
	}
	for (size_t i = 0; i < blocks->count; i++) {
		const struct watch_block *block = &blocks->items[i];

		if (*map_find(&latest, block->address ^ (uint64_t)block->pid << 48) == i)
			blocks->items[kept++] = *block;
	}
	blocks->count = kept;
	return true;
}

static int compare_lives(const void *context, const void *a, const void *b)
{
	const struct watch_live *left = a, *right = b;

	(void)context;
	return sort_compare_u64(right->bytes, left->bytes);
}

static bool sum(struct watch *watch)
{
	struct watch_lives *lives = &watch->lives;

	lives->count = 0;
	for (size_t i = 0; i < watch->blocks.count; i++) {
		const struct watch_block *block = &watch->blocks.items[i];
		const struct watch_process *process = watch_process_find(watch, (pid_t)block->pid);
		struct watch_live *last = lives->count ? &lives->items[lives->count - 1] : NULL;

		if (!last || (uint32_t)last->pid != block->pid) {
			last = watch_lives_add(lives);
			if (!last)
				return false;
			*last = (struct watch_live) { .pid = (pid_t)block->pid,
						      .exe = process && process->exe ? process->exe
										     : "" };
		}
		last->bytes += block->size;
		last->count++;
	}
	if (lives->count == 0 && watch->settings.pid > 0 &&
	    !watch_lives_push(lives, (struct watch_live) { .pid = watch->settings.pid, .exe = "" }))
		return false;
	return sort_stable(lives->items, lives->count, sizeof(*lives->items), compare_lives, NULL);
}

struct err *watch_take(struct watch *watch, const struct watch_live **lives_ret, size_t *count_ret)
{
	struct err *err;

	watch->blocks.count = watch->stacks.count = watch->frames.count = 0;
	map_deinit(&watch->stack_of);
	/* First the blocks: the stack of each was there before it, and stays. */
	err = kernel_blocks_each(watch->kernel, take_block, watch);
	watch->taken_ns = monotonic_ns();
	if (!err)
		err = kernel_stacks_each(watch->kernel, take_stack, watch);
	if (err)
		return err;
	if (!sort_stable(watch->blocks.items, watch->blocks.count, sizeof(*watch->blocks.items),
			 compare_blocks, NULL) ||
	    !remove_former(&watch->blocks) || !sum(watch))
		return err_nomem();
	*lives_ret = watch->lives.items;
	*count_ret = watch->lives.count;
	return NULL;
}
