#include "select/range_peak.h"

#include <assert.h>

#include "select/playback.h"

/*
 * The maximum at the end of a moment, after all its events, because a moment's sums include them.
 */
struct range_peak {
	uint64_t begin, end; /* rows of the range */
	uint64_t live;
	uint64_t now_ns; /* of the current event */
	uint64_t most;
	uint64_t ns; /* when it was reached */
};

static void moment_end(struct range_peak *peak)
{
	if (peak->live <= peak->most)
		return;
	peak->most = peak->live;
	peak->ns = peak->now_ns;
}

static void event_play(struct range_peak *peak, const struct playback_lane *lane, size_t i)
{
	if (lane->ns[i] != peak->now_ns)
		moment_end(peak);
	peak->now_ns = lane->ns[i];
	if (!lane->is_frees)
		peak->live += lane->bytes[i];
	else if (lane->rows[i] >= peak->begin && lane->rows[i] < peak->end)
		peak->live -= lane->bytes[i];
}

struct err *range_peak_find(const struct model *model, uint64_t from_ns, uint64_t until_ns,
			    const struct sweep_limits *limits, uint64_t *ns_ret)
{
	CLEAN(playback_destroy) struct playback *playback = playback_create(model, NULL);
	const uint64_t end_ns = until_ns < MODEL_NEVER ? until_ns + 1 : MODEL_NEVER;
	struct range_peak peak = { .now_ns = from_ns, .ns = from_ns };
	const struct playback_lane *lane;
	struct err *err = NULL;

	assert(from_ns <= until_ns);
	if (!playback)
		return err_nomem();
	playback_between(playback, from_ns, end_ns);
	peak.begin = model_row_at(model, from_ns);
	peak.end = model_row_at(model, end_ns);
	while (!err && (lane = playback_next(playback, end_ns))) {
		event_play(&peak, lane, playback_at(lane));
		if (lane->at == lane->count)
			err = sweep_check(limits);
	}
	if (err)
		return err;
	moment_end(&peak);
	*ns_ret = peak.ns;
	return NULL;
}
