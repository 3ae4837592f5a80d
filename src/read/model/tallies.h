/*
 * tallies: one tally for each stack that has events. Of the stacks of a tape most are only on the
 * way to others - four of five of a compiler's - so a stack has the number of its tally, four bytes,
 * and only those that need one have the 64 bytes. Internal to model.
 */
#ifndef MEMTAPE_MODEL_TALLIES_H
#define MEMTAPE_MODEL_TALLIES_H

#include <assert.h>

#include "base/big.h"
#include "core/core.h"
#include "model/tally.h"

struct tallies {
	uint32_t *seats; /* by stack id: index into items; 0: it has none yet */
	size_t seat_room;
	struct tally *items; /* items[0] is of no stack, and all zeros; NULL at first */
	uint32_t count;	     /* of items, the first included */
	uint32_t room;
};

void tallies_deinit(struct tallies *tallies);

/* For stack ids below room, and no fewer than before; false: out of memory. What grows is zeroed. */
bool tallies_reserve(struct tallies *tallies, size_t room);

/* Room for one more, which tallies_seat() may take; false: out of memory. */
bool tallies_grow(struct tallies *tallies);

static inline bool tallies_make_room(struct tallies *tallies)
{
	return likely(tallies->count < tallies->room) || tallies_grow(tallies);
}

/* All zeros if the stack has no events. */
static inline struct tally *tallies_of(const struct tallies *tallies, uint32_t stack)
{
	assert(stack < tallies->seat_room);
	return &tallies->items[tallies->seats[stack]];
}

/* The tally of a stack, whatever its id. */
static inline void tallies_prefetch(const struct tallies *tallies, uint32_t stack)
{
	const uint32_t known = stack & -(uint32_t)(stack < tallies->seat_room);

	__builtin_prefetch(&tallies->items[tallies->seats[known]], 1);
}

/* The tally of a stack that has an event now. There is room for one more. */
static inline struct tally *tallies_seat(struct tallies *tallies, uint32_t stack)
{
	assert(stack < tallies->seat_room && tallies->count < tallies->room);
	if (unlikely(tallies->seats[stack] == 0))
		tallies->seats[stack] = tallies->count++;
	return &tallies->items[tallies->seats[stack]];
}

/* Of memory that is in use, with so many stacks. */
static inline size_t tallies_bytes(const struct tallies *tallies, size_t stack_count)
{
	return stack_count * sizeof(*tallies->seats) + tallies->count * sizeof(*tallies->items);
}

/* A copy of what changes; seats are borrowed, until tallies_drop(). False: out of memory. */
bool tallies_copy(const struct tallies *tallies, struct tallies *copy_ret);
void tallies_drop(struct tallies *copy);

#endif
