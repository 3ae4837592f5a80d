/*
 * disorder: events that appear in a different order than they happened. Internal to model.
 *
 * A thread's own events are in order. Those of several are merged by their times, whose error is
 * the skew between two processors' clocks, plus how early a processor may read its clock out of
 * order. So where blocks pass between threads,
 *
 *	a free may come late, when its block's address has been reused. Then the free was
 *	missed, and is assigned to the older block when it comes;
 *
 *	a free may come early, before the allocation of its block. It finds no block, and neither
 *	does a double free. Which of the two it was shows when the address is
 *	reused: if that is a moment later, and by another thread, the new block has ended when it
 *	began, by this free. Should that block be freed once more, before its address is reused
 *	again, then this is its free, and the early one was of no block after all. The end is
 *	corrected, but keeps its first time: the order of ends stays.
 *
 * An early free may even come before the free of the address's previous block, which then finds no
 * block and whose thread may be the one that gets the address. So a free of no block also
 * represents another one: its rival, a moment before it, by another thread, which ended the
 * address's last block and may be the early one instead.
 */
#ifndef MEMTAPE_MODEL_DISORDER_H
#define MEMTAPE_MODEL_DISORDER_H

#include "capture/capture.h"
#include "model/blocks.h"

/*
 * How early depends on the skew between two processors' clocks, which is below a microsecond on one
 * machine and may be a few in a virtual one, and on the length of a pipeline, a fraction of one.
 * Twice as much does no harm: a free wrongly taken for an early one is detected when the block is
 * freed.
 */
enum { EARLY_WINDOW_NS = 10000 };

/*
 * More frees of no block within the window than EARLY_MAX: the oldest keeps its status. More blocks
 * with an early free, whose addresses were not reused, than PAIRS_MAX: the free of the oldest stays
 * with it, and a further free of it counts as of no block.
 */
enum { LATE_MAX = 16, EARLY_MAX = 16, PAIRS_MAX = 4096 };

struct seen_free {
	struct capture_event event; /* the second half's time, of a realloc */
	uint64_t row_count;	    /* allocations so far */
	uint64_t calls;		    /* of its thread by then; UINT64_MAX: unknown */
	uint32_t thread;
	bool had_block; /* the address had been reused before */
};

struct ended_block {
	uint64_t size;
	uint64_t ticks; /* of its end, as recorded */
	uint32_t serial;
	uint32_t thread;
	unsigned flags; /* enum model_allocation_flag, as recorded */
};

/* A block whose address was reused before its free was seen: the free may still come. */
struct late_block {
	uint64_t address;
	struct ended_block block; /* when the address was reused */
	uint32_t thread;	  /* the thread that has it now */
};

/* A free of no block. */
struct early_free {
	struct seen_free free;
	struct seen_free rival;	  /* address 0: there is none */
	struct ended_block block; /* that the rival ended */
};

/* A block ended by an early free. */
struct early_pair {
	struct seen_free free; /* address 0: none */
	struct ended_block block;
};

struct disorder {
	uint64_t late_window_ticks;
	uint64_t late_ticks; /* of the newest */
	uint64_t early_window_ticks;
	uint64_t early_ticks; /* of the newest */
	struct late_block late[LATE_MAX];
	unsigned late_at;
	unsigned early_at;
	uint64_t early_addresses[EARLY_MAX]; /* 0: none, or it was a block's free */
	struct early_free early[EARLY_MAX];
	struct early_pair *pairs; /* PAIRS_MAX; NULL: none yet */
	uint32_t pair_at;
	bool has_older_blocks; /* of blocks from before the tape: their frees are not early ones */
};

struct replay;

/* The address of an allocation has a block: records its end and marks it dead. */
void disorder_replace(struct replay *replay, const struct capture_event *event, uint32_t thread,
		      struct block *block);

/* Whether this free belongs to a block lost a moment ago; then it is assigned to it. */
bool disorder_free_late(struct replay *replay, const struct capture_event *event, uint32_t thread);

/*
 * There is no block. `at` is the event among those being played. Returns the row that it frees
 * nevertheless, ROW_NONE: none known yet.
 */
uint32_t disorder_free_unknown(struct replay *replay, const struct capture_event *event,
			       const struct capture_event *at, uint32_t thread);

/* Whether this allocation's block was freed before; then that free counts for no other block. */
bool disorder_find_early(struct replay *replay, const struct capture_event *event, uint32_t thread,
			 struct seen_free *free_ret);

/* The new block, whose sums and row exist, has ended. slot: of its address. */
void disorder_end_early(struct replay *replay, struct block *slot, struct block block,
			uint64_t ticks, const struct seen_free *free);

void disorder_deinit(struct disorder *disorder);

#endif
