/*
 * mappings_image: the address space as shown by the kernel, from the lines of SPACE records, and
 * which of its pages are resident. The input is untrusted: malformed lines are skipped. Internal to
 * mappings.
 */
#ifndef MEMTAPE_SPACE_MAPPINGS_IMAGE_H
#define MEMTAPE_SPACE_MAPPINGS_IMAGE_H

#include "base/map.h"
#include "base/vec.h"

enum mappings_mark {
	MAPPINGS_NO_RESERVE = 1 << 0,
	MAPPINGS_NO_DUMP = 1 << 1,
	MAPPINGS_WIPED = 1 << 2,
	MAPPINGS_GROWS_DOWN = 1 << 3
};

struct mappings_extent {
	uint64_t begin;
	uint64_t end;
	uint64_t rss_bytes;
	uint64_t anonymous_bytes; /* of rss */
	uint64_t swap_bytes;
	const char *runs; /* borrowed from the record; NULL: not known */
	uint32_t name;	  /* in the image's names */
	uint32_t prot;	  /* PROT_READ ... */
	uint32_t marks;	  /* enum mappings_mark */
	bool is_shared;
};

VEC_DEFINE(mappings_extent_vec, struct mappings_extent);

struct mappings_image {
	struct mappings_extent_vec all; /* ascending, disjoint */
	struct interner names;		/* "" has an index too */
};

void mappings_image_deinit(struct mappings_image *image);
CLEAN_DEFINE_DEINIT(mappings_image_deinit, struct mappings_image);

/*
 * Applies the lines of one record; begins_anew: they replace the whole image. text must outlive the
 * image. False: out of memory.
 */
bool mappings_image_apply(struct mappings_image *image, const char *text, bool begins_anew);

/*
 * The range at the beginning of a line "BEGIN END REST", in whole pages of user memory. Returns REST;
 * NULL: it is malformed.
 */
const char *mappings_image_range(const char *line, uint64_t *begin_ret, uint64_t *end_ret);

const char *mappings_image_name(const struct mappings_image *image,
				const struct mappings_extent *extent);

enum mappings_pages { MAPPINGS_RESIDENT, MAPPINGS_ABSENT, MAPPINGS_SWAPPED, MAPPINGS_ZERO };

/* Ranges of an extent, ascending, within it. */
struct mappings_runs {
	const char *at;
	uint64_t address;
	uint64_t end;
	enum mappings_pages next; /* what a number without a letter means */
};

struct mappings_runs mappings_runs_begin(const struct mappings_extent *extent);
/* The next ranges whose pages are not absent. */
bool mappings_runs_any(struct mappings_runs *runs, enum mappings_pages *kind_ret,
		       uint64_t *begin_ret, uint64_t *end_ret);
/* The resident ones alone. */
bool mappings_runs_next(struct mappings_runs *runs, uint64_t *begin_ret, uint64_t *end_ret);

/* Whether it is known which pages are swapped out: none, or they were listed. */
bool mappings_extent_tells_swap(const struct mappings_extent *extent);

/*
 * Whether resident pages are known exactly: they were listed, or all or none are resident.
 */
bool mappings_extent_is_exact(const struct mappings_extent *extent);

/* Resident bytes of [begin, end) in the extent; pro rata if resident pages are not known. */
uint64_t mappings_extent_resident(const struct mappings_extent *extent, uint64_t begin,
				  uint64_t end);

#endif
