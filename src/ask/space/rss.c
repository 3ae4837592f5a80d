#include "space/rss.h"

#include <assert.h>

#include "base/number.h"
#include "space/space_course.h"

const char *const rss_band_words[] = {
	"live",	  "slack",  "untouched", "free",    "program", "unseen",    "file",
	"shared", "module", "stack",	 "memtape", "kernel",  "remainder", NULL,
};

static_assert(array_size(rss_band_words) == RSS_BANDS + 1, "a word for each band");

const char *rss_band_title(enum rss_band band)
{
	static const char *const titles[] = {
		"live blocks, as requested",
		"slack: blocks larger than requested",
		"live but not resident",
		"free or overhead in the heap",
		"anonymous, mapped by the program",
		"anonymous, mapped unseen",
		"mapped files",
		"shared memory",
		"code and data of modules",
		"stacks",
		"memtape itself",
		"kernel pages",
		"remainder",
	};

	assert((unsigned)band < RSS_BANDS);
	static_assert(array_size(titles) == RSS_BANDS, "a title for each band");
	return titles[band];
}

void rss_deinit(struct rss *rss)
{
	rss_sample_vec_deinit(&rss->samples);
	space_mark_vec_deinit(&rss->marks);
}

/* No process can be larger: values of damaged tapes are clamped, so that sums do not overflow. */
static const uint64_t BYTES_MAX = UINT64_C(1) << 58;

/* Sets live and slack, from any sums. */
static void set_live(int64_t *bands, const struct space_live *live)
{
	const uint64_t bytes = u64_min(live->bytes, BYTES_MAX);
	const uint64_t usable = u64_min(u64_max(live->usable, bytes), BYTES_MAX);

	bands[RSS_LIVE] = (int64_t)bytes;
	bands[RSS_SLACK] = (int64_t)(usable - bytes);
}

/* A snapshot's data, as bands. */
struct measure {
	uint64_t ns;
	int64_t bands[RSS_BANDS]; /* without remainder */
	uint64_t heap_resident;
	uint64_t live_count;
	bool is_exact;
};

VEC_DEFINE(measure_vec, struct measure);

static bool is_heap(enum mapping_kind kind)
{
	return kind == MAPPING_HEAP || kind == MAPPING_BLOCKS;
}

static enum rss_band band_of(enum mapping_kind kind)
{
	switch (kind) {
	case MAPPING_HEAP:
	case MAPPING_BLOCKS:
		return RSS_FREE;
	case MAPPING_PROGRAM:
		return RSS_PROGRAM;
	case MAPPING_UNSEEN:
	case MAPPING_RESERVED:
		return RSS_UNSEEN;
	case MAPPING_FILE:
		return RSS_FILE;
	case MAPPING_SHARED:
		return RSS_SHARED;
	case MAPPING_MODULE:
		return RSS_MODULE;
	case MAPPING_STACK:
		return RSS_STACK;
	case MAPPING_KERNEL:
		return RSS_KERNEL;
	case MAPPING_MEMTAPE:
		return RSS_MEMTAPE;
	}
	return RSS_REMAINDER;
}

/*
 * Blocks may also be outside the heap, in a pool of a module: they are counted as blocks too.
 */
static struct measure measure_now(const struct space *space, uint64_t ns)
{
	struct space_parts parts = space_parts_begin(space);
	const struct space_live live = space_live(space);
	struct measure measure = { .ns = ns, .live_count = live.count, .is_exact = true };
	uint64_t live_resident = 0;
	struct space_part part;

	while (space_parts_next(&parts, &part)) {
		measure.bands[band_of(part.kind)] += (int64_t)(part.resident - part.live_resident);
		live_resident += part.live_resident;
		if (is_heap(part.kind)) {
			measure.heap_resident += part.resident;
			measure.is_exact &= part.is_exact;
		}
	}
	set_live(measure.bands, &live);
	measure.bands[RSS_UNTOUCHED] =
		(int64_t)live_resident - measure.bands[RSS_LIVE] - measure.bands[RSS_SLACK];
	return measure;
}

