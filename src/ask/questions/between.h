/*
 * between: what a span of time left behind, and what it freed; and for a moment (at), what was
 * alive.
 */
#ifndef MEMTAPE_QUESTIONS_BETWEEN_H
#define MEMTAPE_QUESTIONS_BETWEEN_H

#include "answer/about.h"
#include "answer/frame.h"
#include "time/span.h"

struct span_answer {
	struct span_sums sums;
	int64_t net_bytes, net_count;
};

struct span_site {
	struct place place;
	struct span_answer sums;
	uint64_t stacks;
	uint32_t stack;
};

struct between_answer {
	uint64_t from_ns, until_ns;
	struct span_answer total;
	struct shape_rows sites; /* of struct span_site */
	struct quality quality;
};

struct at_answer {
	uint64_t at_ns;
	uint64_t live_bytes, live_count;
	struct shape_rows sites;
	struct quality quality;
	/* Not members: the data behind the rows. */
	const struct site *const *ranked;
};

#endif
