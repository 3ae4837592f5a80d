#include "groups/reallocs.h"

#include <assert.h>

enum { CONSTANT_STEPS_MIN = 8 /* fewer are no pattern */ };

const char *const realloc_order_words[] = { "copied", "length", "size", NULL };

/* --- one chain ----------------------------------------------------------------------------- */

bool realloc_chain_is_constant(const struct realloc_chain *chain)
{
	assert(chain->grown <= chain->steps);
	return chain->grown >= CONSTANT_STEPS_MIN &&
	       chain->increment_max - chain->increment_min <= chain->increment_min / 4;
}

/* Growing in place costs nothing; a doubling copies its final size once. */
static bool is_wasteful(const struct realloc_chain *chain)
{
	return realloc_chain_is_constant(chain) && chain->copied_bytes >= chain->last_bytes;
}

static double power(double base, uint64_t exponent)
{
	double result = 1;

	for (; exponent; exponent >>= 1) {
		if (exponent & 1)
			result *= base;
		base *= base;
	}
	return result;
}

/* The root is between 1 and 2^64; bisection finds it to the last digit shown. */
double realloc_chain_factor(const struct realloc_chain *chain)
{
	const double whole = (double)chain->last_bytes / (double)u64_max(chain->first_bytes, 1);
	double low = 1, high = 2;

	if (chain->first_bytes == 0 || chain->last_bytes <= chain->first_bytes)
		return 0;
	while (power(high, chain->steps) < whole)
		high *= 2;
	for (unsigned i = 0; i < 40; i++) {
		const double middle = (low + high) / 2;

		if (power(middle, chain->steps) < whole)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* --- all of them --------------------------------------------------------------------------- */

/* Chains followed from the last row to the first, in parallel. */
struct walkers {
	size_t count;
	struct realloc_chain chains[MODEL_BATCH];
	uint64_t rows[MODEL_BATCH]; /* current row of each */
	uint64_t sizes[MODEL_BATCH];
	uint64_t addresses[MODEL_BATCH];
	uint64_t before[MODEL_BATCH]; /* the row that it continues */
	uint64_t before_sizes[MODEL_BATCH];
	uint64_t before_addresses[MODEL_BATCH];
};

static void chain_step(struct realloc_chain *chain, uint64_t from_bytes, uint64_t to_bytes,
		       bool is_moved)
{
	chain->steps++;
	chain->max_bytes = u64_max(chain->max_bytes, from_bytes);
	if (is_moved) {
		chain->moved++;
		chain->copied_bytes += u64_min(from_bytes, to_bytes);
	}
	if (to_bytes > from_bytes) {
		const uint64_t increment = to_bytes - from_bytes;

		chain->increment_min =
			chain->grown ? u64_min(chain->increment_min, increment) : increment;
		chain->increment_max = u64_max(chain->increment_max, increment);
		chain->grown++;
	}
}

static uint64_t order_value(enum realloc_order order, const struct realloc_chain *chain)
{
	switch (order) {
	case REALLOC_BY_COPIED:
		return chain->copied_bytes;
	case REALLOC_BY_LENGTH:
		return chain->steps;
	case REALLOC_BY_SIZE:
		return chain->last_bytes;
	}
	return 0;
}

struct gather {
	const struct model *model;
	const struct selection *selection;
	enum realloc_order order;
	struct reallocs *reallocs;
	size_t top_max;
	struct walkers walkers;
};

/* reallocs->top is a min-heap while chains are searched. */
static bool is_less(const struct gather *gather, size_t a, size_t b)
{
	const struct realloc_chain *top = gather->reallocs->top;
	const uint64_t left = order_value(gather->order, &top[a]);
	const uint64_t right = order_value(gather->order, &top[b]);

	/* of equal ones the later counts as less */
	return left != right ? left < right : top[a].last_row > top[b].last_row;
}

static void heap_swap(struct realloc_chain *top, size_t a, size_t b)
{
	const struct realloc_chain kept = top[a];

	top[a] = top[b];
	top[b] = kept;
}

static void heap_sink(const struct gather *gather)
{
	const size_t count = gather->reallocs->top_count;

	for (size_t at = 0; 2 * at + 1 < count;) {
		size_t child = 2 * at + 1;

		if (child + 1 < count && is_less(gather, child + 1, child))
			child++;
		if (!is_less(gather, child, at))
			return;
		heap_swap(gather->reallocs->top, at, child);
		at = child;
	}
}

static void top_offer(const struct gather *gather, const struct realloc_chain *chain)
{
	struct reallocs *reallocs = gather->reallocs;
	size_t at = reallocs->top_count;

	if (at < gather->top_max) {
		reallocs->top[reallocs->top_count++] = *chain;
		for (; at > 0 && is_less(gather, at, (at - 1) / 2); at = (at - 1) / 2)
			heap_swap(reallocs->top, at, (at - 1) / 2);
	} else if (at > 0 && order_value(gather->order, chain) >
				     order_value(gather->order, &reallocs->top[0])) {
		reallocs->top[0] = *chain;
		heap_sink(gather);
	}
}

static struct realloc_sums sums_of(const struct realloc_chain *chain)
{
	return (struct realloc_sums) {
		.chains = 1,
		.steps = chain->steps,
		.grown = chain->grown,
		.moved = chain->moved,
		.copied_bytes = chain->copied_bytes,
		.longest = chain->steps,
		.last_bytes_max = chain->last_bytes,
		.constant_chains = is_wasteful(chain),
		.heaviest = *chain,
	};
}

void realloc_sums_add(struct realloc_sums *to, const struct realloc_sums *from)
{
	const struct realloc_chain *a = &to->heaviest, *b = &from->heaviest;

	assert(to != from);
	to->chains += from->chains;
	to->steps += from->steps;
	to->grown += from->grown;
	to->moved += from->moved;
	to->copied_bytes += from->copied_bytes;
	to->longest = u64_max(to->longest, from->longest);
	to->last_bytes_max = u64_max(to->last_bytes_max, from->last_bytes_max);
	to->constant_chains += from->constant_chains;
	if (b->copied_bytes > a->copied_bytes ||
	    (b->copied_bytes == a->copied_bytes && b->steps > a->steps))
		to->heaviest = *b;
}

static void chain_end(struct gather *gather, const struct realloc_chain *chain)
{
	const struct realloc_sums sums = sums_of(chain);

	realloc_sums_add(&gather->reallocs->total, &sums);
	realloc_sums_add(&gather->reallocs->stacks[chain->stack], &sums);
	top_offer(gather, chain);
}

/* Advances every chain by one step; finished chains leave. */
static void walkers_step(struct gather *gather)
{
	struct walkers *walkers = &gather->walkers;
	const size_t count = walkers->count;

	model_rows_gather(gather->model, MODEL_REALLOC_OF, walkers->rows, count, walkers->before);
	walkers->count = 0;
	for (size_t i = 0; i < count; i++) {
		struct realloc_chain *chain = &walkers->chains[i];
		const size_t to = walkers->count;

		if (walkers->before[i] == MODEL_NO_ROW) {
			chain->first_row = walkers->rows[i];
			chain->first_bytes = walkers->sizes[i];
			chain_end(gather, chain);
			continue;
		}
		walkers->chains[to] = *chain;
		walkers->sizes[to] = walkers->sizes[i];
		walkers->addresses[to] = walkers->addresses[i];
		walkers->rows[to] = walkers->before[i];
		walkers->count++;
	}
	model_rows_gather(gather->model, MODEL_SIZE, walkers->rows, walkers->count,
			  walkers->before_sizes);
	model_rows_gather(gather->model, MODEL_ADDRESS, walkers->rows, walkers->count,
			  walkers->before_addresses);
	for (size_t i = 0; i < walkers->count; i++) {
		chain_step(&walkers->chains[i], walkers->before_sizes[i], walkers->sizes[i],
			   walkers->before_addresses[i] != walkers->addresses[i]);
		walkers->sizes[i] = walkers->before_sizes[i];
		walkers->addresses[i] = walkers->before_addresses[i];
	}
}

/* Starts from the last rows of some chains. */
static void walkers_begin(struct gather *gather, uint64_t first, size_t count)
{
	struct walkers *walkers = &gather->walkers;
	uint64_t *stacks = walkers->before; /* not used yet */

	walkers->count = 0;
	for (size_t i = 0; i < count; i++) {
		const uint64_t row = model_chain_get(gather->model, first + i).last_row;

		if (pass_has(gather->selection, row))
			walkers->rows[walkers->count++] = row;
	}
	model_rows_gather(gather->model, MODEL_SIZE, walkers->rows, walkers->count, walkers->sizes);
	model_rows_gather(gather->model, MODEL_ADDRESS, walkers->rows, walkers->count,
			  walkers->addresses);
	model_rows_gather(gather->model, MODEL_STACK, walkers->rows, walkers->count, stacks);
	for (size_t i = 0; i < walkers->count; i++)
		walkers->chains[i] = (struct realloc_chain) {
			.last_row = walkers->rows[i],
			.last_bytes = walkers->sizes[i],
			.max_bytes = walkers->sizes[i],
			.stack = (uint32_t)stacks[i],
		};
}

/* Sorts the top, largest first. */
static void top_sort(struct gather *gather)
{
	struct reallocs *reallocs = gather->reallocs;
	const size_t count = reallocs->top_count;

	while (reallocs->top_count > 1) {
		heap_swap(reallocs->top, 0, --reallocs->top_count);
		heap_sink(gather);
	}
	reallocs->top_count = count;
}

struct err *reallocs_find(const struct model *model, const struct selection *selection,
			  enum realloc_order order, size_t top, struct arena *arena,
			  struct reallocs *reallocs_ret)
{
	CLEAN(free) struct gather *gather = calloc(1, sizeof(*gather));
	struct reallocs reallocs = { 0 };
	const uint64_t count = model_chain_count(model);

	assert(order <= REALLOC_BY_SIZE);
	assert(!selection || selection->model == model);
	top = u64_min(u64_min(top, REALLOC_TOP_MAX), count);
	reallocs.stacks = arena_array(arena, model_stack_count(model), sizeof(*reallocs.stacks));
	reallocs.top = arena_array(arena, top, sizeof(*reallocs.top));
	if (!gather || !reallocs.stacks || !reallocs.top)
		return err_nomem();
	gather->model = model;
	gather->selection = selection;
	gather->order = order;
	gather->reallocs = &reallocs;
	gather->top_max = top;
	for (uint64_t first = 0; first < count; first += MODEL_BATCH) {
		walkers_begin(gather, first, u64_min(count - first, MODEL_BATCH));
		while (gather->walkers.count > 0)
			walkers_step(gather);
	}
	top_sort(gather);
	assert(reallocs.top_count <= top);
	*reallocs_ret = reallocs;
	return NULL;
}
