/* companion_state: what companion.c and companion_player.c share. Internal to collect. */
#ifndef MEMTAPE_COLLECT_COMPANION_STATE_H
#define MEMTAPE_COLLECT_COMPANION_STATE_H

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

#include "base/sort.h"
#include "collect/companion.h"

enum {
	COMPANION_CHUNKS = 1 << 10, /* copies: waiting to be played, or still being written */
	COMPANION_STREAMS = 1 << 10
};

/* Who may touch what plays. A thread that gets no processor is in the way only where it owns it. */
enum owner { OWNER_NONE, OWNER_THREAD, OWNER_COLLECTOR };

struct companion_chunk {
	struct capture_growing growing; /* first: a pointer to it is one to the chunk */
	struct companion_chunk *next;	/* of its stream, not complete; or of the free ones */
	uint32_t seq;
	uint32_t used; /* copied */
	uint32_t node_count;
};

/* Chunks in the order in which one thread passes them to another. Holds all there are. */
struct queue {
	uint32_t put_count;
	uint32_t taken_count;
	struct companion_chunk *items[COMPANION_CHUNKS];
};

/* A stream, as the collector knows it. */
struct place {
	struct companion_chunk *first, *last; /* its chunks that are not complete */
	uint32_t next_seq;
	uint64_t bytes;	       /* of records seen */
	uint64_t anchor_bytes; /* seen at the look at anchor_ticks */
	uint64_t anchor_ticks;
};

struct companion {
	const struct companion_player *ops;
	struct tape_header header;
	struct companion_chunk chunks[COMPANION_CHUNKS];
	size_t chunk_count;  /* ever used */
	size_t chunks_bytes; /* in those that were not released */
	struct companion_chunk *spare;
	struct queue given;    /* to the player */
	struct queue released; /* from it */
	struct place places[COMPANION_STREAMS];
	struct sort_pair *pairs; /* scratch: of slots */
	uint64_t look_due_ns;
	uint64_t look_ticks;   /* of the last look */
	bool has_changed;      /* something for the player */
	uint32_t played_count; /* chunks, by the last look */
	bool has_thread;
	bool is_ending; /* no thread any more */
	size_t kept_count;
	const char *dropped;
	pthread_t thread;

	/* atomic */
	uint64_t bounds[COMPANION_STREAMS]; /* of streams below bound_count */
	uint32_t bound_count;
	uint64_t bound_all;
	uint64_t bytes_max; /* for what plays */
	uint32_t stop;
	uint32_t has_failed; /* err is set */
	uint32_t owner;	     /* enum owner, of what follows */
	uint32_t is_left;    /* by the thread, or by the collector: the other one frees it */
	sem_t wake;
	void *player;
	struct err *err;
};

static inline void queue_put(struct queue *queue, struct companion_chunk *chunk)
{
	assert(queue->put_count - __atomic_load_n(&queue->taken_count, __ATOMIC_ACQUIRE) <
	       COMPANION_CHUNKS);
	queue->items[queue->put_count % COMPANION_CHUNKS] = chunk;
	__atomic_store_n(&queue->put_count, queue->put_count + 1, __ATOMIC_RELEASE);
}

static inline struct companion_chunk *queue_take(struct queue *queue)
{
	struct companion_chunk *chunk;

	if (queue->taken_count == __atomic_load_n(&queue->put_count, __ATOMIC_ACQUIRE))
		return NULL;
	chunk = queue->items[queue->taken_count % COMPANION_CHUNKS];
	__atomic_store_n(&queue->taken_count, queue->taken_count + 1, __ATOMIC_RELEASE);
	return chunk;
}

/* companion_player.c: starts the thread; false: there is none. */
bool companion_thread_start(struct companion *companion);
/*
 * Makes the thread wait for the processor that this one runs on, and will leave: the kernel is slow
 * to move a thread of its priority from a busy processor to one that is idle now and then.
 */
void companion_thread_move(const struct companion *companion);
/* Whether the thread has ended; then what it had is freed. Does not wait. */
bool companion_discard(struct companion *companion);

#endif
