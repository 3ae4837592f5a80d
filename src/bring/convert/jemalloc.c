/*
 * Heap profiles of jemalloc: the mean sampling interval, sums per thread, then for every stack its
 * sums in total and per thread.
 *
 *	heap_v2/524288
 *	  t*: 5: 5035 [10: 10045]
 *	  t0: 5: 5035 [10: 10045] name
 *	@ 0x4011b7 0x401202
 *	  t*: 5: 5035 [10: 10045]
 *	  t0: 5: 5035 [10: 10045]
 *
 * Total allocations, in brackets, exist only with the option prof_accum. Bytes are those of
 * jemalloc's size classes.
 */
#include <inttypes.h>

#include "base/str.h"
#include "base/number.h"
#include "convert/heap_profile.h"
#include "convert/importer.h"
#include "convert/scan.h"

static const char HEAD[] = "heap_v2/";

struct part {
	uint64_t thread;
	struct compose_sum sum;
};

VEC_DEFINE(part_vec, struct part);

struct jemalloc {
	struct heap_profile *profile;
	struct part_vec parts; /* of the current stack, by thread */
	struct map thread_ids; /* number -> index in the profile's threads + 1 */
	struct heap_row row;   /* of the current stack: all threads */
	bool in_stack;	       /* the stack section has begun */
	bool has_row;
	bool has_accum;
	bool is_torn;
};

static void jemalloc_deinit(struct jemalloc *file)
{
	part_vec_deinit(&file->parts);
	map_deinit(&file->thread_ids);
}

CLEAN_DEFINE_DEINIT(jemalloc_deinit, struct jemalloc);

static enum importer_match jemalloc_probe(const char *bytes, size_t count)
{
	(void)count;
	return scan_text(&bytes, HEAD) ? IMPORTER_YES : IMPORTER_NO;
}

static uint32_t thread_index(struct jemalloc *file, uint64_t number, const char *name)
{
	struct heap_profile *profile = file->profile;
	struct heap_thread thread = { .number = number, .name = UINT32_MAX };
	bool is_new;
	uint64_t *place = map_put(&file->thread_ids, number, &is_new);

	if (place && is_new) {
		char own[24];

		if (!*name)
			name = str_format(own, sizeof(own), "t%" PRIu64, number);
		thread.name = interner_put(&profile->texts, name, strcspn(name, "\r"));
		profile->failed |= thread.name == UINT32_MAX;
		*place = profile->threads.count;
		profile->failed |= !heap_thread_vec_push(&profile->threads, thread);
	}
	profile->failed |= !place;
	return place ? (uint32_t)*place : 0;
}

/* The share of `whole` that belongs to the first `part` of `parts`. */
static uint64_t share(uint64_t whole, uint64_t part, uint64_t parts)
{
	return parts ? u64_mul_div(whole, part, parts) : 0;
}

static struct compose_sum sum_share(const struct compose_sum *whole, const struct compose_sum *part,
				    const struct compose_sum *parts)
{
	return (struct compose_sum) {
		share(whole->allocated_count, part->allocated_count, parts->allocated_count),
		share(whole->allocated_bytes, part->allocated_bytes, parts->allocated_bytes),
		share(whole->live_count, part->live_count, parts->live_count),
		share(whole->live_bytes, part->live_bytes, parts->live_bytes),
	};
}

static struct compose_sum sum_plus(const struct compose_sum *a, const struct compose_sum *b)
{
	return (struct compose_sum) { a->allocated_count + b->allocated_count,
				      a->allocated_bytes + b->allocated_bytes,
				      a->live_count + b->live_count,
				      a->live_bytes + b->live_bytes };
}

static struct compose_sum sum_minus(const struct compose_sum *a, const struct compose_sum *b)
{
	return (struct compose_sum) { a->allocated_count - b->allocated_count,
				      a->allocated_bytes - b->allocated_bytes,
				      a->live_count - b->live_count,
				      a->live_bytes - b->live_bytes };
}

static void row_push(struct jemalloc *file, struct compose_sum sum, uint32_t thread)
{
	struct heap_row row = file->row;

	/* a thread's share is rounded; live blocks were allocated */
	sum.allocated_count = u64_max(sum.allocated_count, sum.live_count);
	sum.allocated_bytes = u64_max(sum.allocated_bytes, sum.live_bytes);
	row.sum = sum;
	row.thread = thread;
	file->profile->failed |= !heap_row_vec_push(&file->profile->rows, row);
}

/*
 * A stack's numbers are scaled as one, as pprof does it, and divided in proportion to those of the
 * threads. The threads' own scaled numbers add up to the total only without sampling: in a sample
 * each is an estimate.
 */
