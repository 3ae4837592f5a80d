/*
 * replay: turns the events of a tape, one after the other, into sums (and rows). Internal to model.
 */
#ifndef MEMTAPE_MODEL_REPLAY_H
#define MEMTAPE_MODEL_REPLAY_H

#include "capture/realloc_half.h"
#include "model/blocks.h"
#include "model/disorder.h"
#include "model/latencies.h"
#include "model/model.h"
#include "model/rows.h"
#include "model/strays.h"
#include "model/tallies.h"
#include "model/timeline.h"
#include "tape/tape_thread.h"

struct replay_thread {
	struct tally tally;
	uint64_t free_count;
	uint64_t foreign_free_count;
	uint64_t begin_ticks;
	uint64_t end_ticks;
	uint64_t handle;  /* pthread_t; 0: not known */
	uint32_t tid;	  /* 0: it has not introduced itself */
	uint32_t creator; /* MODEL_NO_THREAD: not known */
	uint32_t create_stack;
	uint32_t last_serial; /* of its latest allocation; UINT32_MAX: none yet */
	const char *name;
	bool is_named;			 /* by the program itself */
	struct tape_stack_use stack_use; /* combined reports; UINT64_MAX: none */
	struct model_sum left;		 /* of what it allocated, see replay_left */
};

VEC_DEFINE(replay_threads, struct replay_thread);

struct replay_stream {
	uint32_t thread;     /* index; MODEL_NO_THREAD: unknown yet */
	bool out_ended;	     /* its old block was ended already, because its address was reused */
	uint32_t out_serial; /* of that block */
	struct realloc_half half; /* of the realloc in progress */
	struct latency_of told;	  /* its last event; if latencies are recorded */
};

enum { PAST_MAX = 128 }; /* a power of two */

/* Usable bytes by stack; with rows only. */
struct usable_sums {
	uint64_t allocated;
	uint64_t freed;
};

/* What was never freed but is gone with its process (TAPE_FN_PROCESS_END): leaked, but not live. */
struct replay_left {
	struct model_sum
		*stacks; /* by stack id, as many as stacks has seats; NULL: there is nothing */
	struct model_sum sizes[MODEL_SIZE_BUCKETS];
	struct model_sum total;
	uint64_t usable_bytes;
};

struct replay {
	struct rows *rows; /* NULL: MODEL_SUMMARY */
	bool is_paused;	   /* allocations are not recorded at present */
	struct blocks blocks;
	uint8_t class_of[64]; /* enum tape_event_class by fn */
	struct tallies stacks;
	struct usable_sums
		*usables; /* by stack id, as many as stacks has seats; NULL without rows */
	struct replay_threads threads;
	struct replay_stream *streams;
	size_t stream_count;
	size_t stream_room;
	struct tally sizes[MODEL_SIZE_BUCKETS];
	struct replay_left left;
	struct model_function functions[TAPE_FN_COUNT];
	struct model_totals totals;
	struct timeline_now now;
	struct timeline timeline;
	uint64_t peak_ticks;
	uint64_t last_ticks;
	uint32_t epoch;
	bool has_averages;	 /* blocks stand for sums: TAPE_FLAG_AVERAGES */
	uint32_t serial_at_peak; /* rows at that time */
	uint64_t ended_at_peak;	 /* how many of them had ended */
	struct disorder disorder;
	struct strays strays;
	const struct capture_event *batch; /* of which an event is played */
	size_t batch_count;
	struct capture_event past[PAST_MAX]; /* the last of those before, in a ring */
	size_t past_count;		     /* of all before */
	struct err *err;		     /* of keeping rows */
	struct latencies *latencies;	     /* borrowed; NULL: the tape has none */
	uint32_t told_row; /* that the event began or ended; if latencies are recorded */
	bool is_of_pools;
	uint32_t pool; /* of the next row */
};

bool replay_init(struct replay *replay, const struct tape_header *header, struct rows *rows);
void replay_deinit(struct replay *replay);

/* Streams below count, before events of them; false: out of memory. */
bool replay_reserve_streams(struct replay *replay, size_t count);

/* Tallies for stack ids below count, before events with such ids; false: out of memory. */
bool replay_reserve_stacks(struct replay *replay, size_t count);

/*
 * Plays events up to the first extended record, which the caller handles; *count_ret says how many.
 * Stacks are reserved.
 */
struct err *replay_events(struct replay *replay, const struct capture_event *events, size_t count,
			  size_t *count_ret);

/* Passes over events up to the first extended record, as if only time passed; returns how many. */
size_t replay_pass(struct replay *replay, const struct capture_event *events, size_t count);

/* A new thread of this stream; UINT32_MAX: out of memory. */
uint32_t replay_thread_add(struct replay *replay, uint32_t stream, uint32_t tid, const char *name,
			   uint64_t ticks);

/* After the last event: live blocks have leaked, and peaks are final. */
void replay_seal(struct replay *replay, size_t stack_count);

#endif
