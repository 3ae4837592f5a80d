/*
 * course: how the live bytes of a selection went, in columns of equal time or of equally many
 * allocations, and which groups they belonged to.
 *
 * One pass over the rows and the frees in the order of time (MODEL_FULL); memory for the columns.
 * Of equal times frees come before allocations, but never before their own.
 */
#ifndef MEMTAPE_TIME_COURSE_H
#define MEMTAPE_TIME_COURSE_H

#include "groups/groups.h"

enum { COURSE_BANDS_MAX = 16 };

struct course_settings {
	uint64_t from_ns;  /* what happens from here on is shown ... */
	uint64_t until_ns; /* ... to before this, which is later */
	size_t column_count;
	bool is_by_number; /* columns of equally many allocations instead of equal time */
	bool has_bands;
	enum group_by by;    /* of bands */
	enum walk_mode mode; /* of bands by function, file or module */
	size_t top; /* bands for so many groups, those with most at the peak, and one for the rest
		     */
};

struct course_column {
	uint64_t begin_ns;
	uint64_t live_min;
	uint64_t live_max;
	uint64_t live_end;
	uint64_t live_count_end;
	struct model_sum allocated; /* in this column */
	uint64_t free_count;
};

struct course {
	const struct course_column *columns;
	size_t column_count;
	uint64_t end_ns;
	/* Allocations of the selection before the first column, and in all columns. */
	uint64_t first_number;
	uint64_t number_count;
	uint64_t peak_bytes; /* the most, when for the first time, and how many had come before */
	uint64_t peak_ns;
	uint64_t peak_number;
	/*
	 * band_count values a column: whose the bytes of its live_max were. The last is the rest.
	 */
	uint64_t *bands;
	size_t band_count;
	bool has_rest; /* the last is of all others */
	const char *band_titles[COURSE_BANDS_MAX + 1];
	const uint64_t *peak_bands; /* at the peak */
	struct groups band_groups;  /* those of the bands, without the rest */
};

/* Lives in the arena. */
struct err *course_find(const struct selection *selection, const struct course_settings *settings,
			struct arena *arena, struct course *course_ret);

/*
 * Only the bands, of all allocations, at given moments: one for each column, ascending. Fills what
 * course has of bands but peak_bands. A pass over the rows on all processors, in any order of time;
 * the selection is everything, and settings are not by number.
 */
struct err *course_bands_at(const struct selection *selection,
			    const struct course_settings *settings, const struct model_peak *peaks,
			    struct arena *arena, struct course *course);

/* What course has of bands but their values, when these groups have bands of their own. */
struct err *course_bands_name(const struct selection *selection, const struct groups *groups,
			      struct arena *arena, struct course *course);

#endif
