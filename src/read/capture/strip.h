/*
 * strip: a smaller tape of a tape, without allocations that are not needed.
 *
 * Blocks that realloc turned into each other are a *chain* and stay or go as a whole. What looks
 * wrong - a block whose free was not seen, a free of an unknown block - stays.
 *
 * The tape is played twice and then rewritten (capture/rewrite.h). Memory: a bit for each event,
 * about 100 bytes for each block that is alive at once, 16 for each event of a chain of which it is
 * not yet known whether it stays, and the stacks.
 */
#ifndef MEMTAPE_CAPTURE_STRIP_H
#define MEMTAPE_CAPTURE_STRIP_H

#include "capture/capture.h"
#include "capture/rewrite.h"

struct strip_settings {
	int level; /* of zstd */
	/* Nanoseconds since the beginning, of a time on the tape. Never falls. */
	uint64_t (*ns)(const void *context, uint64_t ticks);
	const void *ns_context;
	/* Zeros are everything, but for until_ns. */
	uint64_t min_lifetime_ns; /* chains that were freed sooner go */
	uint64_t from_ns;	  /* chains that ended before it go */
	uint64_t until_ns;	  /* chains that began after it go; UINT64_MAX */
	/* By number of the allocation: a chain goes if none of its allocations is selected. NULL:
	 * all. */
	const uint64_t *selected;
	const char *filter; /* what selected them, in words */
	bool drops_free_stacks;
	bool drops_names;
	bool drops_space;
};

struct stripped {
	struct rewritten rewritten;
	uint64_t count;	       /* allocations left out */
	uint64_t bytes;	       /* requested, of all of them */
	uint64_t hidden_bytes; /* alive of them at once, at most, in from_ns .. until_ns */
};

/* To an open, empty file. The tape says what was done to it (EDIT). */
struct err *strip_tape(const struct capture *capture, int fd, const struct strip_settings *settings,
		       struct stripped *stripped_ret);

#endif
