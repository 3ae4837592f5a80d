/*
 * strip: makes a smaller copy of a tape, without unneeded allocations.
 *
 * Blocks linked by realloc are a *chain* and are kept or dropped as a whole. Anomalies - a block
 * whose free was not seen, a free of an unknown block - stay.
 *
 * The tape is played twice and then rewritten (capture/rewrite.h). Memory: a bit for each event,
 * about 100 bytes for each block live at once, 16 for each event of a chain not yet known to stay,
 * and the stacks.
 */
#ifndef MEMTAPE_CAPTURE_STRIP_H
#define MEMTAPE_CAPTURE_STRIP_H

#include "capture/capture.h"
#include "capture/rewrite.h"

struct strip_settings {
	int level; /* of zstd */
	/* Nanoseconds since the beginning for a time on the tape. Monotonic. */
	uint64_t (*ns)(const void *context, uint64_t ticks);
	const void *ns_context;
	/* Zeros keep everything, except for until_ns. */
	uint64_t min_lifetime_ns; /* chains freed sooner are dropped */
	uint64_t from_ns;	  /* chains that ended before it are dropped */
	uint64_t until_ns;	  /* chains that began after it are dropped; UINT64_MAX */
	/* By allocation number: a chain is dropped if none of its allocations is selected. NULL:
	 * all are. */
	const uint64_t *selected;
	const char *filter; /* the filter that selected them */
	bool drops_free_stacks;
	bool drops_names;
	bool drops_space;
};

struct stripped {
	struct rewritten rewritten;
	uint64_t count;	       /* allocations left out */
	uint64_t bytes;	       /* requested, of all of them */
	uint64_t hidden_bytes; /* peak number of them live at once, in from_ns .. until_ns */
};

/* To an open, empty file. The tape records what was done to it (EDIT). */
struct err *strip_tape(const struct capture *capture, int fd, const struct strip_settings *settings,
		       struct stripped *stripped_ret);

#endif