/* Known at any time, also without a snapshot. */
struct known {
	struct space_live live;
	uint64_t program_bytes; /* mapped by calls of the program */
};

VEC_DEFINE(known_vec, struct known);

static struct known known_now(const struct space *space)
{
	const struct mappings_piece_vec *pieces = mappings_pieces(space_mappings(space));
	const struct mapping_vec *all = mappings_all(space_mappings(space));
	struct known known = { 0 };

	for (size_t i = 0; i < pieces->count; i++)
		if (mapping_kind(&all->items[pieces->items[i].mapping]) == MAPPING_PROGRAM)
			known.program_bytes += pieces->items[i].end - pieces->items[i].begin;
	return known;
}

/* What was live at every sample. */
static struct err *know_live(const struct model *model, struct known_vec *knowns)
{
	const size_t count = model_usage_count(model);
	CLEAN(free) uint64_t *times = calloc(count + 1, sizeof(*times));
	CLEAN(free) struct space_live *live = calloc(count + 1, sizeof(*live));
	struct err *err;

	assert(knowns->count == count);
	if (!times || !live)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		times[i] = u64_max(model_usages(model)[i].ns, i > 0 ? times[i - 1] : 0);
	err = space_course(model, times, count, live);
	for (size_t i = 0; i < count && !err; i++)
		knowns->items[i].live = live[i];
	return err;
}

/*
 * One walk over the tape: measures every snapshot, and collects what was mapped at every sample.
 */
static struct err *measure_all(const struct model *model, struct measure_vec *measures,
			       struct known_vec *knowns, struct space_mark_vec *marks_ret)
{
	CLEAN(space_destroy) struct space *space = NULL;
	struct err *err = space_create(model, &space);
	const struct mappings_snapshot_vec *snapshots;
	size_t next = 0;

	if (err)
		return err;
	snapshots = mappings_snapshots(space_mappings(space));
	for (size_t i = 0; i <= model_usage_count(model) && !err; i++) {
		const bool is_end = i == model_usage_count(model);
		const uint64_t ns = is_end ? UINT64_MAX - 1 : model_usages(model)[i].ns;

		for (; next < snapshots->count && !err &&
		       space_snapshot_ns(&snapshots->items[next]) <= ns;
		     next++) {
			err = space_advance_snapshot(space, next);
			if (!err &&
			    !measure_vec_push(measures,
					      measure_now(space, snapshots->items[next].end_ns)))
				err = err_nomem();
		}
		if (err || is_end)
			break;
		err = space_advance_calls(space, ns);
		if (!err && !known_vec_push(knowns, known_now(space)))
			err = err_nomem();
	}
	*marks_ret = space_take_marks(space);
	return err;
}

/* --- samples ------------------------------------------------------------------------------- */

static int64_t between(int64_t left, int64_t right, uint64_t part, uint64_t whole)
{
	return whole ? left + i64_mul_div(right - left, (int64_t)part, (int64_t)whole) : left;
}

/* Interpolates every band linearly between two snapshots. */
static void interpolate(const struct measure *left, const struct measure *right, uint64_t ns,
			struct rss_sample *sample)
{
	const uint64_t whole = right->ns - left->ns;
	const uint64_t part = ns > left->ns ? u64_min(ns - left->ns, whole) : 0;

	for (unsigned band = 0; band < RSS_REMAINDER; band++)
		sample->bands[band] = between(left->bands[band], right->bands[band], part, whole);
	sample->heap_resident = (uint64_t)between((int64_t)left->heap_resident,
						  (int64_t)right->heap_resident, part, whole);
}

static int64_t sum_of(const struct rss_sample *sample)
{
	int64_t sum = 0;

	for (unsigned band = 0; band < RSS_BANDS; band++)
		sum += sample->bands[band];
	return sum;
}

