/*
 * course: live bytes of a selection over time, in columns of equal time or equal numbers of
 * allocations, and the groups they belong to.
 *
 * One pass over rows and frees in time order (MODEL_FULL); needs memory for the columns. At equal
 * times frees come before allocations, but never before their own.
 */
#ifndef MEMTAPE_TIME_COURSE_H
#define MEMTAPE_TIME_COURSE_H

#include "groups/groups.h"

enum { COURSE_BANDS_MAX = 16 };

struct course_settings {
	uint64_t from_ns;  /* inclusive */
	uint64_t until_ns; /* exclusive; later than from_ns */
	size_t column_count;
	bool is_by_number; /* columns of equal numbers of allocations instead of equal time */
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
	/* Number of selected allocations before the first column, and in all columns. */
	uint64_t first_number;
	uint64_t number_count;
	uint64_t peak_bytes; /* the maximum, its first time, and earlier allocations */
	uint64_t peak_ns;
	uint64_t peak_number;
	/*
	 * band_count values per column: live_max by band. The last one is the rest.
	 */
	uint64_t *bands;
	size_t band_count;
	bool has_rest; /* the last band is all other groups */
	const char *band_titles[COURSE_BANDS_MAX + 1];
	const uint64_t *peak_bands; /* at the peak */
	struct groups band_groups;  /* the groups of the bands, without the rest */
};

/* Lives in the arena. */
struct err *course_find(const struct selection *selection, const struct course_settings *settings,
			struct arena *arena, struct course *course_ret);

/*
 * Only the bands, of all allocations, at given moments: one per column, ascending. Fills the band
 * members of course except peak_bands. One pass over the rows on all processors, in any time order;
 * everything must be selected, and settings not by number.
 */
struct err *course_bands_at(const struct selection *selection,
			    const struct course_settings *settings, const struct model_peak *peaks,
			    struct arena *arena, struct course *course);

/* The band members of course except their values, with bands for these groups. */
struct err *course_bands_name(const struct selection *selection, const struct groups *groups,
			      struct arena *arena, struct course *course);

#endif
