/*
 * reallocs: who lets blocks grow, how often they had to move, and whether they grow in a way that
 * makes copying cost more the larger they get.
 */
#ifndef MEMTAPE_QUESTIONS_REALLOCS_H
#define MEMTAPE_QUESTIONS_REALLOCS_H

#include "answer/about.h"
#include "answer/frame.h"
#include "groups/reallocs.h"

struct growth {
	double factor;		  /* a step, on average; NAN: that cannot be said */
	uint64_t increment_bytes; /* a step; SHAPE_NONE: it did not grow by constant steps */
};

struct grown_site {
	struct place place;
	struct realloc_sums sums;
	struct growth growth; /* of the block that was copied most */
	uint32_t stack;
};

struct grown_block {
	struct realloc_chain chain;
	struct growth growth;
};

struct reallocs_answer {
	struct realloc_sums total;
	const char *sort;
	struct shape_rows sites;  /* of struct grown_site */
	struct shape_rows chains; /* of struct grown_block */
	struct quality quality;
	enum realloc_order order; /* no member */
};

#endif
