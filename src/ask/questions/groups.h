/*
 * groups: allocations grouped by a common property, with sums of those that match the filter and of
 * all; and the peak that the program would have without each group (savings).
 */
#ifndef MEMTAPE_QUESTIONS_GROUPS_H
#define MEMTAPE_QUESTIONS_GROUPS_H

#include "answer/about.h"
#include "answer/frame.h"
#include "groups/groups.h"

struct group_values {
	uint64_t of[GROUP_KEYS]; /* by enum group_key; SHAPE_NONE: none */
	double rate_per_s;
};

extern const struct shape shape_group_values;

/* The sums of a group, for the selected or for all allocations. */
struct group_values group_values_of(const struct group *group, bool is_of_all);

struct group_row {
	const char *title;
	struct place place;
	uint64_t stack_id, stacks;
	struct group_values matched, all;
	uint64_t saves_bytes, peak_without_bytes, peak_without_ns;
	struct shape_share share;
	uint32_t stack;
};

struct groups_answer {
	const char *by;
	const char *sort;
	bool ascending;
	const char *filter;
	uint64_t allocations;
	uint64_t total_count; /* groups */
	struct shape_rows groups;
	struct about about;
};

/* --- savings ------------------------------------------------------------------------------- */

/* The peak without something. */
struct saving {
	uint64_t saves_bytes; /* by how much it is lower */
	uint64_t peak_without_bytes;
	uint64_t peak_without_ns; /* SHAPE_NONE: nothing else was allocated */
};

struct saving_row {
	const char *title;
	struct place place;
	struct saving saving;
	struct shape_share share; /* of the peak */
	uint64_t peak_bytes;	  /* its own part of the peak */
	const char *filter;	  /* NULL: cannot be written */
	uint32_t stack;
};

struct savings_answer {
	uint64_t peak_bytes, peak_ns;
	const struct saving *selected; /* NULL: everything is selected */
	const char *by;
	uint64_t total_count; /* groups that save something */
	struct shape_rows savings;
	struct about about;
};

#endif
