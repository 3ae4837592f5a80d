#include "time/span.h"

#include <assert.h>

#include "base/big.h"
#include "model/following.h"
#include "select/passes.h"

static void sum_add(struct model_sum *to, struct model_sum from)
{
	to->count += from.count;
	to->bytes += from.bytes;
}

static struct model_sum minus(struct model_sum a, struct model_sum b)
{
	return (struct model_sum) { a.count - b.count, a.bytes - b.bytes };
}

static void span_sums_add(struct span_sums *to, const struct span_sums *from)
{
	sum_add(&to->allocated, from->allocated);
	sum_add(&to->survived, from->survived);
	sum_add(&to->temporary, from->temporary);
	sum_add(&to->freed, from->freed);
	sum_add(&to->before, from->before);
	sum_add(&to->after, from->after);
}

static struct model_stack_sums sums_from(const struct span_sums *from)
{
	struct model_stack_sums sums = { .allocated = from->allocated,
					 .peak = from->after,
					 .leaked = from->survived,
					 .temporary = from->temporary };

	sum_add(&sums.allocated, from->before);
	return sums;
}

/* between: the whole span, and what survived it; then: everything until its end. */
static struct span_sums stack_span(const struct model_stack_sums *between,
				   const struct model_stack_moment *all,
				   const struct model_stack_moment *then)
{
	const struct model_sum alive = minus(then->allocated, then->freed);

	return (struct span_sums) {
		.allocated = between->allocated,
		.survived = between->leaked,
		.temporary = between->temporary,
		.freed = all->freed,
		.before = minus(alive, minus(all->allocated, all->freed)),
		.after = alive,
	};
}

static uint64_t moment_after(uint64_t ns)
{
	return ns == UINT64_MAX ? ns : ns + 1;
}

/* From all rows: two moments, and the allocations in between. */
static struct err *stacks_of_all(const struct span *span, const struct model *model,
				 struct span_sums *stacks)
{
	const size_t count = model_stack_count(model);
	CLEAN(free)
	struct model_stack_moment *moments = big_calloc(2 * count + 1, sizeof(*moments));
	CLEAN(free) struct model_stack_sums *between = big_calloc(count + 1, sizeof(*between));
	struct err *err;

	if (!moments || !between)
		return err_nomem();
	err = sums_of_span(model, span->from_ns, span->until_ns, moments, between);
	if (!err)
		model_stack_moments(model, moment_after(span->until_ns), moments + count);
	for (size_t i = 0; i < count && !err; i++)
		stacks[i] = stack_span(&between[i], &moments[i], &moments[count + i]);
	return err;
}

/* Without rows: the sums now, and what happened since. */
static struct err *stacks_of_followed(const struct span *span, const struct model *model,
				      struct span_sums *stacks)
{
	const size_t count = model_stack_count(model);
	CLEAN(free) struct model_stack_moment *moments = big_calloc(count + 1, sizeof(*moments));

	if (!moments)
		return err_nomem();
	model_window_moments(model, span->from_ns, moments);
	for (size_t i = 0; i < count; i++) {
		const struct model_stack_moment *since = &moments[i];
		const struct model_sum alive = model_stack_sums(model, i)->leaked;

		stacks[i] = (struct span_sums) {
			.allocated = since->allocated,
			.temporary = since->temporary,
			.freed = since->freed,
			.before = minus(alive, minus(since->allocated, since->freed)),
			.after = alive,
		};
	}
	return NULL;
}

static void sum_take(struct model_sum *sum, bool is_in, uint64_t bytes)
{
	sum->count += is_in;
	sum->bytes += is_in ? bytes : 0;
}

static void row_take(const struct span *span, struct span_sums *stack, const struct pass_rows *rows,
		     size_t i)
{
	const uint64_t bytes = rows->size[i], alloc_ns = rows->alloc_ns[i];
	const uint64_t free_ns = rows->free_ns[i];
	const bool is_allocated = alloc_ns >= span->from_ns && alloc_ns <= span->until_ns;
	const bool is_left = alloc_ns <= span->until_ns && free_ns > span->until_ns;

	sum_take(&stack->allocated, is_allocated, bytes);
	sum_take(&stack->survived, is_allocated && is_left, bytes);
	sum_take(&stack->temporary, is_allocated && rows->flags[i] & MODEL_ALLOCATION_TEMPORARY,
		 bytes);
	sum_take(&stack->freed, free_ns >= span->from_ns && free_ns <= span->until_ns, bytes);
	sum_take(&stack->before, alloc_ns < span->from_ns && free_ns >= span->from_ns, bytes);
	sum_take(&stack->after, is_left, bytes);
}

static struct err *stacks_of_pass(const struct span *span, struct pass *pass,
				  struct span_sums *stacks)
{
	CLEAN(free) struct pass_rows *rows = malloc(sizeof(*rows));

	if (!rows)
		return err_nomem();
	while (pass_next(pass)) {
		pass_rows_read(pass, rows);
		for (size_t i = 0; i < pass->count; i++)
			row_take(span, &stacks[rows->stack[i]], rows, i);
	}
	return NULL;
}

struct err *span_find(const struct model *model, const struct selection *selection,
		      uint64_t from_ns, uint64_t until_ns, struct arena *arena,
		      struct span *span_ret)
{
	const size_t count = model_stack_count(model);
	struct span_sums *stacks = arena_array(arena, count, sizeof(*stacks));
	struct model_stack_sums *sums = arena_array(arena, count, sizeof(*sums));
	struct span span = { .from_ns = from_ns, .until_ns = until_ns, .stacks = stacks };
	struct pass pass = pass_begin(model, selection);
	struct err *err;

	assert(!model_is_followed(model) || pass_is_all(&pass));
	assert(from_ns <= until_ns);
	assert(!selection || selection->model == model);
	if (!stacks || !sums)
		return err_nomem();
	if (model_is_followed(model))
		err = stacks_of_followed(&span, model, stacks);
	else
		err = pass_is_all(&pass) ? stacks_of_all(&span, model, stacks)
					 : stacks_of_pass(&span, &pass, stacks);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		sums[i] = sums_from(&stacks[i]);
		span_sums_add(&span.total, &stacks[i]);
	}
	span.sums = (struct sums) { model, sums_by_id(model, sums), sums_from(&span.total) };
	*span_ret = span;
	return NULL;
}

struct err *span_by_site(const struct span *span, const struct sites *sites, struct arena *arena,
			 struct span_sums **by_site_ret)
{
	struct span_sums *by_site = arena_array(arena, sites->count, sizeof(*by_site));

	assert(sites->sums->model == span->sums.model);
	if (!by_site)
		return err_nomem();
	for (size_t i = 0; i < model_stack_count(span->sums.model); i++) {
		if (sites->site_of[i] != UINT32_MAX)
			span_sums_add(&by_site[sites->site_of[i]], &span->stacks[i]);
	}
	*by_site_ret = by_site;
	return NULL;
}
