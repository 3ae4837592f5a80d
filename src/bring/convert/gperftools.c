/*
 * Text heap profiles of gperftools and TCMalloc: a header, a row per stack, the mappings.
 *
 *	heap profile:      5:     5035 [    15:    10095] @ heapprofile
 *	     5:     5035 [    10:    10045] @ 0x4011b7 0x401202
 *
 * The word after the header's @ gives the kind of rows: everything (heapprofile), a sample
 * (heap_v2/PERIOD, formerly heap/PERIOD), or memory obtained from the system (growth).
 */
#include <inttypes.h>

#include "convert/heap_profile.h"
#include "convert/importer.h"
#include "convert/scan.h"

static const char HEAD[] = "heap profile:";
static const uint64_t OLD_PERIOD = 128 << 10; /* if an old profile names none */

struct gperftools {
	struct heap_profile profile;
	struct compose_sum told;  /* from the header */
	struct compose_sum found; /* from the rows */
	bool is_growth;
	bool is_torn;
};

static void gperftools_deinit(struct gperftools *file)
{
	heap_profile_deinit(&file->profile);
}

CLEAN_DEFINE_DEINIT(gperftools_deinit, struct gperftools);

static enum importer_match gperftools_probe(const char *bytes, size_t count)
{
	const char *at = bytes;

	(void)count;
	if (scan_text(&at, HEAD))
		return IMPORTER_YES;
	/* made portable by pprof: the kind follows the names */
	return scan_text(&at, "--- symbol") ? IMPORTER_YES : IMPORTER_NO;
}

/* Reads the kind after the @; at is in a line. False: unknown. */
static bool kind_take(struct gperftools *file, const char *at)
{
	struct heap_profile *profile = &file->profile;
	uint64_t period = 0;

	if (scan_text(&at, "heapprofile"))
		return true;
	if (scan_text(&at, "growthz") || scan_text(&at, "growth")) {
		file->is_growth = true;
		return true;
	}
	if (!scan_text(&at, "heap"))
		return false;
	profile->sampling = scan_text(&at, "z_v2") || scan_text(&at, "_v2") ? HEAP_SAMPLING_POISSON
									    : HEAP_SAMPLING_LINEAR;
	if (scan_text(&at, "/") && !scan_number(&at, &period))
		return false;
	/* the older format has twice the mean sampling interval */
	if (profile->sampling == HEAP_SAMPLING_LINEAR)
		period /= 2;
	profile->period = period ? period : OLD_PERIOD;
	return true;
}

static struct err *head_take(struct gperftools *file, const struct source *source, const char *line)
{
	const char *at = line;

	if (!scan_text(&at, HEAD) || !heap_profile_sum(&at, &file->told))
		return source_error(source, "not the header of a heap profile, as in \"heap "
					    "profile: 5: 5035 [ 15: 10095] @ heapprofile\"");
	if (scan_text(&at, "@")) {
		scan_blanks(&at);
		if (!kind_take(file, at))
			return source_error(source,
					    "profiles of the kind \"%.40s\" are not known; known "
					    "are heapprofile, heap_v2, heap and growth",
					    at);
	} else if (file->told.live_count == file->told.allocated_count &&
		   file->told.live_bytes == file->told.allocated_bytes) {
		/* very old profiles were always samples */
		file->profile.sampling = HEAP_SAMPLING_LINEAR;
		file->profile.period = OLD_PERIOD;
	}
	return NULL;
}

static void sum_add(struct compose_sum *sum, const struct compose_sum *other)
{
	sum->live_count += other->live_count; /* no file has enough lines to overflow */
	sum->live_bytes += other->live_bytes;
	sum->allocated_count += other->allocated_count;
	sum->allocated_bytes += other->allocated_bytes;
}

static void row_take(struct gperftools *file, const struct source *source, const char *line)
{
	struct heap_profile *profile = &file->profile;
	struct heap_row row = { .thread = UINT32_MAX };

	if (!heap_profile_sum(&line, &row.sum) || !scan_text(&line, "@") ||
	    row.sum.live_count > row.sum.allocated_count ||
	    row.sum.live_bytes > row.sum.allocated_bytes ||
	    !heap_profile_stack(profile, line, &row.first_pc, &row.pc_count)) {
		heap_profile_bad_line(profile, source);
		return;
	}
	sum_add(&file->found, &row.sum);
	row.sum = heap_profile_scale(profile, &row.sum);
	profile->failed |= !heap_row_vec_push(&profile->rows, row);
}

static void rows_take(struct gperftools *file, struct source *source)
{
	char *line;
	size_t len;

	while (!file->profile.failed && source_line(source, &line, &len)) {
		const char *at = line;

		if (source_line_is_torn(source)) {
			file->is_torn = true; /* some of its addresses may be missing */
			return;
		}
		if (scan_text(&at, "MAPPED_LIBRARIES:") || scan_text(&at, "--- Memory map:")) {
			heap_profile_objects(&file->profile, source);
			return;
		}
		if (len > 0 && line[0] != '\r')
			row_take(file, source, line);
	}
	file->is_torn = !file->profile.has_objects;
}

static void notes_write(const struct gperftools *file, const struct source *source,
			struct composer *composer)
{
	composer_missing(composer, TAPE_MISSING_THREADS | TAPE_MISSING_USABLE);
	if (file->is_growth) {
		composer_missing(composer, TAPE_MISSING_FREES);
		composer_note(composer, "a profile of growth: what the allocator took from the "
					"system, not what the program allocated");
	}
	if (file->is_torn)
		source_torn(source, composer,
			    "the profile ends before its list of mapped libraries");
	if (file->found.live_bytes < file->told.live_bytes ||
	    file->found.allocated_bytes < file->told.allocated_bytes)
		composer_note(composer,
			      "the rows have %" PRIu64 " bytes alive of %" PRIu64
			      " ever allocated, the header says %" PRIu64 " of %" PRIu64
			      ": rows are lost",
			      file->found.live_bytes, file->found.allocated_bytes,
			      file->told.live_bytes, file->told.allocated_bytes);
}

static struct err *gperftools_read(struct source *source, struct composer *composer)
{
	CLEAN(gperftools_deinit) struct gperftools file = { 0 };
	const char *bytes;
	char *line = NULL;
	size_t count, len;
	struct err *err;

	source_peek(source, 4, &bytes, &count);
	if (count >= 4 && memcmp(bytes, "--- ", 4) == 0)
		heap_profile_symbols(&file.profile, source, &line);
	else if (!source_line(source, &line, &len))
		line = NULL;
	if (!line)
		return source_error(source, "the file ends before the profile's header");
	if (strncmp(line, "heap_v2/", 8) == 0)
		return heap_profile_threaded(&file.profile, source, line, composer);
	err = head_take(&file, source, line);
	if (err)
		return err;
	rows_take(&file, source);
	err = heap_profile_write(&file.profile, source, composer);
	if (!err)
		notes_write(&file, source, composer);
	return err;
}

const struct importer importer_gperftools = {
	.name = "gperftools",
	.title = "heap profiles of gperftools and TCMalloc, NAME.0001.heap",
	.recipe = "HEAPPROFILE=/tmp/x LD_PRELOAD=libtcmalloc.so.4 PROGRAM",
	.probe = gperftools_probe,
	.read = gperftools_read,
};
