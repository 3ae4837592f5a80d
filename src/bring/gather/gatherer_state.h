/*
 * gatherer_state: what the threads of a gatherer share. Internal to gather.
 */
#ifndef MEMTAPE_GATHER_GATHERER_STATE_H
#define MEMTAPE_GATHER_GATHERER_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "gather/gatherer.h"
#include "gather/peer.h"
#include "gather/shelf.h"

struct gatherer;

/* A connection, and the thread that owns it. */
struct stream {
	struct gatherer *gatherer;
	struct stream *next;
	struct peer peer;
	struct shelved shelved; /* the thread's */
	/* Under the gatherer's mutex. */
	bool is_known;	     /* has proved to know the token */
	bool is_counted_out; /* shut down: another one takes its place */
	bool has_tape;
	uint8_t uuid[TAPE_UUID_BYTES];
};

struct gatherer {
	const struct gather_settings *settings;
	_Atomic bool is_ending;
	pthread_mutex_t mutex;
	pthread_cond_t gone; /* a stream has ended */
	/* Under the mutex. */
	struct stream *streams; /* the last that came first */
	size_t stream_count, stranger_count;
	struct gather_counts counts;
};

/* The thread's function: receives what one connection brings. argument: the stream, which it ends. */
void *reception_run(void *argument);

/* Ends it: closes the connection, and frees the memory. */
void stream_end(struct stream *stream);

#endif
