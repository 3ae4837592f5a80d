/*
 * gatherer_state: what the threads of a gatherer share. Internal to gather.
 */
#ifndef MEMTAPE_GATHER_GATHERER_STATE_H
#define MEMTAPE_GATHER_GATHERER_STATE_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "gather/gatherer.h"
#include "gather/peer.h"
#include "gather/shelf.h"

enum { FOUND_REMEMBERED = 256 };

struct gatherer;

/* A sender that has announced itself, or somebody who says so. */
struct found {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at; /* where it listens */
	uint8_t uuid[TAPE_UUID_BYTES];
};

/* A connection, and the thread that owns it. */
struct stream {
	struct gatherer *gatherer;
	struct stream *next;
	struct peer peer;
	struct shelved shelved; /* the thread's */
	bool is_found;		/* it was connected to, at this address */
	struct found found;
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
	uint64_t told_ns; /* when the last refusal of one that was found was told */
	/* The accepting thread's: whom not to try again before then. The oldest is forgotten. */
	struct tried {
		struct found found;
		uint64_t until_ns;
	} tried[FOUND_REMEMBERED];
	size_t tried_at;
};

/* A connection that was accepted, or made to `found` (else NULL): gets its thread. fd is taken. */
void gatherer_take(struct gatherer *gatherer, int fd, const struct found *found);

/* Takes the datagrams that are there, and connects to whom they announce. False: it needs a pause. */
bool discovery_look(struct gatherer *gatherer);

/* Tells of it, unless another one was just told of; it is counted in any case. Under the mutex. */
void discovery_refused(struct gatherer *gatherer, const struct found *found, const char *reason);

/* The thread's function: receives what one connection brings. argument: the stream, which it ends. */
void *reception_run(void *argument);

/* Ends it: closes the connection, and frees the memory. */
void stream_end(struct stream *stream);

#endif
