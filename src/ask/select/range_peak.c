#include "select/range_peak.h"

#include <assert.h>

enum { CHECK_BATCHES = 64 };

/* Allocations, or frees, in the order of time, a batch at a time. */
struct stream {
	const struct model *model;
	uint64_t next; /* to be read */
	uint64_t end;
	bool is_frees;
	size_t at;
	size_t count; /* of the batch */
	uint64_t ns[MODEL_BATCH];
	uint64_t bytes[MODEL_BATCH];
	uint64_t rows[MODEL_BATCH]; /* frees */
};

/* false: there are no more. */
static bool stream_fill(struct stream *stream)
{
	if (stream->at < stream->count)
		return true;
	stream->count = u64_min(stream->end - stream->next, MODEL_BATCH);
	stream->at = 0;
	if (stream->count == 0)
		return false;
	if (stream->is_frees) {
		model_frees_read(stream->model, stream->next, stream->count, stream->rows);
		model_frees_read_events(stream->model, stream->next, stream->count, stream->ns,
					stream->bytes);
	} else {
		model_rows_read(stream->model, MODEL_ALLOC_NS, stream->next, stream->count,
				stream->ns);
		model_rows_read(stream->model, MODEL_SIZE, stream->next, stream->count,
				stream->bytes);
	}
	stream->next += stream->count;
	return true;
}

struct range_peak {
	struct stream allocs, frees;
	uint64_t begin, end; /* rows of the range */
	uint64_t live;
	uint64_t most;
	uint64_t ns; /* when that was */
};

/* Frees up to a moment. */
static void play_frees(struct range_peak *peak, uint64_t ns)
{
	struct stream *frees = &peak->frees;

	while (stream_fill(frees) && frees->ns[frees->at] <= ns) {
		const uint64_t row = frees->rows[frees->at];

		if (row >= peak->begin && row < peak->end)
			peak->live -= frees->bytes[frees->at];
		frees->at++;
	}
}

/* All allocations of the next moment, then what was freed until then. */
static void play_moment(struct range_peak *peak)
{
	struct stream *allocs = &peak->allocs;
	const uint64_t ns = allocs->ns[allocs->at];

	do {
		peak->live += allocs->bytes[allocs->at++];
	} while (stream_fill(allocs) && allocs->ns[allocs->at] == ns);
	play_frees(peak, ns);
	if (peak->live > peak->most) {
		peak->most = peak->live;
		peak->ns = ns;
	}
}

struct err *range_peak_find(const struct model *model, uint64_t from_ns, uint64_t until_ns,
			    const struct sweep_limits *limits, uint64_t *ns_ret)
{
	CLEAN(free) struct range_peak *peak = calloc(1, sizeof(*peak));
	struct err *err = NULL;
	uint64_t checked = 0;

	assert(from_ns <= until_ns);
	if (!peak)
		return err_nomem();
	peak->ns = from_ns;
	peak->begin = model_row_at(model, from_ns);
	peak->end =
		until_ns == UINT64_MAX ? model_row_count(model) : model_row_at(model, until_ns + 1);
	peak->allocs = (struct stream) { .model = model, .next = peak->begin, .end = peak->end };
	peak->frees = (struct stream) { .model = model,
					.next = model_free_at(model, from_ns),
					.end = model_free_count(model),
					.is_frees = true };
	while (!err && stream_fill(&peak->allocs)) {
		play_moment(peak);
		if (peak->allocs.next + peak->frees.next - checked > CHECK_BATCHES * MODEL_BATCH) {
			checked = peak->allocs.next + peak->frees.next;
			err = sweep_check(limits);
		}
	}
	if (!err)
		*ns_ret = peak->ns;
	return err;
}