static void stack_end(struct jemalloc *file)
{
	struct compose_sum told = { 0 }, upto = { 0 }, given = { 0 }, whole;

	if (!file->has_row)
		return;
	file->has_row = false;
	whole = heap_profile_scale(file->profile, &file->row.sum);
	for (size_t i = 0; i < file->parts.count; i++)
		told = sum_plus(&told, &file->parts.items[i].sum);
	for (size_t i = 0; i < file->parts.count; i++) {
		const struct part *part = &file->parts.items[i];
		struct compose_sum share;

		upto = sum_plus(&upto, &part->sum);
		share = i + 1 < file->parts.count ? sum_share(&whole, &upto, &told) : whole;
		row_push(file, sum_minus(&share, &given), thread_index(file, part->thread, ""));
		given = share;
	}
	if (file->parts.count == 0)
		row_push(file, whole, UINT32_MAX);
}

/* "t*: 5: 5035 [10: 10045]" or "t12: ... name" */
static bool sum_take(struct jemalloc *file, const char *at)
{
	struct part part = { 0 };
	const bool is_all = scan_text(&at, "t*:");

	if (!is_all && (!scan_text(&at, "t") || !scan_number(&at, &part.thread) ||
			part.thread >= UINT32_MAX || !scan_text(&at, ":")))
		return false;
	if (!heap_profile_sum(&at, &part.sum))
		return false;
	file->has_accum |= part.sum.allocated_count > 0;
	part.sum.allocated_count = u64_max(part.sum.allocated_count, part.sum.live_count);
	part.sum.allocated_bytes = u64_max(part.sum.allocated_bytes, part.sum.live_bytes);
	if (!file->in_stack) {
		if (!is_all)
			thread_index(file, part.thread, at);
	} else if (is_all) {
		file->row.sum = part.sum;
		file->has_row = true;
	} else {
		file->profile->failed |= !part_vec_push(&file->parts, part);
	}
	return true;
}

static bool line_take(struct jemalloc *file, const char *line)
{
	scan_blanks(&line);
	if (!scan_text(&line, "@"))
		return sum_take(file, line);
	stack_end(file);
	file->in_stack = true;
	file->parts.count = 0;
	if (heap_profile_stack(file->profile, line, &file->row.first_pc, &file->row.pc_count))
		return true;
	file->row.first_pc = file->row.pc_count = 0; /* sums of an unreadable stack */
	return false;
}

static void lines_take(struct jemalloc *file, struct source *source)
{
	char *line;
	size_t len;

	while (!file->profile->failed && source_line(source, &line, &len)) {
		const char *at = line;

		if (source_line_is_torn(source))
			break; /* some of its addresses or digits may be missing */
		if (scan_text(&at, "MAPPED_LIBRARIES:")) {
			stack_end(file);
			heap_profile_objects(file->profile, source);
			return;
		}
		if (len > 0 && line[0] != '\r' && !line_take(file, line))
			heap_profile_bad_line(file->profile, source);
	}
	stack_end(file);
	file->is_torn = true;
}

struct err *heap_profile_threaded(struct heap_profile *profile, struct source *source,
				  const char *line, struct composer *composer)
{
	CLEAN(jemalloc_deinit) struct jemalloc file = { .profile = profile };
	struct err *err;

	profile->sampling = HEAP_SAMPLING_POISSON;
	if (!scan_text(&line, HEAD) || !scan_number(&line, &profile->period) ||
	    profile->period == 0)
		return source_error(source, "not the header of a heap profile of jemalloc, as in "
					    "\"heap_v2/524288\"");
	lines_take(&file, source);
	err = heap_profile_write(profile, source, composer);
	if (err)
		return err;
	if (!file.has_accum) {
		composer_missing(composer, TAPE_MISSING_FREED);
		composer_note(composer, "the profile has what was alive only: for what was ever "
					"allocated record it with prof_accum:true");
	}
	composer_note(composer, "sizes are those of jemalloc's size classes, numbers of threads "
				"jemalloc's own and one more");
	if (file.is_torn)
		source_torn(source, composer,
			    "the profile ends before its list of mapped libraries");
	return NULL;
}

static struct err *jemalloc_read(struct source *source, struct composer *composer)
{
	CLEAN(heap_profile_deinit) struct heap_profile profile = { 0 };
	char *line;
	size_t len;

	if (!source_line(source, &line, &len))
		return source_error(source, "the file is empty");
	return heap_profile_threaded(&profile, source, line, composer);
}

const struct importer importer_jemalloc = {
	.name = "jemalloc",
	.title = "heap profiles of jemalloc, PREFIX.PID.0.f.heap",
	.recipe = "MALLOC_CONF=prof:true,prof_final:true LD_PRELOAD=libjemalloc.so.2 PROGRAM",
	.probe = jemalloc_probe,
	.read = jemalloc_read,
};
