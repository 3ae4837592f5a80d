/* Evaluating a plan over rows. */
#include "select/filter.h"

#include <assert.h>

#include "select/filter_plan.h"

enum {
	WORDS = MODEL_BATCH / 64, /* of a batch's mask: one bit a row */
	SEGMENT_WORDS = MODEL_SEGMENT / 64
};

static_assert(MODEL_SEGMENT % MODEL_BATCH == 0, "segments are whole batches");
static_assert(MODEL_BATCH % 64 == 0, "batches are whole words");

/* --- a batch ------------------------------------------------------------------------------- */

/* Bit mask of values between low and high, both inclusive. */
static void mask_range(const uint64_t *values, struct plan_range range, uint64_t *mask)
{
	const uint64_t span = range.high - range.low;

	for (size_t word = 0; word < WORDS; word++) {
		uint64_t bits = 0;

		for (size_t i = 0; i < 64; i++)
			bits |= (uint64_t)(values[word * 64 + i] - range.low <= span) << i;
		mask[word] |= bits;
	}
}

static void mask_ranges(const struct plan *plan, const uint64_t *values, uint64_t *mask)
{
	enum { FEW = 4 };

	memset(mask, 0, WORDS * sizeof(*mask));
	if (plan->range_count > FEW) {
		for (size_t i = 0; i < MODEL_BATCH; i++)
			mask[i / 64] |= (uint64_t)plan_ranges_have(plan, values[i]) << i % 64;
		return;
	}
	for (size_t i = 0; i < plan->range_count; i++)
		mask_range(values, plan->ranges[i], mask);
	if (plan->takes_none)
		mask_range(values, (struct plan_range) { FIELD_NONE, FIELD_NONE }, mask);
}

/* Ids beyond the bits are not set. */
static void mask_bits(const struct plan *plan, const uint64_t *ids, size_t count, uint64_t *mask)
{
	memset(mask, 0, WORDS * sizeof(*mask));
	for (size_t i = 0; i < count; i++) {
		const bool is_in = ids[i] < plan->bit_count
					   ? plan->bits[ids[i] / 64] >> ids[i] % 64 & 1
					   : plan->takes_none;

		mask[i / 64] |= (uint64_t)is_in << i % 64;
	}
}

static void mask_fill(uint64_t *mask, bool value)
{
	memset(mask, value ? 0xff : 0, WORDS * sizeof(*mask));
}

static bool mask_is_empty(const uint64_t *mask)
{
	uint64_t any = 0;

	for (size_t i = 0; i < WORDS; i++)
		any |= mask[i];
	return !any;
}

/* One bound of a comparison, for every row. */
static const uint64_t *bound_read(const struct field *field, uint64_t constant, struct batch *batch,
				  uint64_t *values)
{
	if (field)
		field_read(field, batch, values);
	for (size_t i = 0; !field && i < batch->count; i++)
		values[i] = constant;
	return values;
}

static void eval_compare(const struct plan *plan, struct batch *batch, uint64_t *mask)
{
	uint64_t values[MODEL_BATCH], lows[MODEL_BATCH], highs[MODEL_BATCH];

	bound_read(plan->low, plan->ranges->low, batch, lows);
	bound_read(plan->high, plan->ranges->high, batch, highs);
	field_read(plan->field, batch, values);
	memset(mask, 0, WORDS * sizeof(*mask));
	for (size_t i = 0; i < batch->count; i++) {
		const bool is_known =
			values[i] != FIELD_NONE && lows[i] != FIELD_NONE && highs[i] != FIELD_NONE;
		const bool is_in =
			(plan->low_is_open ? values[i] > lows[i] : values[i] >= lows[i]) &&
			(plan->high_is_open ? values[i] < highs[i] : values[i] <= highs[i]);

		mask[i / 64] |= (uint64_t)(is_known && is_in) << i % 64;
	}
}

/* Bits beyond the batch's rows are undefined: the caller masks them out. */
static void eval_leaf(const struct plan *plan, struct batch *batch, uint64_t *mask)
{
	uint64_t values[MODEL_BATCH];

	switch (plan->kind) {
	case PLAN_RANGES:
		if (plan->field->column) {
			mask_ranges(
				plan,
				batch_column(batch, (enum model_column)(plan->field->column - 1)),
				mask);
			return;
		}
		memset(values + batch->count, 0, (MODEL_BATCH - batch->count) * sizeof(*values));
		field_read(plan->field, batch, values);
		mask_ranges(plan, values, mask);
		return;
	case PLAN_COMPARE:
		eval_compare(plan, batch, mask);
		return;
	case PLAN_IDS:
		field_read(plan->field, batch, values);
		mask_bits(plan, values, batch->count, mask);
		return;
	case PLAN_STACKS:
		mask_bits(plan, batch_column(batch, plan->column), batch->count, mask);
		return;
	case PLAN_ALL:
	case PLAN_NOTHING:
		mask_fill(mask, plan->kind == PLAN_ALL);
		return;
	case PLAN_AND:
	case PLAN_OR:
	case PLAN_NOT:
		assert(false);
	}
}

/*
 * Sets mask to the rows of `asked` that pass; other bits are 0. Recursion is as deep as the
 * expression's parentheses.
 */
