#include "groups/digest.h"

#include <assert.h>

#include "base/number.h"
#include "select/batch.h"

struct worker {
	const struct selection *selection;
	const uint64_t *begins; /* start times of the spans */
	struct digest *digest;
	struct batch batch;
};

static void sum_take(struct model_sum *sum, uint64_t bytes)
{
	sum->count++;
	sum->bytes += bytes;
}

/* The start time of each span. */
static void begins_find(uint64_t from_ns, uint64_t until_ns, uint64_t *begins)
{
	const uint64_t length_ns = until_ns - from_ns;

	for (size_t i = 0; i < DIGEST_SPANS; i++)
		begins[i] = from_ns + u64_mul_div_up(length_ns, i, DIGEST_SPANS);
}

/* The span of a time; rows are in time order, so the search starts at the last row's span. */
static size_t span_of(const struct worker *worker, uint64_t ns, size_t near)
{
	while (near + 1 < DIGEST_SPANS && ns >= worker->begins[near + 1])
		near++;
	while (near > 0 && ns < worker->begins[near])
		near--;
	return near;
}

static void row_add(const struct worker *worker, struct digest_span *span, size_t i)
{
	const struct batch *batch = &worker->batch;
	struct digest *digest = worker->digest;
	const uint64_t size = batch->columns[MODEL_SIZE][i];

	digest->count++;
	sum_take(&span->allocated, size);
	if (selection_is_leaked(worker->selection, batch->columns[MODEL_FREE_NS][i],
				batch->columns[MODEL_FLAGS][i], batch->columns[MODEL_STACK][i]))
		sum_take(&span->leaked, size);
	if (batch->columns[MODEL_FLAGS][i] & MODEL_ALLOCATION_TEMPORARY)
		sum_take(&span->temporary, size);
	if (size < DIGEST_EXACT)
		digest->sizes[size]++;
	else
		spread_add(&digest->larger, size);
}

/* Not needed for the whole tape, where these sums are known. */
static void parts_add(struct worker *worker)
{
	struct batch *batch = &worker->batch;
	const uint64_t *usable, *older;

	if (selection_is_all(worker->selection))
		return;
	usable = batch_column(batch, MODEL_USABLE);
	older = batch_column(batch, MODEL_REALLOC_OF);
	for (size_t i = 0; i < batch->count; i++) {
		worker->digest->usable_bytes += usable[i];
		worker->digest->realloc_count += older[i] != MODEL_NO_ROW;
	}
}

static struct err *work(void *context, uint64_t segment)
{
	static const enum model_column columns[] = { MODEL_SIZE, MODEL_FREE_NS, MODEL_ALLOC_NS,
						     MODEL_FLAGS, MODEL_STACK };
	struct worker *worker = context;
	const uint64_t row_count = model_row_count(worker->selection->model);
	const uint64_t end = u64_min((segment + 1) * MODEL_SEGMENT, row_count);
	uint64_t rows[MODEL_BATCH];
	size_t span = 0;

	for (uint64_t first = segment * MODEL_SEGMENT; first < end; first += MODEL_BATCH) {
		const size_t count = selection_batch(worker->selection, first, rows);

		if (count == 0)
			continue;
		batch_list(&worker->batch, worker->selection->facts, rows, count);
		for (size_t i = 0; i < array_size(columns); i++)
			batch_column(&worker->batch, columns[i]);
		for (size_t i = 0; i < count; i++) {
			span = span_of(worker, worker->batch.columns[MODEL_ALLOC_NS][i], span);
			row_add(worker, &worker->digest->spans[span], i);
		}
		parts_add(worker);
	}
	return NULL;
}

static void sum_add(struct model_sum *to, struct model_sum from)
{
	to->count += from.count;
	to->bytes += from.bytes;
}

static void join(struct digest *to, const struct digest *from)
{
	to->count += from->count;
	to->usable_bytes += from->usable_bytes;
	to->realloc_count += from->realloc_count;
	for (size_t i = 0; i < DIGEST_SPANS; i++) {
		sum_add(&to->spans[i].allocated, from->spans[i].allocated);
		sum_add(&to->spans[i].leaked, from->spans[i].leaked);
		sum_add(&to->spans[i].temporary, from->spans[i].temporary);
	}
	for (size_t i = 0; i < DIGEST_EXACT; i++)
		to->sizes[i] += from->sizes[i];
	spread_join(&to->larger, &from->larger);
}

struct err *digest_find(const struct selection *selection, uint64_t from_ns, uint64_t until_ns,
			struct arena *arena, const struct digest **digest_ret)
{
	const uint64_t segments = div_up(model_row_count(selection->model), MODEL_SEGMENT);
	const size_t count = sweep_workers(&selection->limits, segments);
	CLEAN(free) struct worker *workers = calloc(count, sizeof(*workers));
	struct digest *digests = arena_array(arena, count, sizeof(*digests));
	uint64_t begins[DIGEST_SPANS];
	struct err *err;

	assert(count >= 1);
	assert(until_ns > from_ns);
	if (!workers || !digests)
		return err_nomem();
	begins_find(from_ns, until_ns, begins);
	for (size_t i = 0; i < count; i++) {
		workers[i] = (struct worker) { .selection = selection,
					       .begins = begins,
					       .digest = &digests[i] };
		spread_init(&digests[i].larger);
	}
	err = sweep_run(&selection->limits, segments, work, workers, sizeof(*workers), count);
	if (err)
		return err;
	for (size_t i = 1; i < count; i++)
		join(&digests[0], &digests[i]);
	if (selection_is_all(selection)) {
		digests[0].usable_bytes = model_totals(selection->model)->usable_bytes;
		digests[0].realloc_count = model_totals(selection->model)->realloc_count;
	}
	*digest_ret = &digests[0];
	return NULL;
}

uint64_t digest_median(const struct digest *digest, bool *is_exact_ret)
{
	uint64_t seen = 0;

	*is_exact_ret = true;
	for (uint64_t size = 0; size < DIGEST_EXACT; size++) {
		seen += digest->sizes[size];
		if (seen > 0 && seen >= div_up(digest->count, 2))
			return size;
	}
	*is_exact_ret = digest->count == 0;
	if (digest->count == 0)
		return 0;
	return spread_at(&digest->larger, div_up(digest->count, 2) - seen);
}
