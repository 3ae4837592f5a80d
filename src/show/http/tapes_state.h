/*
 * tapes_state: shared by the reader of tapes (tapes.c) and the requests for them (tapes_ask.c).
 * Internal to tapes.
 */
#ifndef MEMTAPE_HTTP_TAPES_STATE_H
#define MEMTAPE_HTTP_TAPES_STATE_H

#include <pthread.h>

#include "http/tapes.h"

enum {
	TAPES_QUIET_S = 10,	    /* a recording writes at least this often */
	TAPES_PERIOD_NS = 500000000 /* between readings of a live tape */
};

struct tapes {
	struct tape *first; /* atomic; the list only grows, at its front */
	struct tape *items; /* the initial ones */
	size_t count, added_count;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a state, names, wants_load, is_stopping */
	pthread_t thread;
	bool has_thread;
	bool is_stopping;   /* atomic, too */
	bool is_idle;	    /* the thread waits for work */
	uint64_t period_ns; /* see tapes_set_period */
};

bool tape_was_written_in(const struct tape *tape, int seconds);
uint64_t tape_file_size(const struct tape *tape);

void loaded_destroy(struct loaded *loaded); /* without the lock: it is slow */
CLEAN_DEFINE(loaded_destroy, struct loaded *);

/* Drops a reference. Returns what to destroy without the lock (slow); NULL: still in use. */
struct loaded *loaded_put_locked(struct loaded *loaded);

#endif
