/*
 * The state of every stack at a moment: the last checkpoint before it, plus the allocations and
 * frees since. Between two moments: the later state minus the earlier one.
 */
#include <assert.h>

#include "model/parts.h"

/* Values of a batch of rows, or of frees. */
struct batch {
	uint64_t stack[MODEL_BATCH];
	uint64_t size[MODEL_BATCH];
	uint64_t usable[MODEL_BATCH]; /* or slack, of frees */
};

static const struct checkpoint none = { 0 };

/* sign: 1, or -1 to undo them. */
static void add_allocations(const struct model *model, uint64_t first, uint64_t end, uint64_t sign,
			    struct model_stack_moment *moments)
{
	struct batch batch;

	for (uint64_t at = first; at < end; at += MODEL_BATCH) {
		size_t count = u64_min(end - at, MODEL_BATCH);

		model_rows_read(model, MODEL_STACK, at, count, batch.stack);
		model_rows_read(model, MODEL_SIZE, at, count, batch.size);
		model_rows_read(model, MODEL_USABLE, at, count, batch.usable);
		for (size_t i = 0; i < count; i++) {
			struct model_stack_moment *moment = &moments[batch.stack[i]];

			moment->allocated.count += sign;
			moment->allocated.bytes += sign * batch.size[i];
			moment->allocated_usable += sign * batch.usable[i];
		}
	}
}

static void add_frees(const struct model *model, uint64_t first, uint64_t end, uint64_t sign,
		      struct model_stack_moment *moments)
{
	struct batch batch;

	for (uint64_t at = first; at < end; at += MODEL_BATCH) {
		size_t count = u64_min(end - at, MODEL_BATCH);

		table_freed_read(model, FREED_STACK, at, count, batch.stack);
		table_freed_read(model, FREED_SIZE, at, count, batch.size);
		table_freed_read(model, FREED_SLACK, at, count, batch.usable);
		for (size_t i = 0; i < count; i++) {
			struct model_stack_moment *moment = &moments[batch.stack[i]];
			const uint64_t slack = batch.usable[i] >> 1;
			const uint64_t temporary = sign * (batch.usable[i] & 1);

			moment->freed.count += sign;
			moment->freed.bytes += sign * batch.size[i];
			moment->freed_usable += sign * (batch.size[i] + slack);
			moment->temporary.count += temporary;
			moment->temporary.bytes += temporary * batch.size[i];
		}
	}
}

/* A position in the order of allocations and in that of frees. */
struct place {
	uint64_t row;
	uint64_t freed;
};

static struct place place_at(const struct model *model, uint64_t ns)
{
	return (struct place) { model_row_at(model, ns), model_free_at(model, ns) };
}

/* The last one before it; there is always `none`. */
static const struct checkpoint *checkpoint_before(const struct model *model, struct place place)
{
	const struct table *table = &model->table;
	const struct checkpoint *best = &none;

	for (size_t i = 0; i < table->checkpoint_count; i++) {
		const struct checkpoint *point = &table->checkpoints[i];

		if (point->row_count <= place.row && point->freed_count <= place.freed &&
		    point->row_count + point->freed_count >= best->row_count + best->freed_count)
			best = point;
	}
	return best;
}

static void add_since(const struct model *model, const struct checkpoint *point, struct place end,
		      uint64_t sign, struct model_stack_moment *moments)
{
	add_allocations(model, point->row_count, end.row, sign, moments);
	add_frees(model, point->freed_count, end.freed, sign, moments);
}

/* Moments of a checkpoint; those of later stacks are empty. */
static void take_checkpoint(const struct model *model, const struct checkpoint *point,
			    struct model_stack_moment *moments)
{
	if (point->stack_count > 0)
		memcpy(moments, model->table.file + point->offset,
		       point->stack_count * sizeof(*moments));
	memset(moments + point->stack_count, 0,
	       (model->stack_count - point->stack_count) * sizeof(*moments));
}

static struct model_sum minus(struct model_sum a, struct model_sum b)
{
	return (struct model_sum) { a.count - b.count, a.bytes - b.bytes };
}

static void remove_checkpoint(const struct model *model, const struct checkpoint *point,
			      struct model_stack_moment *moments)
{
	const uint8_t *at = model->table.file + point->offset;

	for (size_t i = 0; i < point->stack_count; i++, at += sizeof(*moments)) {
		struct model_stack_moment *moment = &moments[i], before;

		memcpy(&before, at, sizeof(before)); /* no alignment is guaranteed */
		moment->allocated = minus(moment->allocated, before.allocated);
		moment->freed = minus(moment->freed, before.freed);
		moment->temporary = minus(moment->temporary, before.temporary);
		moment->freed_usable -= before.freed_usable;
		moment->allocated_usable -= before.allocated_usable;
	}
}

void model_stack_moments(const struct model *model, uint64_t ns, struct model_stack_moment *moments)
{
	const struct place end = place_at(model, ns);
	const struct checkpoint *point = checkpoint_before(model, end);

	assert(model->table.file);
	take_checkpoint(model, point, moments);
	add_since(model, point, end, 1, moments);
}

void model_stack_moments_between(const struct model *model, uint64_t from_ns, uint64_t until_ns,
				 struct model_stack_moment *moments)
{
	const struct place begin = place_at(model, from_ns), end = place_at(model, until_ns);
	const struct checkpoint *before = checkpoint_before(model, begin);
	const struct checkpoint *after = checkpoint_before(model, end);

	assert(model->table.file);
	assert(from_ns <= until_ns);
	if (before == after) {
		take_checkpoint(model, &none, moments);
		add_allocations(model, begin.row, end.row, 1, moments);
		add_frees(model, begin.freed, end.freed, 1, moments);
		return;
	}
	take_checkpoint(model, after, moments);
	remove_checkpoint(model, before, moments);
	add_since(model, after, end, 1, moments);
	add_since(model, before, begin, UINT64_MAX, moments);
}
