#include "groups/live_blocks.h"

#include "select/passes.h"

struct reading {
	struct pass pass;
	uint64_t size[MODEL_BATCH];
	uint64_t address[MODEL_BATCH];
	uint64_t alloc_ns[MODEL_BATCH];
	uint64_t free_ns[MODEL_BATCH];
	uint64_t stack[MODEL_BATCH];
};

static void batch_read(struct reading *reading)
{
	pass_read(&reading->pass, MODEL_ALLOC_NS, reading->alloc_ns);
	pass_read(&reading->pass, MODEL_FREE_NS, reading->free_ns);
	pass_read(&reading->pass, MODEL_SIZE, reading->size);
	pass_read(&reading->pass, MODEL_ADDRESS, reading->address);
	pass_read(&reading->pass, MODEL_STACK, reading->stack);
}

struct err *live_blocks_each(const struct live_blocks *blocks,
			     void (*visit)(void *context, const struct live_block *block),
			     void *context)
{
	CLEAN(free) struct reading *reading = malloc(sizeof(*reading));
	struct err *err = NULL;

	if (!reading)
		return err_nomem();
	reading->pass = pass_begin_between(blocks->model, blocks->selection, 0, blocks->ns);
	while (!err && pass_next(&reading->pass)) {
		batch_read(reading);
		for (size_t i = 0; i < reading->pass.count; i++) {
			const uint32_t stack = (uint32_t)reading->stack[i];
			const struct live_block block = {
				.group = blocks->group_of ? blocks->group_of[stack] : stack,
				.address = reading->address[i],
				.bytes = reading->size[i],
				.alloc_ns = reading->alloc_ns[i],
			};

			if (reading->free_ns[i] > blocks->ns && block.group != UINT32_MAX)
				visit(context, &block);
		}
		err = blocks->limits ? sweep_check(blocks->limits) : NULL;
	}
	return err;
}
