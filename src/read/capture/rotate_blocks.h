/*
 * rotate_blocks: which blocks live while a tape is played that is to be rotated, and which of their
 * events are kept. Internal to capture.
 */
#ifndef MEMTAPE_CAPTURE_ROTATE_BLOCKS_H
#define MEMTAPE_CAPTURE_ROTATE_BLOCKS_H

#include "capture/rotate_plan.h"

enum {
	NO_BLOCK = UINT32_MAX,
	DISORDER_MAX = 16,  /* frees whose block is not there yet, or not any more */
	DISORDER_NS = 10000 /* as in model/disorder.h */
};

/* A live block, or an event about one. */
struct known {
	uint64_t ordinal; /* of the event in its stream */
	uint64_t ticks;
	uint64_t size;
	uint32_t stream;
	uint32_t tenure;
	uint32_t tag;
	bool is_old;  /* the event is in an old chunk, */
	bool is_kept; /* and is kept anyway */
	uint32_t next_free;
};

VEC_DEFINE(known_vec, struct known);

/* The time of events of several threads is not exact: see model/disorder.h. */
struct stray {
	uint64_t address; /* 0: none */
	struct known event;
	uint64_t ticks; /* when it went astray */
	uint32_t stream;
};

struct outgoing {
	struct realloc_half half;
	struct known event;
	bool has_ended; /* its old block, because its address was reused */
};

struct planner {
	struct rotate_plan *plan;
	struct rotate_records records;
	struct outgoing *outgoing; /* by stream */
	struct map by_address;	   /* of blocks */
	struct known_vec blocks;
	uint32_t free_blocks;
	struct stray early[DISORDER_MAX]; /* frees of no block */
	struct stray late[DISORDER_MAX];  /* blocks whose address was reused before their free */
	unsigned early_count, late_count;
	uint64_t window_ticks;
	bool has_older_blocks; /* a free of an unknown block may be of one of these */
	uint64_t live_count, live_bytes;
	uint64_t peak_count, peak_bytes, peak_ticks;
	struct err *err; /* of map_each */
};

/* An event as what is to be known of it; ordinal: its number in its stream. */
struct known rotate_known(const struct planner *planner, const struct capture_event *event,
			  uint64_t ordinal);

/* The event is on the new tape. */
struct err *rotate_keep(struct planner *planner, struct known *event);

/* The live block at an address; NULL: none. Valid until the next event. */
struct known *rotate_block_find(struct planner *planner, uint64_t address);

/* An allocation. */
struct err *rotate_block_begin(struct planner *planner, const struct capture_event *event,
			       uint64_t ordinal);

/* end: the event that freed event->address. *was_known_ret: there was a block. */
struct err *rotate_block_end(struct planner *planner, const struct capture_event *event,
			     struct known *end, bool *was_known_ret);

#endif
