/*
 * members: which process of a process tree each stack belongs to: the outermost frame of the stacks
 * of a tape of several processes says so. A tape of one process has one member.
 */
#ifndef MEMTAPE_SELECT_MEMBERS_H
#define MEMTAPE_SELECT_MEMBERS_H

#include "base/arena.h"
#include "base/err.h"
#include "model/model.h"

struct tree_member {
	const char *name; /* of its program */
	uint32_t pid;
};

struct members {
	const struct tree_member *items;
	size_t count;		  /* at least 1 */
	const uint32_t *of_stack; /* by stack id: index; NULL: all are of the only one */
};

/* Stacks of no known process belong to the first one. Everything is in the arena, or the model's. */
struct err *members_find(const struct model *model, struct arena *arena, struct members *members);

static inline uint32_t members_of(const struct members *members, uint64_t stack)
{
	return members->of_stack ? members->of_stack[stack] : 0;
}

#endif
