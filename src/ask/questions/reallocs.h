/*
 * reallocs: functions whose blocks grow, how often the blocks moved, and whether copying gets more
 * expensive the larger they are.
 */
#ifndef MEMTAPE_QUESTIONS_REALLOCS_H
#define MEMTAPE_QUESTIONS_REALLOCS_H

#include "answer/about.h"
#include "answer/frame.h"
#include "groups/reallocs.h"

struct growth {
	double factor;		  /* per step, on average; NAN: unknown */
	uint64_t increment_bytes; /* per step; SHAPE_NONE: steps are not constant */
};

struct grown_site {
	struct place place;
	struct realloc_sums sums;
	struct growth growth; /* of the block with the most copied bytes */
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
	enum realloc_order order; /* not a member */
};

#endif
