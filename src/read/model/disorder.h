/*
 * disorder: events that come in another order than what they tell of happened in. Internal to
 * model.
 *
 * A thread's own events are in order. Those of several are merged by their times, which differ from
 * the truth by as much as the clocks of two processors differ, and by what a processor reads its
 * clock ahead of what is before it. So where blocks go from thread to thread,
 *
 *	a free may come late, when its block's address has been given out again. Then the free was
 *	missed, and is told of the older block when it comes;
 *
 *	a free may come early, before the allocation of its block. It finds no block, and neither
 *	does a free of what was freed already. Which of the two it was shows when the address is
 *	given out: if that is a moment later, and to another thread, the new block has ended when it
 *	began, by this free. Should that block be freed once more, before its address is given out
 *	again, then this is its free, and the early one was of no block after all. What was told is
 *	told anew, but at the time told first: the order of ends stays.
 *
 * An early free may even come before the free of the block that had the address before, which then
 * finds no block and whose thread may be the one that gets the address. So a free of no block
 * stands for another one, too: its rival, a moment before it, by another thread, which ended the
 * address's last block and may as well be the early one of the two.
 */
#ifndef MEMTAPE_MODEL_DISORDER_H
#define MEMTAPE_MODEL_DISORDER_H

#include "capture/capture.h"
#include "model/blocks.h"

/*
 * What is early is so by the distance of two processors' clocks, which is below a microsecond in
 * one machine and may be a few in a virtual one, and by the length of a pipeline, a fraction of
 * one. Twice as much does no harm: a free that was wrongly taken for an early one is found out when
 * the block is freed.
 */
enum { EARLY_WINDOW_NS = 10000 };

/*
 * More frees of no block within the window than EARLY_MAX: the oldest stays what it is. More blocks
 * with an early free, whose addresses were not given out again, than PAIRS_MAX: the free of the
 * oldest stays with it, and a further free of it is the one that is of no block.
 */
enum { LATE_MAX = 16, EARLY_MAX = 16, PAIRS_MAX = 4096 };

struct seen_free {
	struct capture_event event; /* the second half's time, of a realloc */
	uint64_t row_count;	    /* allocations there had been */
	uint64_t calls;		    /* of its thread by then; UINT64_MAX: not known */
	uint32_t thread;
	bool had_block; /* the address had been given out before */
};

struct ended_block {
	uint64_t size;
	uint64_t ticks; /* of its end, as told */
	uint32_t serial;
	uint32_t thread;
	unsigned flags; /* enum model_allocation_flag, as told */
};

/* A block whose address was given out again before its free was seen: it may still come. */
struct late_block {
	uint64_t address;
	struct ended_block block; /* when the address was given out */
	uint32_t thread;	  /* that has it now */
};

/* A free of no block. */
struct early_free {
	struct seen_free free;
	struct seen_free rival;	  /* address 0: there is none */
	struct ended_block block; /* that the rival ended */
};

/* A block that an early free has ended. */
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
	uint64_t early_addresses[EARLY_MAX]; /* 0: none, or it was one's free */
	struct early_free early[EARLY_MAX];
	struct early_pair *pairs; /* PAIRS_MAX; NULL: none yet */
	uint32_t pair_at;
	bool has_older_blocks; /* of before the tape: their frees are no early ones */
};

struct replay;

/* The address of an allocation has a block. Its end is recorded, and it is dead. */
void disorder_replace(struct replay *replay, const struct capture_event *event, uint32_t thread,
		      struct block *block);

/* Whether this free belongs to a block that was lost a moment ago; then it is taken as its free. */
bool disorder_free_late(struct replay *replay, const struct capture_event *event, uint32_t thread);

/*
 * There is no block. `at` is the event among those that are played. Returns the row whose free it
 * is all the same, ROW_NONE: of none that is known yet.
 */
uint32_t disorder_free_unknown(struct replay *replay, const struct capture_event *event,
			       const struct capture_event *at, uint32_t thread);

/* Whether the block of this allocation was freed before; then that free is counted as no other's. */
bool disorder_find_early(struct replay *replay, const struct capture_event *event, uint32_t thread,
			 struct seen_free *free_ret);

/* The new block, whose sums and row are made, has ended. slot: of its address. */
void disorder_end_early(struct replay *replay, struct block *slot, struct block block,
			uint64_t ticks, const struct seen_free *free);

void disorder_deinit(struct disorder *disorder);

#endif
