#include "query/spans.h"

#include "query/passes.h"

/* Frees of selected rows in the order of time, read ahead. */
struct frees {
	uint64_t next; /* to be read */
	uint64_t end;
	size_t at;
	size_t count;
	uint64_t rows[MODEL_BATCH];
	uint64_t ns[MODEL_BATCH];
	uint64_t bytes[MODEL_BATCH];
};

struct sweep {
	const struct selection *selection;
	struct pass pass; /* allocations in the order of time */
	size_t at;	  /* in its batch */
	uint64_t ns[MODEL_BATCH];
	uint64_t bytes[MODEL_BATCH];
	struct frees frees;
	uint64_t live_bytes;
	uint64_t live_count;
};

static void allocations_fill(struct sweep *sweep)
{
	sweep->at = 0;
	if (!pass_next(&sweep->pass))
		return;
	pass_read(&sweep->pass, MODEL_ALLOC_NS, sweep->ns);
	pass_read(&sweep->pass, MODEL_SIZE, sweep->bytes);
}

static void frees_fill(struct sweep *sweep)
{
	const struct model *model = sweep->selection->model;
	struct frees *frees = &sweep->frees;

	frees->at = 0;
	for (frees->count = 0; frees->count == 0 && frees->next < frees->end;) {
		const size_t count = u64_min(frees->end - frees->next, MODEL_BATCH);

		model_frees_read(model, frees->next, count, frees->rows);
		model_frees_read_events(model, frees->next, count, frees->ns, frees->bytes);
		frees->next += count;
		for (size_t i = 0; i < count; i++) {
			if (!selection_has(sweep->selection, frees->rows[i]))
				continue;
			frees->rows[frees->count] = frees->rows[i];
			frees->ns[frees->count] = frees->ns[i];
			frees->bytes[frees->count++] = frees->bytes[i];
		}
	}
}

/* What was alive when it begins: just before from_ns. */
static struct err *sweep_begin(struct sweep *sweep, uint64_t from_ns, uint64_t until_ns)
{
	const struct model *model = sweep->selection->model;
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct sums before = { 0 };
	struct err *err = from_ns == 0
				  ? NULL
				  : sums_at(model, sweep->selection, from_ns - 1, &arena, &before);

	if (err)
		return err;
	sweep->live_bytes = before.total.peak.bytes;
	sweep->live_count = before.total.peak.count;
	sweep->pass = pass_begin_between(model, sweep->selection, from_ns, until_ns - 1);
	sweep->frees.next = model_free_at(model, from_ns);
	sweep->frees.end = model_free_at(model, until_ns);
	return NULL;
}

static bool free_comes_first(const struct sweep *sweep, uint64_t alloc_ns, uint64_t free_ns)
{
	return free_ns < alloc_ns || (free_ns == alloc_ns && sweep->frees.rows[sweep->frees.at] <
								     sweep->pass.rows[sweep->at]);
}

static void sweep_span(struct sweep *sweep, uint64_t end_ns, struct model_timeline_span *span)
{
	struct frees *frees = &sweep->frees;

	span->live_bytes_max = sweep->live_bytes;
	for (;;) {
		uint64_t alloc_ns, free_ns;

		if (sweep->at == sweep->pass.count)
			allocations_fill(sweep);
		if (frees->at == frees->count)
			frees_fill(sweep);
		alloc_ns = sweep->at < sweep->pass.count ? sweep->ns[sweep->at] : MODEL_NEVER;
		free_ns = frees->at < frees->count ? frees->ns[frees->at] : MODEL_NEVER;
		if (u64_min(alloc_ns, free_ns) >= end_ns)
			break;
		if (free_comes_first(sweep, alloc_ns, free_ns)) {
			sweep->live_bytes -= frees->bytes[frees->at++];
			sweep->live_count--;
			span->free_count++;
			continue;
		}
		span->allocated.count++;
		span->allocated.bytes += sweep->bytes[sweep->at];
		sweep->live_bytes += sweep->bytes[sweep->at++];
		sweep->live_count++;
		span->live_bytes_max = u64_max(span->live_bytes_max, sweep->live_bytes);
	}
	span->live_bytes_end = sweep->live_bytes;
	span->live_count_end = sweep->live_count;
}

static uint64_t boundary(uint64_t from_ns, uint64_t until_ns, size_t index, size_t count)
{
	return from_ns + (uint64_t)((unsigned __int128)(until_ns - from_ns) * index / count);
}

struct err *spans_find(const struct selection *selection, uint64_t from_ns, uint64_t until_ns,
		       size_t count, struct model_timeline_span *spans)
{
	CLEAN(free) struct sweep *sweep = NULL;
	struct err *err;

	if (selection_is_all(selection)) { /* what the index has sums for */
		model_timeline_window(selection->model, from_ns, until_ns, count, spans);
		return NULL;
	}
	sweep = calloc(1, sizeof(*sweep));
	if (!sweep)
		return err_nomem();
	sweep->selection = selection;
	err = sweep_begin(sweep, from_ns, until_ns);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		spans[i] = (struct model_timeline_span) { .begin_ns = boundary(from_ns, until_ns, i,
									       count) };
		sweep_span(sweep, boundary(from_ns, until_ns, i + 1, count), &spans[i]);
	}
	return NULL;
}
