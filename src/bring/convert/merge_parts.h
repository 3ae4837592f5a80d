/*
 * merge_parts: the state of a merge. Internal to convert: merge.c plays the tapes, merge_stacks.c
 * translates their stacks, merge_live.c knows what lives when a process forks.
 */
#ifndef MEMTAPE_CONVERT_MERGE_PARTS_H
#define MEMTAPE_CONVERT_MERGE_PARTS_H

#include "base/map.h"
#include "convert/compose_parts.h"
#include "convert/merge.h"
#include "model/model.h"

/* An object that one or more of the processes have loaded. */
struct merge_object {
	uint32_t module; /* in the composer */
	uint64_t bytes;
};

VEC_DEFINE(merge_objects, struct merge_object);

/* A process that is, was or will be written. */
struct merge_member {
	uint32_t root; /* the stack of its outermost frame */
	bool forks;    /* some member was forked by it */
	bool is_read;
	bool was_forked_seen; /* its parent's record of the fork was */
	struct map inherited; /* address -> size, if it forks itself: until it is written */
	struct tape_member_sums sums;
	enum tape_end_kind end_kind;
	int32_t end_status;
	uint64_t begin_ns, end_ns; /* since the session's beginning */
	const char *name;	   /* of its program */
	const char *text;	   /* of its record */
};

/* A realloc in progress. */
struct merge_half {
	uint64_t address;
	uint64_t size;
	bool has_block;
};

/* A stream of the tape being read. */
struct merge_stream {
	struct strand *strand; /* NULL: no event yet */
	uint32_t tid;
	const char *name;
	struct merge_half half;
};

VEC_DEFINE(merge_streams, struct merge_stream);

/* A record of no process, or of none that has events then. */
struct merge_kept {
	uint64_t ns;
	enum tape_extended type;
	const void *payload;
	size_t bytes;
};

VEC_DEFINE(merge_kepts, struct merge_kept);

struct merge {
	const struct session *session;
	struct composer *composer;
	struct arena arena;
	struct merge_member *members; /* as in the session */
	uint64_t begin_ns;	      /* of the session, monotonic */
	uint64_t end_ns;
	uint64_t lost[8];
	uint32_t processes_module;
	struct interner object_keys;
	struct merge_objects objects; /* by the key's number */
	struct map roots;	      /* hash of a root's name -> how many have it */
	struct err *err;
	struct merge_kepts kept;

	/* Of the tape being read. */
	size_t index;
	const struct model *model;
	struct vec_u32 stacks; /* by its stack id; UINT32_MAX: not translated yet */
	struct merge_streams streams;
	struct map live; /* address -> size; if it forks */
	uint64_t live_bytes;
	size_t next_child; /* the next member that may be forked by it, by time */
};

static inline struct merge_member *merge_now(const struct merge *merge)
{
	return &merge->members[merge->index];
}

/* --- merge_stacks.c --------------------------------------------------------------------------- */

/* The outermost frame of the member's stacks. False: out of memory. */
bool merge_root_make(struct merge *merge, const char *name, uint32_t pid, uint32_t *stack_ret);

/* The stack of the composer; UINT32_MAX: out of memory. */
uint32_t merge_stack(struct merge *merge, uint32_t stack);

/* --- merge_streams.c -------------------------------------------------------------------------- */

/* Of a stream of the tape being read, from the current time on; NULL after a failure. */
struct strand *merge_strand(struct merge *merge, size_t stream);

/* Says whose the stream is. */
void merge_thread_write(struct merge *merge, const struct merge_stream *stream);

/* --- merge_usage.c ---------------------------------------------------------------------------- */

/* Until the end. False: out of memory. */
bool merge_keep(struct merge *merge, uint64_t ns, enum tape_extended type, const void *payload,
		size_t bytes);

/* With what the manifest says of the processes' memory. False: out of memory. */
bool merge_kept_write(struct merge *merge);

/* --- merge_live.c ----------------------------------------------------------------------------- */

/* Before the member's tape is played, and after it. */
bool merge_live_begin(struct merge *merge);
void merge_live_end(struct merge *merge, bool has_ended);

/* merge.c: the process has ended with this block of its own. */
void merge_block_gone(struct merge *merge, uint64_t address);

/* An allocation or free of the tape, at its own addresses; false: out of memory. */
bool merge_live_event(struct merge *merge, const struct capture_event *event, uint64_t ns);

/* The parent's record that it has forked. */
bool merge_live_fork(struct merge *merge, uint32_t pid, uint64_t ns);

#endif
