/*
 * range_owner: whose a range of memory was at a moment: the mapping that had most of it, and the
 * stack whose blocks had most of it.
 */
#ifndef MEMTAPE_SPACE_RANGE_OWNER_H
#define MEMTAPE_SPACE_RANGE_OWNER_H

#include "base/arena.h"
#include "model/model.h"

struct range_owner {
	/* Of the mapping; kind is NULL where none is known. */
	const char *kind, *name;
	uint32_t mapping;	/* its index in mappings_all(); UINT32_MAX: none is known */
	uint32_t mapping_stack; /* CAPTURE_STACK_NONE: no call of it was seen */
	/* Blocks that lay in the range, of the stack with most bytes there. */
	uint32_t stack; /* CAPTURE_STACK_NONE: there were none */
	uint64_t bytes, blocks;
};

/*
 * [begin, end) at ns. Strings live in the arena. Takes a pass over the rows and over what was mapped:
 * ask for few ranges.
 */
struct err *range_owner_find(const struct model *model, uint64_t ns, uint64_t begin, uint64_t end,
			     struct arena *arena, struct range_owner *owner_ret);

/* The stack that stands for the owner: of the blocks, or of the mapping; or CAPTURE_STACK_NONE. */
static inline uint32_t range_owner_stack(const struct range_owner *owner)
{
	return owner->stack != CAPTURE_STACK_NONE ? owner->stack : owner->mapping_stack;
}

#endif