/*
 * Live and slack are always known, and the program's mappings cannot be more resident than mapped.
 * The difference between anonymous memory and the interpolated rest is taken as heap; if it is
 * below the live blocks, those are not all resident. If it is even negative, the excess goes to the
 * remainder: something else shrank unseen.
 */
static void estimate(struct rss_sample *sample, const struct known *known)
{
	const int64_t then = sample->bands[RSS_LIVE] + sample->bands[RSS_SLACK];
	int64_t heap, resident;

	set_live(sample->bands, &known->live);
	resident = sample->bands[RSS_LIVE] + sample->bands[RSS_SLACK];
	if (then > 0) /* assume the same share of live memory is not resident */
		sample->bands[RSS_UNTOUCHED] =
			i64_mul_div(sample->bands[RSS_UNTOUCHED], resident, then);
	sample->live_count = known->live.count;
	if ((uint64_t)sample->bands[RSS_PROGRAM] > known->program_bytes)
		sample->bands[RSS_PROGRAM] = (int64_t)known->program_bytes;
	heap = (int64_t)sample->rss_bytes - (sum_of(sample) - sample->bands[RSS_FREE]);
	sample->bands[RSS_FREE] = heap > 0 ? heap : 0;
	resident =
		sample->bands[RSS_LIVE] + sample->bands[RSS_SLACK] + sample->bands[RSS_UNTOUCHED];
	if (heap < 0 && resident > 0)
		sample->bands[RSS_UNTOUCHED] -= -heap < resident ? -heap : resident;
	sample->heap_resident =
		(uint64_t)(resident > 0 ? resident : 0) + (uint64_t)sample->bands[RSS_FREE];
}

/* A sample is written right after its snapshot. */
static bool is_taken_with(const struct measure *measure, uint64_t ns)
{
	static const uint64_t TOGETHER_NS = 3000000;

	return ns >= measure->ns && ns - measure->ns <= TOGETHER_NS;
}

static void explain(const struct measure_vec *measures, size_t next, const struct known *known,
		    struct rss_sample *sample)
{
	const struct measure *left = next > 0 ? &measures->items[next - 1] : NULL;
	const struct measure *right = next < measures->count ? &measures->items[next] : NULL;

	if (left && is_taken_with(left, sample->ns)) {
		memcpy(sample->bands, left->bands, sizeof(left->bands));
		sample->heap_resident = left->heap_resident;
		sample->live_count = left->live_count;
		sample->is_measured = true;
	} else if (left || right) {
		interpolate(left ? left : right, right ? right : left, sample->ns, sample);
		estimate(sample, known);
	} else {
		set_live(sample->bands, &known->live);
		sample->live_count = known->live.count;
	}
	sample->bands[RSS_REMAINDER] = 0;
	sample->bands[RSS_REMAINDER] = (int64_t)sample->rss_bytes - sum_of(sample);
}

static bool explain_all(const struct model *model, const struct measure_vec *measures,
			const struct known_vec *knowns, struct rss *rss)
{
	size_t next = 0;

	for (size_t i = 0; i < model_usage_count(model); i++) {
		const struct model_usage *usage = &model_usages(model)[i];
		struct rss_sample sample = { .ns = usage->ns, .rss_bytes = usage->usage.rss_bytes };

		if (usage->usage.rss_bytes > BYTES_MAX) /* unknown or invalid */
			continue;
		while (next < measures->count && measures->items[next].ns <= usage->ns)
			next++;
		explain(measures, next, &knowns->items[i], &sample);
		if (!rss_sample_vec_push(&rss->samples, sample))
			return false;
	}
	return true;
}

/* Of the first count samples the one with the highest value, among the measured ones or among all. */
static size_t most_of(const struct rss *rss, size_t count, bool is_measured,
		      int64_t (*value)(const struct rss_sample *sample))
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		const struct rss_sample *sample = &rss->samples.items[i];

		if (is_measured && !sample->is_measured)
			continue;
		if (best == SIZE_MAX || value(sample) > value(&rss->samples.items[best]))
			best = i;
	}
	return best;
}

