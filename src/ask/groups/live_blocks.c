#include "groups/live_blocks.h"

#include "select/passes.h"

struct reading {
	struct pass pass;
	uint64_t size[MODEL_BATCH];
	uint64_t address[MODEL_BATCH];
	uint64_t free_ns[MODEL_BATCH];
	uint64_t stack[MODEL_BATCH];
};

static void batch_read(struct reading *reading)
{
	pass_read(&reading->pass, MODEL_FREE_NS, reading->free_ns);
	pass_read(&reading->pass, MODEL_SIZE, reading->size);
	pass_read(&reading->pass, MODEL_ADDRESS, reading->address);
	pass_read(&reading->pass, MODEL_STACK, reading->stack);
}

struct err *live_blocks_each(const struct live_blocks *blocks,
			     void (*visit)(void *context, uint32_t group, uint64_t address,
					   uint64_t bytes),
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
			const uint32_t group = blocks->group_of ? blocks->group_of[stack] : stack;

			if (reading->free_ns[i] > blocks->ns && group != UINT32_MAX)
				visit(context, group, reading->address[i], reading->size[i]);
		}
		err = blocks->limits ? sweep_check(blocks->limits) : NULL;
	}
	return err;
}
