#include "select/selection.h"

#include <assert.h>
#include <time.h>

#include "base/big.h"
#include "base/monotonic.h"
#include "select/range_peak.h"

enum { BATCH_WORDS = MODEL_BATCH / 64, SEGMENT_WORDS = MODEL_SEGMENT / 64 };

static bool is_given(const char *text)
{
	return text && *text;
}

bool selection_needs_rows(const struct selection_settings *settings)
{
	return is_given(settings->filter) || is_given(settings->from) || is_given(settings->until);
}

bool selection_is_all(const struct selection *selection)
{
	return !selection->bits;
}

bool selection_has_block(const struct selection *selection, const struct model_scan_block *block)
{
	if (block->flags & MODEL_SCAN_OFF_TAPE)
		return false;
	return selection_is_all(selection) || (block->row < model_row_count(selection->model) &&
					       selection_has(selection, block->row));
}

/* --- what is asked for --------------------------------------------------------------------- */

struct request {
	const char *text;	 /* of the filter; "" */
	const struct expr *expr; /* NULL: no filter */
	struct expr_value from;
	struct expr_value until;
	bool has_from;
	bool has_until;
};

static struct err *request_parse(const struct selection_settings *settings, struct arena *arena,
				 struct request *request)
{
	struct err *err = NULL;

	*request = (struct request) { .text = settings->filter ? settings->filter : "" };
	request->has_from = is_given(settings->from);
	request->has_until = is_given(settings->until);
	if (is_given(settings->filter))
		err = expr_parse(settings->filter, arena, &request->expr);
	if (!err && request->has_from)
		err = expr_parse_moment(settings->from, arena, &request->from);
	if (!err && request->has_until)
		err = expr_parse_moment(settings->until, arena, &request->until);
	if (!err && request->has_from && request->has_until &&
	    request->from.kind == request->until.kind && request->from.kind <= EXPR_PERCENT &&
	    request->from.number > request->until.number)
		err = err_new(ERR_USAGE, "the start, %s, is later than the end, %s", settings->from,
			      settings->until);
	return err;
}

struct err *selection_check(const struct selection_settings *settings)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct request request;

	return request_parse(settings, &arena, &request);
}

static bool reads_pool(const struct expr *expr)
{
	return expr && expr_reads(expr, field_find("pool", strlen("pool")));
}

enum model_subject selection_subject(const char *filter)
{
	const struct selection_settings settings = { .filter = filter };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct request request;
	struct err *err = request_parse(&settings, &arena, &request);
	const bool is_of_pools = !err && reads_pool(request.expr);

	err_destroy(err); /* whoever uses the filter finds it again */
	return is_of_pools ? MODEL_OF_POOLS : MODEL_OF_HEAP;
}

/* A filter by pool would let nothing through. */
static struct err *request_check(const struct request *request, const struct model *model)
{
	if (!reads_pool(request->expr) || model_is_of_pools(model))
		return NULL;
	return err_new(ERR_USAGE,
		       "filter: 'pool' is a field of the objects of pools, and here only "
		       "blocks of the heap are chosen");
}

/* Joins the filter and the time range into one expression. */
static struct err *request_join(const struct request *request, struct facts *facts,
				const struct expr **expr_ret)
{
	struct expr *both = arena_new(facts->arena, struct expr);
	struct expr *range = arena_new(facts->arena, struct expr);
	struct expr_item *item = arena_new(facts->arena, struct expr_item);
	const struct expr **parts = arena_array(facts->arena, 2, sizeof(*parts));

	if (!both || !range || !item || !parts)
		return err_nomem();
	*item = (struct expr_item) {
		.has_low = true,
		.has_high = true,
		.low.number = facts->from_ns,
		.high.number = u64_min(facts->until_ns, FIELD_NONE - 1),
	};
	*range = (struct expr) { .kind = EXPR_IN,
				 .field = field_find("time", strlen("time")),
				 .items = item,
				 .item_count = 1 };
	parts[0] = range;
	parts[1] = request->expr;
	*both = (struct expr) { .kind = EXPR_AND, .parts = parts, .part_count = 2 };
	*expr_ret = !request->has_from && !request->has_until ? request->expr
		    : request->expr			      ? both
							      : range;
	return NULL;
}

/* --- the bits ------------------------------------------------------------------------------ */

static struct err *count_rows(struct selection *selection, struct arena *arena, uint64_t row_count)
{
	const uint64_t segment_count = div_up(row_count, MODEL_SEGMENT);

