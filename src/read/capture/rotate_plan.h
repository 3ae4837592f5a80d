/*
 * rotate_plan: which events and records of a tape's old chunks are kept when it is rotated. Internal
 * to capture.
 *
 * Old are a stream's first chunks; those after them stay as they are. An old event is kept if its
 * block lives at the end, or if the rest of the tape has another event of the same block. So what
 * stays is a valid tape: no free without its allocation, no allocation without its free.
 *
 * Memory: what lives, the threads of the tape, and a bit for each event.
 */
#ifndef MEMTAPE_CAPTURE_ROTATE_PLAN_H
#define MEMTAPE_CAPTURE_ROTATE_PLAN_H

#include "base/map.h"
#include "capture/capture.h"
#include "capture/realloc_half.h"
#include "tape/edit.h"

VEC_DEFINE(rotate_bits, uint64_t);

/* What is kept, a bit for each; beyond the end no bit is set. */
struct rotate_stream {
	uint64_t old_count;  /* events in its old chunks, */
	uint64_t kept_count; /* and of these that are kept */
	uint64_t open_out;   /* of them, the first half of a realloc that goes on; UINT64_MAX */
	struct rotate_bits events;  /* by number, from 0, without latencies */
	struct rotate_bits records; /* the same of extended records */
};

struct rotate_plan {
	const uint32_t *stop;	/* as in rotate_settings, */
	uint64_t settled_ticks; /* and this */
	struct rotate_stream *streams;
	size_t stream_count;
	uint32_t collector; /* the stream of the collector; UINT32_MAX: none */
	uint64_t old_ticks; /* records from then on are kept */
	struct tape_rotated sums;
};

/* A time in which a stream belonged to one thread, and the records that say so. */
struct rotate_tenure {
	uint32_t stream;
	bool is_kept;
	uint64_t end_count;		   /* events of the stream until its end */
	uint64_t thread, name, birth, end; /* numbers of records; UINT64_MAX: none */
	uint64_t keys[2];		   /* as THREAD_CREATE names the thread; 0: none */
};

/* A thread was created. */
struct rotate_creation {
	uint64_t key, record;
	uint32_t tenure;
};

/* A time in which a stream's thread had a tag, or none any more. */
struct rotate_tag {
	uint32_t stream;
	uint32_t before; /* 1 + the index of the one before; 0: none */
	uint64_t record;
	uint64_t end_count;
	bool is_kept;
};

VEC_DEFINE(rotate_tags, struct rotate_tag);
VEC_DEFINE(rotate_tenures, struct rotate_tenure);
VEC_DEFINE(rotate_creations, struct rotate_creation);

/* A record of a stream. */
struct rotate_record {
	uint32_t stream;
	uint64_t number;
};

VEC_DEFINE(rotate_record_vec, struct rotate_record);

/* State while the tape is played: of the extended records. */
struct rotate_records {
	struct rotate_plan *plan;
	uint64_t *numbers;	/* by stream: records so far */
	uint64_t *event_counts; /* by stream: events so far */
	uint32_t *tenure;	/* by stream: of tenures */
	uint32_t *tag;		/* by stream: 1 + the index of its tag; 0: none yet */
	struct rotate_tenures tenures;
	struct rotate_tags tags;
	struct rotate_creations creations;
	struct map mappings; /* by address: of mapped */
	struct rotate_record_vec mapped;
	struct rotate_record_vec space; /* since the last whole snapshot */
	struct rotate_record last_lost, last_break;
	bool has_lost, has_break;
	struct tape_rotated before; /* what was left out before */
	uint32_t old_scan;	    /* leak scans up to this one began in old times */
	uint64_t first_ticks;
	uint64_t sample_ticks, system_ticks, clock_ticks; /* of the last ones that are kept */
	bool is_paused, was_paused;
};

struct err *rotate_records_init(struct rotate_records *records, struct rotate_plan *plan);
void rotate_records_deinit(struct rotate_records *records);
/* An extended record, in the order of time. */
struct err *rotate_records_take(struct rotate_records *records, const struct capture_event *event);
/* After the last: keeps what says whose the kept events are. */
struct err *rotate_records_finish(struct rotate_records *records);

/* is_old: whether this chunk is one of those that are rewritten. */
struct err *rotate_plan_make(const struct capture *capture,
			     bool (*is_old)(const void *context, const struct capture_chunk *chunk),
			     const void *context, struct rotate_plan *plan);
void rotate_plan_deinit(struct rotate_plan *plan); /* all zeros is fine */
CLEAN_DEFINE_DEINIT(rotate_plan_deinit, struct rotate_plan);

/* An error if somebody wants it to end. */
static inline struct err *rotate_stopped(const uint32_t *stop)
{
	return stop && __atomic_load_n(stop, __ATOMIC_RELAXED)
		       ? err_new(ERR_STATE, "it was stopped")
		       : NULL;
}

static inline struct err *rotate_bit_set(struct rotate_bits *bits, uint64_t number)
{
	while (bits->count <= number / 64)
		if (!rotate_bits_push(bits, 0))
			return err_nomem();
	bits->items[number / 64] |= UINT64_C(1) << number % 64;
	return NULL;
}

static inline void rotate_bit_clear(struct rotate_bits *bits, uint64_t number)
{
	if (number / 64 < bits->count)
		bits->items[number / 64] &= ~(UINT64_C(1) << number % 64);
}

static inline bool rotate_bit(const struct rotate_bits *bits, uint64_t number)
{
	return number / 64 < bits->count && (bits->items[number / 64] >> number % 64 & 1);
}

#endif