static void eval(const struct plan *plan, struct batch *batch, const uint64_t *asked,
		 uint64_t *mask)
{
	uint64_t part[WORDS], rest[WORDS];

	if (plan->kind > PLAN_NOT) {
		eval_leaf(plan, batch, mask);
		for (size_t i = 0; i < WORDS; i++)
			mask[i] &= asked[i];
		return;
	}
	memcpy(rest, asked, sizeof(rest)); /* undecided rows */
	mask_fill(mask, false);
	for (size_t at = 0; at < plan->part_count && !mask_is_empty(rest); at++) {
		eval(plan->parts[at], batch, rest, part);
		for (size_t i = 0; i < WORDS; i++) {
			if (plan->kind == PLAN_AND)
				rest[i] = part[i];
			else
				rest[i] &= ~part[i];
		}
	}
	for (size_t i = 0; i < WORDS; i++)
		mask[i] = plan->kind == PLAN_OR ? asked[i] & ~rest[i] : rest[i];
}

/* --- a segment, by its bounds alone -------------------------------------------------------- */

enum verdict { VERDICT_NONE, VERDICT_SOME, VERDICT_ALL };

static enum verdict judge_ranges(const struct plan *plan, struct model_bounds bounds)
{
	const bool has_none = bounds.max == FIELD_NONE;
	bool some = has_none && plan->takes_none;

	if (bounds.min == FIELD_NONE)
		return plan->takes_none ? VERDICT_ALL : VERDICT_NONE;
	for (size_t i = 0; i < plan->range_count; i++) {
		const struct plan_range *range = &plan->ranges[i];

		if (range->low <= bounds.min && !has_none && bounds.max <= range->high)
			return VERDICT_ALL;
		some |= range->low <= bounds.max && bounds.min <= range->high;
	}
	return some ? VERDICT_SOME : VERDICT_NONE;
}

static enum verdict judge_leaf(const struct plan *plan, const struct model *model, uint64_t segment)
{
	struct model_bounds bounds;

	switch (plan->kind) {
	case PLAN_ALL:
		return VERDICT_ALL;
	case PLAN_NOTHING:
		return VERDICT_NONE;
	case PLAN_RANGES:
		if (plan->field->column &&
		    model_segment_bounds(model, (enum model_column)(plan->field->column - 1),
					 segment, &bounds))
			return judge_ranges(plan, bounds);
		return VERDICT_SOME;
	case PLAN_COMPARE:
	case PLAN_IDS:
	case PLAN_STACKS:
	case PLAN_AND:
	case PLAN_OR:
	case PLAN_NOT:
		break;
	}
	return VERDICT_SOME;
}

static enum verdict judge(const struct plan *plan, const struct model *model, uint64_t segment)
{
	/* Stops at the first NONE, or at the first ALL. */
	const enum verdict strong = plan->kind == PLAN_AND ? VERDICT_NONE : VERDICT_ALL;
	const enum verdict weak = plan->kind == PLAN_AND ? VERDICT_ALL : VERDICT_NONE;
	enum verdict verdict = weak;

	if (plan->kind > PLAN_NOT)
		return judge_leaf(plan, model, segment);
	if (plan->kind == PLAN_NOT)
		return VERDICT_ALL - judge(plan->parts[0], model, segment);
	for (size_t i = 0; i < plan->part_count; i++) {
		const enum verdict part = judge(plan->parts[i], model, segment);

		if (part == strong)
			return strong;
		if (part == VERDICT_SOME)
			verdict = VERDICT_SOME;
	}
	return verdict;
}

/* --- all rows ------------------------------------------------------------------------------ */

struct worker {
	const struct filter *filter;
	struct batch *batch;
	uint64_t *bits;
	uint64_t row_count;
};

/* Bit mask of existing rows. */
static uint64_t rows_mask(size_t count, size_t word)
{
	if (count >= (word + 1) * 64)
		return UINT64_MAX;
	return count <= word * 64 ? 0 : (UINT64_C(1) << (count - word * 64)) - 1;
}

static void do_batch(const struct worker *worker, uint64_t first, enum verdict verdict)
{
	uint64_t *mask = worker->bits + first / 64;
	uint64_t asked[WORDS];
	const size_t count = u64_min(worker->row_count - first, MODEL_BATCH);

	for (size_t i = 0; i < WORDS; i++)
		asked[i] = rows_mask(count, i);
	if (verdict == VERDICT_ALL) {
		memcpy(mask, asked, sizeof(asked));
		return;
	}
	batch_rows(worker->batch, worker->filter->facts, first, count);
	eval(worker->filter->plan, worker->batch, asked, mask);
}

static struct err *do_segment(void *context, uint64_t segment)
{
	const struct worker *worker = context;
	const struct filter *filter = worker->filter;
	const uint64_t first = segment * MODEL_SEGMENT;
	const uint64_t end = u64_min(first + MODEL_SEGMENT, worker->row_count);
	const enum verdict verdict = judge(filter->plan, filter->facts->model, segment);

	memset(worker->bits + first / 64, 0, SEGMENT_WORDS * sizeof(*worker->bits));
	for (uint64_t at = first; verdict != VERDICT_NONE && at < end; at += MODEL_BATCH)
		do_batch(worker, at, verdict);
	return NULL;
}

struct err *filter_rows(const struct filter *filter, const struct sweep_limits *limits,
			uint64_t *bits)
{
	const uint64_t row_count = model_row_count(filter->facts->model);
	const uint64_t segment_count = div_up(row_count, MODEL_SEGMENT);
	const size_t count = sweep_workers(limits, segment_count);
	CLEAN(free) struct batch *batches = calloc(count, sizeof(*batches));
	struct worker workers[SWEEP_WORKERS_MAX];

	assert(bits || row_count == 0);
	if (!batches)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		workers[i] = (struct worker) { filter, &batches[i], bits, row_count };
	return sweep_run(limits, segment_count, do_segment, workers, sizeof(*workers), count);
}
