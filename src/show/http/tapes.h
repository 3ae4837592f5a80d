/*
 * tapes: the served tapes. Each is opened at once, read by a background thread, and then shared by
 * all requests; one that is still being recorded is reread for later requests.
 *
 * All functions are thread-safe.
 */
#ifndef MEMTAPE_HTTP_TAPES_H
#define MEMTAPE_HTTP_TAPES_H

#include <pthread.h>

#include "model/names.h"
#include "model/roles.h"
#include "sums/suppress.h"
#include "sums/sweep.h"

enum tape_state { TAPE_LOADING, TAPE_COMPLETE, TAPE_TRUNCATED, TAPE_LIVE, TAPE_FAILED };

enum { TAPES_ID_BYTES = 2 * TAPE_UUID_BYTES + 1 };

/* A tape to serve; borrowed as long as tapes live. */
struct tape_source {
	const char *path;
	const struct symbol_options *symbols;
	const struct suppressions *suppressions; /* for leaks; NULL: none */
	bool leaves_no_index;
	/* See model.h; on a thread of the tapes. May be NULL. */
	void (*announce)(const void *context, const struct model_index_plan *plan);
	const void *announce_context;
	/*
	 * Whose functions are, looked up with each reading, on its thread; NULL, or an error: as
	 * `symbols` says. Everything is in the arena.
	 */
	struct err *(*rules)(const void *context, const char *tape_path, struct arena *arena,
			     struct role_rules *rules_ret);
	const void *rules_context;
};

struct memo;
struct tapes;
struct text_counts;

/* One reading of a tape: immutable, except that names become ready. */
struct loaded {
	struct model *model;
	struct names *names;
	struct symbol_options symbols; /* of the names; parts of it are in the arena */
	struct role_rules rules;
	struct arena arena;
	struct suppressor suppressor; /* for callers that have waited for the names */
	bool names_ready;	      /* under the tapes' lock */
	uint64_t gen;		      /* 0: the tape is finished */
	uint64_t number;	      /* counts readings of this tape, from 1 */
	unsigned refs;		      /* under the lock */
	struct tapes *tapes;
	struct text_counts **text_counts; /* by field; NULL until requested; atomic */
	struct memo *memo;		  /* further results about it */
	struct loaded *pools; /* the same of its pools; NULL until requested; under pools_lock */
	pthread_mutex_t pools_lock;
};

struct tape {
	const struct tape_source *source;
	struct tape *next;	       /* NULL: the last */
	uint8_t uuid[TAPE_UUID_BYTES]; /* under the lock: another one after an exec */
	uint32_t pid;		       /* of the recorded process; constant */
	char id[TAPES_ID_BYTES];       /* of the recording; for further copies, derived from it */
	struct tapes *tapes;
	/* Under the lock: */
	enum tape_state state;
	struct loaded *loaded;	/* NULL: none yet, or failed */
	struct loaded *held;	/* an older one still in use; NULL: none */
	uint64_t held_ns;	/* when it was last used */
	struct err *err;	/* TAPE_FAILED: why */
	uint64_t read_begin_ns; /* the last reading, CLOCK_MONOTONIC */
	uint64_t read_ns;	/* duration, including names */
	uint64_t model_ns;	/* duration without names */
	uint64_t load_count;
	uint64_t file_bytes; /* before reading */
	bool wants_load;
	bool is_read;		 /* being read now; names may follow later */
	bool is_added, is_whole; /* see tapes_add */
	/* Progress of the running load, atomic: */
	uint64_t done;
	uint64_t total;
};

/* Opens them (a file that is not a tape is an error here) and starts reading. */
struct err *tapes_create(const struct tape_source *sources, size_t count, struct tapes **tapes_ret);

/*
 * No reading may be held any more. A running load cannot be stopped: then false is returned, and
 * its memory stays allocated until the process ends.
 */
bool tapes_destroy(struct tapes *tapes);

/* Cancels what is being read, and reads nothing more: what follows is tapes_destroy. */
void tapes_stop(struct tapes *tapes);

/*
 * How often tapes that grow are reread at most; without this, twice a second. Reading them takes a third
 * of the time at most, whatever the period.
 */
void tapes_set_period(struct tapes *tapes, uint64_t period_ns);

/* Iteration: the first, then by `next`; NULL: none. */
struct tape *tapes_first(struct tapes *tapes);

/*
 * Adds a tape before the others: "last" is unchanged. Names are found as for `like`, whose path is not
 * used. is_whole: it is complete, although it was written a moment ago. ERR_LIMIT: TAPES_ADDED_MAX
 * were added.
 */
enum { TAPES_ADDED_MAX = 32 };
struct err *tapes_add(struct tapes *tapes, const char *path, const struct tape_source *like,
		      bool is_whole, struct tape **tape_ret);
bool tapes_have_room(struct tapes *tapes);

/* The tape of this path and uuid (NULL: any); NULL: it is not served. */
struct tape *tapes_find_file(struct tapes *tapes, const char *path, const uint8_t *uuid);

/* By id, or "last" (of the initial ones, or else the first that was added); NULL: not found. */
struct tape *tapes_find(struct tapes *tapes, const char *id, size_t len);

/*
 * The current reading of the tape, or the held one if it has this gen (0: any); waits briefly for
 * one being read. Must be released. ERR_STATE: not yet; ERR_FORMAT and others: unreadable.
 */
struct err *tapes_acquire(struct tape *tape, uint64_t gen, const struct sweep_limits *limits,
			  struct loaded **loaded_ret);

/* The pools of the same reading: read when first requested. Must be released, too. */
struct err *tapes_acquire_pools(struct tape *tape, struct loaded *loaded,
				struct loaded **pools_ret);

/*
 * Keeps a reading available until it has not been used for ten minutes, or another one is held: one
 * per tape. NULL: drops it.
 */
void tapes_hold(struct tape *tape, struct loaded *loaded);
void tapes_release(struct loaded *loaded); /* NULL is fine */

struct tape_look {
	enum tape_state state;
	struct loaded *loaded; /* NULL: no reading yet; must be released */
	char *error;	       /* allocated; NULL unless TAPE_FAILED */
	uint64_t file_bytes;
	bool is_read;	     /* it is being read now, or is about to be */
	uint64_t refresh_ns; /* while it grows: minimum interval between readings; else 0 */
};

/*
 * Rereads what has changed, and waits two seconds at most for all of it: the state seen afterwards
 * is current, not that of the last request. False: it took longer.
 */
bool tapes_settle(struct tapes *tapes, const struct sweep_limits *limits);

/* All of them once more, when whose functions are was changed; until then there are the former readings. */
void tapes_reread(struct tapes *tapes);

/* Current state, without waiting. */
struct tape_look tapes_look(struct tape *tape);

struct err *tapes_wait_names(struct loaded *loaded, const struct sweep_limits *limits);

/* Whether names are ready, without waiting. */
bool tapes_have_names(struct loaded *loaded);

/* Names before they are ready: only for callers that do not read any. */
struct names *tapes_names_unready(const struct loaded *loaded);

#endif
