/*
 * groups: allocations grouped by a common property, with sums of those that match the filter and of
 * all.
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

#endif