	selection->segment_ends = arena_array(arena, segment_count, sizeof(uint64_t));
	if (!selection->segment_ends)
		return err_nomem();
	for (uint64_t segment = 0; segment < segment_count; segment++) {
		const uint64_t *words = selection->bits + segment * SEGMENT_WORDS;

		for (size_t i = 0; i < SEGMENT_WORDS; i++)
			selection->count += (uint64_t)__builtin_popcountll(words[i]);
		selection->segment_ends[segment] = selection->count;
	}
	return NULL;
}

size_t selection_batch(const struct selection *selection, uint64_t first, uint64_t *rows)
{
	const uint64_t end = u64_min(first + MODEL_BATCH, model_row_count(selection->model));
	size_t count = 0;

	assert(first % MODEL_BATCH == 0);
	if (!selection->bits) {
		for (uint64_t row = first; row < end; row++)
			rows[count++] = row;
		return count;
	}
	for (uint64_t row = first; row < end; row += 64) {
		for (uint64_t bits = selection->bits[row / 64]; bits; bits &= bits - 1)
			rows[count++] = row + (uint64_t)__builtin_ctzll(bits);
	}
	return count;
}

size_t selection_next(const struct selection *selection, uint64_t *at, uint64_t *rows)
{
	const uint64_t row_count = model_row_count(selection->model);
	size_t count = 0;

	assert(*at % MODEL_BATCH == 0);
	while (count == 0 && *at < row_count) {
		count = selection_batch(selection, *at, rows);
		*at += MODEL_BATCH;
	}
	return count;
}

uint64_t selection_row(const struct selection *selection, uint64_t index)
{
	uint64_t segment = 0, high = div_up(model_row_count(selection->model), MODEL_SEGMENT);
	const uint64_t *word;
	uint64_t bits;

	assert(index < selection->count);
	if (!selection->bits)
		return index;
	while (segment < high) { /* the first one that ends after it */
		const uint64_t middle = segment + (high - segment) / 2;

		if (selection->segment_ends[middle] <= index)
			segment = middle + 1;
		else
			high = middle;
	}
	index -= segment ? selection->segment_ends[segment - 1] : 0;
	word = selection->bits + segment * SEGMENT_WORDS;
	while (index >= (uint64_t)__builtin_popcountll(*word))
		index -= (uint64_t)__builtin_popcountll(*word++);
	for (bits = *word; index > 0; index--)
		bits &= bits - 1;
	return (uint64_t)(word - selection->bits) * 64 + (uint64_t)__builtin_ctzll(bits);
}

uint64_t selection_index(const struct selection *selection, uint64_t row)
{
	const uint64_t segment = row / MODEL_SEGMENT;
	const uint64_t *word;
	uint64_t index;

	assert(selection_has(selection, row));
	if (!selection->bits)
		return row;
	word = selection->bits + segment * SEGMENT_WORDS;
	index = segment ? selection->segment_ends[segment - 1] : 0;
	for (; word < selection->bits + row / 64; word++)
		index += (uint64_t)__builtin_popcountll(*word);
	return index + (uint64_t)__builtin_popcountll(*word & ((UINT64_C(1) << row % 64) - 1));
}

/* --- sums ---------------------------------------------------------------------------------- */

enum { AHEAD = 12, CACHE_LINE = 64 };

struct summer {
	const struct selection *selection;
	struct batch *batch;
	struct model_stack_sums *sums; /* by stack */
};

static void sum_add(struct model_sum *sum, bool is_in, uint64_t bytes)
{
	sum->count += is_in;
	sum->bytes += is_in ? bytes : 0;
}

static void sum_rows(const struct summer *summer, const uint64_t *rows, size_t count)
{
	struct batch *batch = summer->batch;
	const uint64_t *stack, *size, *begin, *end, *flags;

	batch_list(batch, summer->selection->facts, rows, count);
	stack = batch_column(batch, MODEL_STACK);
	size = batch_column(batch, MODEL_SIZE);
	end = batch_column(batch, MODEL_FREE_NS);
	/* Times are needed only for the peak of a range. */
	begin = summer->selection->has_range ? batch_column(batch, MODEL_ALLOC_NS) : end;
	flags = batch_column(batch, MODEL_FLAGS);
	for (size_t i = 0; i < count; i++) {
		struct model_stack_sums *sums = &summer->sums[stack[i]];

		/* with many stacks nearly none is cached */
		__builtin_prefetch(&summer->sums[stack[u64_min(i + AHEAD, count - 1)]], 1);
		sum_add(&sums->allocated, true, size[i]);
		sum_add(&sums->leaked, model_never_freed(end[i], flags[i]), size[i]);
		sum_add(&sums->peak,
			selection_at_peak(summer->selection, begin[i], end[i], flags[i]), size[i]);
		sum_add(&sums->temporary, flags[i] & MODEL_ALLOCATION_TEMPORARY, size[i]);
	}
}

