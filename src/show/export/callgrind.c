/*
 * callgrind's format with the six events of Valgrind's --xtree-memory: bytes and blocks alive
 * (cur), allocated (tot) and freed (totFd), with frees attributed to the stacks that freed.
 */
#include "export/call_costs.h"
#include "export/export.h"
#include "select/passes.h"

enum { CUR_BYTES, CUR_BLOCKS, TOT_BYTES, TOT_BLOCKS, FREED_BYTES, FREED_BLOCKS };

static const struct call_costs_event events[] = {
	[CUR_BYTES] = { "curB", "bytes alive" },     [CUR_BLOCKS] = { "curBk", "blocks alive" },
	[TOT_BYTES] = { "totB", "bytes allocated" }, [TOT_BLOCKS] = { "totBk", "blocks allocated" },
	[FREED_BYTES] = { "totFdB", "bytes freed" }, [FREED_BLOCKS] = { "totFdBk", "blocks freed" },
};

/* Frees by stack, attributed to the stacks that freed. */
static struct err *freed_sum(const struct export_context *context, struct call_costs *costs)
{
	const uint64_t until_ns = context->at_ns ? *context->at_ns : MODEL_NEVER - 1;
	CLEAN(free) struct pass *pass = malloc(sizeof(*pass));
	CLEAN(free) uint64_t *values = calloc(3 * MODEL_BATCH, sizeof(*values));
	uint64_t *sizes = values, *ns = values + MODEL_BATCH, *stacks = values + 2 * MODEL_BATCH;

	if (!pass || !values)
		return err_nomem();
	*pass = pass_begin(context->model, context->selection);
	while (pass_next(pass)) {
		pass_read(pass, MODEL_SIZE, sizes);
		pass_read(pass, MODEL_FREE_NS, ns);
		pass_read(pass, MODEL_FREE_STACK, stacks);
		for (size_t i = 0; i < pass->count; i++) {
			if (ns[i] > until_ns)
				continue;
			costs[stacks[i]].values[FREED_BYTES] += sizes[i];
			costs[stacks[i]].values[FREED_BLOCKS]++;
		}
	}
	return NULL;
}

static struct err *callgrind_write(const struct export_context *context, FILE *out)
{
	const struct sums *sums = &context->sums;
	const size_t count = model_stack_count(sums->model);
	CLEAN(free) struct call_costs *costs = calloc(count + 1, sizeof(*costs));
	const struct call_costs_file file = {
		.model = context->model,
		.names = context->names,
		.mode = context->mode,
		.events = events,
		.event_count = array_size(events),
		.costs = costs,
	};
	struct err *err = costs ? freed_sum(context, costs) : err_nomem();

	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		const struct model_stack_sums *at = sums_of_stack(sums, i);

		costs[i].values[CUR_BYTES] = at->leaked.bytes;
		costs[i].values[CUR_BLOCKS] = at->leaked.count;
		costs[i].values[TOT_BYTES] = at->allocated.bytes;
		costs[i].values[TOT_BLOCKS] = at->allocated.count;
	}
	return call_costs_write(&file, out);
}

const struct export_format export_callgrind = {
	.name = "callgrind",
	.summary = "callgrind's format with memory, for callgrind_annotate and KCachegrind",
	.suffix = ".kcg",
	.has_alive = true,
	.kind = EXPORT_SUMS,
	.depth = MODEL_FULL,
	.write = callgrind_write,
};
