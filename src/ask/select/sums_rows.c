/* Sums computed from rows: for a moment, and for a span of time. */
#include <assert.h>

#include "base/big.h"
#include "select/passes.h"
#include "select/sums_rows.h"
#include "sums/sums.h"

static void total_up(struct sums *sums)
{
	for (size_t i = 0; i < model_stack_count(sums->model); i++)
		metric_sums_add(&sums->total, sums_of_stack(sums, i));
}

static void sum_take(struct model_sum *sum, uint64_t bytes)
{
	sum->count++;
	sum->bytes += bytes;
}

/* --- a moment ------------------------------------------------------------------------------ */

static void sums_from_moments(const struct model *model, uint64_t ns,
			      struct model_stack_sums *stacks)
{
	struct model_stack_moment *moments = (void *)stacks; /* converted in place: large */

	static_assert(sizeof(*moments) == sizeof(*stacks), "turned in place");
	/* Moments exclude events at their own time. */
	model_stack_moments(model, ns == UINT64_MAX ? ns : ns + 1, moments);
	for (size_t i = 0; i < model_stack_count(model); i++) {
		const struct model_stack_moment moment = moments[i];
		const struct model_sum live = {
			.count = moment.allocated.count - moment.freed.count,
			.bytes = moment.allocated.bytes - moment.freed.bytes,
		};

		stacks[i] = (struct model_stack_sums) {
			.allocated = moment.allocated,
			.peak = live,
			.leaked = live,
			.temporary = moment.temporary,
		};
	}
}

static void take_at(struct model_stack_sums *stacks, const struct pass_rows *rows, size_t i,
		    uint64_t ns)
{
	struct model_stack_sums *stack = &stacks[rows->stack[i]];

	if (rows->alloc_ns[i] > ns)
		return;
	sum_take(&stack->allocated, rows->size[i]);
	if (rows->free_ns[i] > ns) {
		sum_take(&stack->peak, rows->size[i]);
		sum_take(&stack->leaked, rows->size[i]);
	} else if (rows->flags[i] & MODEL_ALLOCATION_TEMPORARY) {
		sum_take(&stack->temporary, rows->size[i]);
	}
}

struct err *sums_into_at(const struct model *model, const struct selection *selection, uint64_t ns,
			 struct model_stack_sums *stacks)
{
	CLEAN(free) struct pass_rows *rows = malloc(sizeof(*rows));
	struct pass pass = pass_begin(model, selection);

	assert(!selection || selection->model == model);
	if (!rows)
		return err_nomem();
	if (pass_is_all(&pass)) {
		sums_from_moments(model, ns, stacks);
		pass.at = pass.end;
	} else {
		pass = pass_begin_between(model, selection, 0, ns);
	}
	while (pass_next(&pass)) {
		pass_rows_read(&pass, rows);
		for (size_t i = 0; i < pass.count; i++)
			take_at(stacks, rows, i, ns);
	}
	return NULL;
}

struct err *sums_at(const struct model *model, const struct selection *selection, uint64_t ns,
		    struct arena *arena, struct sums *sums_ret)
{
	struct model_stack_sums *stacks =
		arena_array(arena, model_stack_count(model), sizeof(*stacks));
	struct sums sums = { .model = model, .stacks = sums_by_id(model, stacks) };
	struct err *err = stacks ? sums_into_at(model, selection, ns, stacks) : err_nomem();

	if (err)
		return err;
	total_up(&sums);
	*sums_ret = sums;
	return NULL;
}

/* --- a span of time ------------------------------------------------------------------------ */

static void take_between(struct model_stack_sums *stacks, const struct pass_rows *rows, size_t i,
			 uint64_t until_ns)
{
	struct model_stack_sums *stack = &stacks[rows->stack[i]];

	sum_take(&stack->allocated, rows->size[i]);
	if (rows->free_ns[i] > until_ns)
		sum_take(&stack->leaked, rows->size[i]);
	if (rows->flags[i] & MODEL_ALLOCATION_TEMPORARY)
		sum_take(&stack->temporary, rows->size[i]);
}

/* From all rows, if there are fewer stacks than rows. */
static struct err *span_sum_up(const struct model *model, uint64_t from_ns, uint64_t until_ns,
			       struct model_stack_sums *stacks)
{
	const size_t count = model_stack_count(model);
	CLEAN(free)
	struct model_stack_moment *moments = big_calloc(count + 1, sizeof(*moments));

	if (!moments)
		return err_nomem();
	return sums_of_span(model, from_ns, until_ns, moments, stacks);
}

struct err *sums_between(const struct model *model, const struct selection *selection,
			 uint64_t from_ns, uint64_t until_ns, struct arena *arena,
			 struct sums *sums_ret)
{
	struct model_stack_sums *stacks =
		arena_array(arena, model_stack_count(model), sizeof(*stacks));
	CLEAN(free) struct pass_rows *rows = malloc(sizeof(*rows));
	struct pass pass = pass_begin_between(model, selection, from_ns, until_ns);
	struct sums sums = { .model = model, .stacks = sums_by_id(model, stacks) };

	assert(from_ns <= until_ns);
	assert(!selection || selection->model == model);
	if (!stacks || !rows)
		return err_nomem();
	if (!pass.selection && pass.begin + model_stack_count(model) < pass.end) {
		struct err *err = span_sum_up(model, from_ns, until_ns, stacks);

		if (err)
			return err;
		pass.at = pass.end;
	}
	while (pass_next(&pass)) {
		pass_rows_read(&pass, rows);
		for (size_t i = 0; i < pass.count; i++)
			take_between(stacks, rows, i, until_ns);
	}
	total_up(&sums);
	*sums_ret = sums;
	return NULL;
}

struct err *sums_allocated_between(const struct model *model, uint64_t from_ns, uint64_t until_ns,
				   struct arena *arena, struct sums *sums_ret)
{
	const size_t count = model_stack_count(model);
	const uint64_t end_ns = until_ns == UINT64_MAX ? UINT64_MAX : until_ns + 1;
	struct model_stack_sums *stacks = arena_array(arena, count, sizeof(*stacks));
	struct model_stack_moment *moments = (void *)stacks; /* converted in place: large */
	struct sums sums = { .model = model, .stacks = sums_by_id(model, stacks) };

	assert(from_ns <= until_ns);
	static_assert(sizeof(*moments) == sizeof(*stacks), "turned in place");
	if (!stacks)
		return err_nomem();
	model_stack_moments_between(model, from_ns, end_ns, moments);
	for (size_t i = 0; i < count; i++) {
		const struct model_sum allocated = moments[i].allocated;

		stacks[i] = (struct model_stack_sums) { .allocated = allocated };
	}
	total_up(&sums);
	*sums_ret = sums;
	return NULL;
}