static struct err *sum_segment(void *context, uint64_t segment)
{
	const struct summer *summer = context;
	const uint64_t first = segment * MODEL_SEGMENT;
	const uint64_t end =
		u64_min(first + MODEL_SEGMENT, model_row_count(summer->selection->model));
	uint64_t rows[MODEL_BATCH];

	for (uint64_t at = first; at < end; at += MODEL_BATCH) {
		const size_t count = selection_batch(summer->selection, at, rows);

		if (count > 0)
			sum_rows(summer, rows, count);
	}
	return NULL;
}

/* Number of workers; limited by the memory for their own sums of all stacks. */
static size_t summers_count(const struct sweep_limits *limits, uint64_t segment_count,
			    size_t stack_count)
{
	const size_t bytes_max = (size_t)256 << 20;
	const size_t bytes = (stack_count + 1) * sizeof(struct model_stack_sums);

	return u64_max(u64_min(sweep_workers(limits, segment_count), bytes_max / bytes), 1);
}

/* Aligned so that each stack's sums are one cache line. */
static struct model_stack_sums *sums_room(struct arena *arena, size_t stack_count)
{
	static_assert(sizeof(struct model_stack_sums) == CACHE_LINE, "a line");
	char *room = arena_array(arena, stack_count + 1, sizeof(struct model_stack_sums));

	return room ? (void *)(room + -(uintptr_t)room % CACHE_LINE) : NULL;
}

static struct err *sum_stacks(struct selection *selection, const struct sweep_limits *limits,
			      struct arena *arena)
{
	const size_t stack_count = model_stack_count(selection->model);
	const uint64_t segment_count = div_up(model_row_count(selection->model), MODEL_SEGMENT);
	const size_t count = summers_count(limits, segment_count, stack_count);
	const size_t other_count = (count - 1) * stack_count;
	struct model_stack_sums *sums = sums_room(arena, stack_count);
	CLEAN(free)
	struct model_stack_sums *others = big_calloc(other_count + 1, sizeof(*others));
	CLEAN(free) struct batch *batches = calloc(count, sizeof(*batches));
	struct summer summers[SWEEP_WORKERS_MAX];
	struct err *err;

	if (!sums || !others || !batches)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		summers[i] = (struct summer) { selection, &batches[i],
					       i ? others + (i - 1) * stack_count : sums };
	err = sweep_run(limits, segment_count, sum_segment, summers, sizeof(*summers), count);
	if (err)
		return err;
	for (size_t i = 0; i < other_count; i++)
		metric_sums_add(&sums[i % stack_count], &others[i]);
	for (size_t i = 0; i < stack_count; i++)
		metric_sums_add(&selection->sums.total, &sums[i]);
	selection->sums.stacks = sums_by_id(selection->model, sums);
	selection->sums.model = selection->model;
	return NULL;
}

/* --- making -------------------------------------------------------------------------------- */

static struct sweep_limits limits_of(const struct selection_settings *settings)
{
	struct sweep_limits limits = { .thread_count = settings->thread_count,
				       .cancel = settings->cancel,
				       .is_interrupted = settings->is_interrupted,
				       .context = settings->context };

	if (settings->time_limit_ns)
		limits.deadline_ns = monotonic_ns() + settings->time_limit_ns;
	return limits;
}

static struct err *resolve_range(const struct request *request,
				 const struct selection_settings *settings, struct facts *facts)
{
	struct err *err = NULL;

	if (request->has_from)
		err = filter_moment(settings->from, &request->from, facts, &facts->from_ns);
	if (!err && request->has_until)
		err = filter_moment(settings->until, &request->until, facts, &facts->until_ns);
	if (!err && facts->from_ns > facts->until_ns)
		err = err_new(ERR_USAGE, "the start, %s, is later than the end, %s", settings->from,
			      settings->until);
	return err;
}