static int64_t rss_of(const struct rss_sample *sample)
{
	return (int64_t)sample->rss_bytes;
}

static int64_t free_of(const struct rss_sample *sample)
{
	return sample->bands[RSS_FREE];
}

static int64_t time_of(const struct rss_sample *sample)
{
	return (int64_t)sample->ns;
}

/*
 * The sample at the highest RSS, within 2 %: measured before estimated; of several, the one with
 * most free memory, which best explains why RSS is not lower.
 */
static size_t choose_peak(const struct rss *rss)
{
	const struct rss_sample *items = rss->samples.items;
	const size_t highest = most_of(rss, rss->samples.count, false, rss_of);
	const uint64_t least = items[highest].rss_bytes / 50 * 49;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < rss->samples.count; i++)
		if (items[i].is_measured && items[i].rss_bytes >= least &&
		    (best == SIZE_MAX || items[i].bands[RSS_FREE] > items[best].bands[RSS_FREE]))
			best = i;
	return best == SIZE_MAX ? highest : best;
}

/*
 * The last sample before a program frees what it has and ends: whatever is free then stays so for
 * no time. Backwards from the end as long as blocks are freed and none come, up to a time in which
 * nothing changes.
 */
static size_t teardown_begin(const struct rss *rss)
{
	enum { PAUSE_SHARE = 10, NOISE_SHARE = 50 }; /* 10 % of the run, 2 % of the most */
	const struct rss_sample *items = rss->samples.items;
	size_t begin = rss->samples.count - 1;
	const uint64_t pause_ns = items[begin].ns / PAUSE_SHARE;
	int64_t noise = 0;

	for (size_t i = 0; i < rss->samples.count; i++)
		noise = items[i].bands[RSS_LIVE] > noise ? items[i].bands[RSS_LIVE] : noise;
	noise /= NOISE_SHARE;
	for (size_t i = begin; i-- > 0;) {
		const int64_t freed = items[i].bands[RSS_LIVE] - items[begin].bands[RSS_LIVE];

		if (freed < -noise || (freed <= noise && items[begin].ns - items[i].ns >= pause_ns))
			break;
		if (freed > noise)
			begin = i;
	}
	return begin;
}

static void choose(struct rss *rss)
{
	const size_t count = rss->samples.count;
	const bool has_measured = most_of(rss, count, true, rss_of) != SIZE_MAX;
	size_t before_end;

	if (count == 0)
		return;
	rss->peak = choose_peak(rss);
	before_end = teardown_begin(rss) + 1;
	rss->most_free = most_of(rss, before_end, has_measured, free_of);
	if (rss->most_free == SIZE_MAX)
		rss->most_free = most_of(rss, count, has_measured, free_of);
	rss->last = most_of(rss, count, has_measured, time_of);
}

struct err *rss_explain(const struct model *model, struct rss *rss_ret)
{
	CLEAN(measure_vec_deinit) struct measure_vec measures = { 0 };
	CLEAN(known_vec_deinit) struct known_vec knowns = { 0 };
	CLEAN(rss_deinit) struct rss rss = { .pages_known = true };
	struct err *err = measure_all(model, &measures, &knowns, &rss.marks);

	if (!err)
		err = know_live(model, &knowns);
	if (!err && !explain_all(model, &measures, &knowns, &rss))
		err = err_nomem();
	if (err)
		return err;
	rss.snapshot_count = measures.count;
	for (size_t i = 0; i < measures.count; i++)
		rss.pages_known &= measures.items[i].is_exact;
	choose(&rss);
	assert(rss.samples.count == 0 || rss.peak < rss.samples.count);
	assert(rss.samples.count == 0 || rss.last < rss.samples.count);
	assert(rss.samples.count == 0 || rss.most_free < rss.samples.count);
	*rss_ret = rss;
	rss.samples = (struct rss_sample_vec) { 0 };
	rss.marks = (struct space_mark_vec) { 0 };
	return NULL;
}
