/*
 * fault_owners: page faults (sums/kernel_events.h) joined with the heap: in which block the address
 * lay that was touched, and so which allocation costs them; and where those lay that are in none.
 *
 * A fault is of the block that lived at its address then. While a block is being allocated it does
 * not live yet, and what calloc, realloc or the allocator touches of it is the block's, too: there
 * the fault's stack goes on from the one of the allocation, which is the next of that address.
 */
#ifndef MEMTAPE_SPACE_FAULT_OWNERS_H
#define MEMTAPE_SPACE_FAULT_OWNERS_H

#include "base/arena.h"
#include "model/model.h"
#include "sums/sweep.h"

enum fault_place {
	FAULT_IN_BLOCK,
	FAULT_IN_HEAP,	/* memory of the allocator, but of no live block */
	FAULT_IN_STACK, /* of a thread */
	FAULT_IN_FILE,	/* that is mapped: programs, libraries, data; and shared memory */
	FAULT_ELSEWHERE /* other memory that was mapped, or not known what */
};

enum { FAULT_PLACES = FAULT_ELSEWHERE + 1 };

/* A page fault. */
struct owned_fault {
	uint64_t address, ns;
	uint32_t stack; /* of who touched it */
	uint32_t owner; /* stack of the allocation; CAPTURE_STACK_NONE: it is in no block */
	uint64_t row;	/* of the block; MODEL_NO_ROW */
	bool is_allocating;
	enum fault_place place;
};

struct fault_owners {
	struct owned_fault *faults; /* in the order of time */
	size_t count;
	uint64_t event_bytes;	       /* of each: of a page */
	uint64_t places[FAULT_PLACES]; /* how many */
	uint64_t allocating_count;     /* of those in blocks, while they were being allocated */
	struct model_sum *stacks;      /* by stack: faults in its blocks, and the pages' bytes */
	uint64_t *blocks;	       /* by stack: how many blocks these are */
};

/* Whether there are page faults (or other events with an address, by kind) and allocations. */
bool fault_owners_exist(const struct model *model, enum tape_kernel_kind kind);

/*
 * Faults, or events of another kind, from from_ns until until_ns, both inclusive. Needs MODEL_FULL. Lives in the arena. limits may
 * be NULL. Takes a pass over the rows, and memory for each fault.
 */
struct err *fault_owners_find(const struct model *model, enum tape_kernel_kind kind,
			      uint64_t from_ns, uint64_t until_ns,
			      const struct sweep_limits *limits, struct arena *arena,
			      struct fault_owners *owners_ret);

#endif
