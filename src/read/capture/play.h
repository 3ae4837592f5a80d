/*
 * play: merges the streams of a tape by time. What is here is the same for a whole tape
 * (capture_play) and for one that is still being recorded (playing.h). Internal to capture.
 *
 * A chunk is played from its stream's head: a window of decoded events, which is all of the chunk
 * or, if it has a source, the next part of it.
 */
#ifndef MEMTAPE_CAPTURE_PLAY_H
#define MEMTAPE_CAPTURE_PLAY_H

#include "capture/chunk.h"

VEC_DEFINE(play_nodes, struct tape_node);

struct play_stream {
	struct decoded *head, *tail; /* chunks admitted and not fully played */
	struct vec_u32 ids;	     /* stack by the stream's node number - ids_base */
	uint32_t ids_base;	   /* older nodes are named no more; then the first ids are none */
	struct play_nodes waiting; /* nodes of played chunks that no event has named yet */
	uint32_t waiting_begin;	   /* number of the first of them */
	uint32_t next_seq;
	uint32_t nodes_begin; /* the head's nodes: first number, and one past the last */
	uint32_t nodes_end;
	bool has_nodes; /* some nodes are not interned yet */
};

struct play_item {
	uint64_t key; /* ticks, frees before the rest */
	uint32_t stream;
};

struct play {
	uint32_t chunk_bytes;
	struct capture_stacks *stacks;
	const struct capture_player *player;
	struct capture_played *played;
	struct play_stream *streams;
	size_t stream_count;
	size_t stream_room;
	struct play_item *heap; /* room for every stream */
	size_t heap_count;
	struct capture_event *merged;
	size_t merged_count;
	/* Takes back a chunk that was played. */
	void (*give)(void *context, struct decoded *decoded);
	/*
	 * The window of a head with a source was played: fills it again. count 0: the chunk is
	 * over, or there is no more of it yet.
	 */
	struct err *(*refill)(void *context, uint32_t stream, bool *is_over_ret);
	void *context;
};

static inline uint64_t play_event_key(const struct capture_event *event)
{
	return event->ticks << 1 | !tape_fn_sizeless(event->fn);
}

/* Room for this many streams; false: out of memory. Undone by play_deinit. */
bool play_reserve(struct play *play, size_t stream_count);
void play_deinit(struct play *play);

/* The chunk follows those admitted of its stream. */
struct err *play_admit(struct play *play, uint32_t stream, struct decoded *decoded);

/* The next events in time, if there are any: those of one stream that precede all others' and limit. */
struct err *play_run(struct play *play, uint64_t limit_key);

/* The stream's head, whose window was empty, has events again. */
void play_resume(struct play *play, uint32_t stream);

/* The stream's head is over, and its window is empty: the next one begins. */
struct err *play_end_head(struct play *play, uint32_t stream);

/* Hands on what is kept back to be handed on together. */
struct err *play_flush(struct play *play);

#endif
