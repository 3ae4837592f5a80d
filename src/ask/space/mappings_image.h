/*
 * mappings_image: the address space as the kernel showed it, from the lines of SPACE records, and
 * which of its pages are resident. Foreign bytes: lines that are not what they should be are left
 * out. Internal to mappings.
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
	const char *runs; /* borrowed from the record; NULL: not looked at */
	uint32_t name;	  /* in the image's names */
	uint32_t prot;	  /* PROT_READ ... */
	uint32_t marks;	  /* enum mappings_mark */
	bool is_shared;
};

VEC_DEFINE(mappings_extent_vec, struct mappings_extent);

struct mappings_image {
	struct mappings_extent_vec all; /* ascending, apart */
	struct interner names;		/* "" has a number too */
};

void mappings_image_deinit(struct mappings_image *image);
CLEAN_DEFINE_DEINIT(mappings_image_deinit, struct mappings_image);

/*
 * What the lines of one record say is so from now on; begins_anew: nothing else is. text must
 * outlive the image. False: out of memory.
 */
bool mappings_image_apply(struct mappings_image *image, const char *text, bool begins_anew);

const char *mappings_image_name(const struct mappings_image *image,
				const struct mappings_extent *extent);

/* Resident ranges of an extent, ascending, inside of it. */
struct mappings_runs {
	const char *at;
	uint64_t address;
	uint64_t end;
};

struct mappings_runs mappings_runs_begin(const struct mappings_extent *extent);
bool mappings_runs_next(struct mappings_runs *runs, uint64_t *begin_ret, uint64_t *end_ret);

/*
 * Whether it is known which pages are resident: they were looked at, or it is all of them or none.
 */
bool mappings_extent_is_exact(const struct mappings_extent *extent);

/* Resident bytes of [begin, end) in the extent; where it is not known which, in proportion. */
uint64_t mappings_extent_resident(const struct mappings_extent *extent, uint64_t begin,
				  uint64_t end);

#endif