static struct err *select_rows(struct selection *selection, const struct request *request,
			       const struct sweep_limits *limits, struct arena *arena)
{
	const uint64_t row_count = model_row_count(selection->model);
	struct filter *filter = NULL;
	const struct expr *expr = NULL;
	struct err *err = request_join(request, selection->facts, &expr);

	if (!err && row_count == 0 && model_totals(selection->model)->allocated.count > 0)
		err = err_new(ERR_STATE, "the model has no rows to choose from");
	selection->facts->limits = limits;
	if (!err)
		err = filter_compile(request->text, expr, selection->facts, limits, &filter);
	selection->facts->limits = NULL;
	if (err)
		return err;
	/* Whole segments, so that writers need not check the end. */
	selection->bits = arena_array(arena, div_up(row_count, MODEL_SEGMENT) + 1,
				      SEGMENT_WORDS * sizeof(*selection->bits));
	if (!selection->bits)
		return err_nomem();
	err = filter_rows(filter, limits, selection->bits);
	if (!err && selection->has_range)
		err = range_peak_find(selection->model, selection->from_ns, selection->until_ns,
				      limits, &selection->peak_ns);
	if (!err)
		err = count_rows(selection, arena, row_count);
	return err ? err : sum_stacks(selection, limits, arena);
}

/* For the whole tape the suppressor has the sums already. */
static struct err *suppress(struct selection *selection, struct arena *arena)
{
	const struct suppressed *suppressed;
	struct err *err = suppressor_find(selection->facts->suppressor, &suppressed);

	if (err || !suppressed)
		return err;
	selection->suppressed = suppressed;
	if (!selection_is_all(selection)) /* parts have their own stack sums */
		return suppressed_take_out(suppressed, selection->sums.stacks,
					   &selection->sums.total, arena,
					   &selection->suppressed_leaks);
	selection->sums = suppressed->sums;
	selection->suppressed_leaks = suppressed->leaks;
	return NULL;
}

struct model_totals selection_totals(const struct selection *selection)
{
	const struct model_stack_sums *sums = &selection->sums.total;
	const struct model_sum *suppressed = &selection->suppressed_leaks.total;
	struct model_totals totals = *model_totals(selection->model);

	assert(selection->sums.model == selection->model);
	totals.leaked = sums->leaked;
	if (selection_is_all(selection))
		return totals;
	return (struct model_totals) {
		.allocated = sums->allocated,
		.freed = { sums->allocated.count - sums->leaked.count - suppressed->count,
			   sums->allocated.bytes - sums->leaked.bytes - suppressed->bytes },
		.peak = sums->peak,
		.peak_ns = selection->peak_ns,
		.leaked = sums->leaked,
		.temporary = sums->temporary,
	};
}

struct err *selection_make(const struct model *model, struct names *names,
			   const struct selection_settings *settings, struct arena *arena,
			   const struct selection **selection_ret)
{
	struct selection *selection = arena_new(arena, struct selection);
	struct facts *facts = arena_new(arena, struct facts);
	const struct sweep_limits limits = limits_of(settings);
	struct request request;
	struct err *err;

	assert(model && arena);
	if (!selection || !facts)
		return err_nomem();
	err = request_parse(settings, arena, &request);
	if (!err)
		err = request_check(&request, model);
	if (!err)
		err = facts_init(facts, model, names, arena);
	facts->suppressor = settings->suppressor;
	if (!err)
		err = resolve_range(&request, settings, facts);
	if (err)
		return err;
	*selection = (struct selection) { .model = model, .names = names, .facts = facts };
	selection->limits = limits;
	selection->from_ns = facts->from_ns;
	selection->until_ns = facts->until_ns;
	selection->peak_ns = model_totals(model)->peak_ns;
	selection->has_range = request.has_from || request.has_until;
	selection->has_filter = settings->filter && *settings->filter;
	if (selection_needs_rows(settings)) {
		err = select_rows(selection, &request, &limits, arena);
	} else {
		selection->count = model_row_count(model);
		selection->sums = sums_of_model(model);
	}
	if (!err && !settings->ignores_leaks)
		err = suppress(selection, arena);
	assert(err || selection->from_ns <= selection->until_ns);
	assert(err || selection->count <= model_row_count(model));
	assert(err || !selection->bits == !selection->segment_ends);
	assert(err || selection->sums.model == model);
	if (!err)
		*selection_ret = selection;
	return err;
}
