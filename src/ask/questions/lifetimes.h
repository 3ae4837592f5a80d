/*
 * lifetimes: how long blocks lived, from the shortest to those that stay.
 */
#ifndef MEMTAPE_QUESTIONS_LIFETIMES_H
#define MEMTAPE_QUESTIONS_LIFETIMES_H

#include "answer/about.h"
#include "answer/frame.h"

struct lived {
	uint64_t freed_count, freed_bytes;
	uint64_t never_freed_count, never_freed_bytes;
	uint64_t freed_unseen_count, freed_unseen_bytes;
	uint64_t p50_ns, p90_ns, p99_ns, p999_ns, max_ns; /* SHAPE_NONE: none was freed */
};

struct lifetime_row {
	uint64_t min_ns, max_ns; /* SHAPE_NONE: unbounded */
	uint64_t count, bytes;
};

struct lifetime_site {
	struct place place;
	struct lived lived;
	/* Not members. */
	uint64_t block_count;
	uint32_t stack;
};

struct lifetimes_answer {
	struct lived lived;
	struct shape_rows lifetimes; /* of struct lifetime_row */
	struct shape_rows sites;     /* of struct lifetime_site; items NULL: not requested */
	struct quality quality;
};

#endif
