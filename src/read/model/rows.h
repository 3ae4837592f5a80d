/*
 * rows: the allocations of a tape while it is replayed. Internal to model.
 *
 * Replaying only writes logs: rows as they are allocated, and ends as they come. A second thread,
 * the packer, stores the ends in the last few million rows, which are in memory, packs older ones
 * and writes them to the image, each once. Frees after that leave a patch. Memory is bounded by the
 * number of hot segments; patches and chains come on top.
 */
#ifndef MEMTAPE_MODEL_ROWS_H
#define MEMTAPE_MODEL_ROWS_H

#include <pthread.h>

#include "base/map.h"
#include "model/blocks.h"
#include "model/freed.h"
#include "model/image.h"
#include "model/patches.h"
#include "model/segment.h"

VEC_DEFINE(segments_vec, struct segment);
VEC_DEFINE(freed_blocks, struct freed_block);

struct chain_record {
	uint32_t first_row;
	uint32_t last_row;
	uint32_t length;
};

VEC_DEFINE(chains_vec, struct chain_record);

/* A full segment, or block of frees, on its way to the file. */
struct pack_job {
	void *items;
	uint32_t number; /* of the segment, or block */
	bool is_freed;	 /* items are struct freed_entry, not struct row */
};

VEC_DEFINE(pack_jobs, struct pack_job);

/* Written unpacked, because its times were not known yet. */
struct raw_part {
	uint64_t offset;
	uint32_t number;
	bool is_freed;
};

VEC_DEFINE(raw_parts, struct raw_part);

struct packer {
	pthread_t thread;
	bool is_running;
	pthread_mutex_t lock; /* of everything below */
	pthread_cond_t changed;
	struct pack_job queue[4];
	unsigned queued;
	unsigned taken;		/* of all that were queued */
	uint32_t segment_count; /* packed so far; written by the thread alone */
	struct {
		void *items[4];
		unsigned count;
	} spare[2]; /* by is_freed */
	bool is_ending;
	struct err *err;
	struct map chain_of; /* rows that were not freed when they were packed -> their chain */
	/* the thread's own, and everyone's when it has ended */
	struct clock clock;	    /* points known when the last job was queued */
	struct image raw;	    /* fd -1: none yet */
	struct pack_job waiting[8]; /* ends whose times are not known yet */
	unsigned waiting_count;
	struct raw_parts raw_parts;
	struct patches patches;
};

struct rows {
	struct image *image;
	uint64_t address_mask; /* of what events have: pools.h */
	struct row *current;   /* the segment being filled */
	uint64_t count;
	struct row **hot; /* by segment; those before cold_count are the packer's, or freed */
	size_t segment_count;
	size_t cold_count; /* segments before this one are not in memory */
	size_t hot_max;
	const struct clock *clock; /* grows while the tape is played */
	struct segments_vec segments;
	struct freed_entry *freed; /* in the order of time: the last, unfinished block */
	uint64_t freed_count;
	struct freed_blocks freed_blocks;
	struct patches patches;
	struct vec_u64 chain_patches; /* row << 32 | chain: of blocks that were cold by then */
	struct chains_vec chains;
	struct packer packer;
};

/* image and clock are borrowed. */
struct err *rows_init(struct rows *rows, struct image *image, const struct clock *clock,
		      uint64_t memory_bytes);
void rows_deinit(struct rows *rows);

/* Appends the row of an allocation; slack: of an object its pool. ERR_LIMIT when there are more than ids. */
struct err *rows_add(struct rows *rows, const struct capture_event *event, uint32_t slack,
		     uint32_t thread, uint32_t realloc_of);

/* The end of a block with a row; flags: all it has except PEAK. */
struct err *rows_free(struct rows *rows, const struct block *block,
		      const struct capture_event *event, uint32_t thread, unsigned flags);

/* Corrects an end that was already written; the order of ends stays. Rare. */
struct err *rows_retell(struct rows *rows, uint32_t row, const struct capture_event *event,
			uint32_t thread, unsigned flags);

/* Everything is packed and in the file; the clock is sealed. */
struct err *rows_seal(struct rows *rows);

#endif
