/*
 * tapes: what is served. Each is opened at once, read by a thread in the background, and then
 * shared by all who ask; one that is still being recorded is read anew when it is asked for later.
 *
 * All functions may be called on any thread.
 */
#ifndef MEMTAPE_HTTP_TAPES_H
#define MEMTAPE_HTTP_TAPES_H

#include "model/names.h"
#include "sums/suppress.h"
#include "sums/sweep.h"

enum tape_state { TAPE_LOADING, TAPE_COMPLETE, TAPE_TRUNCATED, TAPE_LIVE, TAPE_FAILED };

enum { TAPES_ID_BYTES = 2 * TAPE_UUID_BYTES + 1 };

/* A tape to be served; borrowed for as long as tapes live. */
struct tape_source {
	const char *path;
	const struct symbol_options *symbols;
	const struct suppressions *suppressions; /* of its leaks; NULL: none */
};

struct memo;
struct tapes;
struct text_counts;

/* One reading of a tape: immutable, but that names become ready. */
struct loaded {
	struct model *model;
	struct names *names;
	struct suppressor suppressor; /* for who has waited for the names */
	bool names_ready;	      /* under the tapes' lock */
	uint64_t gen;		      /* 0: the tape is finished */
	uint64_t number;	      /* of readings of this tape, from 1 */
	unsigned refs;		      /* under the lock */
	struct tapes *tapes;
	struct text_counts **text_counts; /* by field; NULL until asked for; atomic */
	struct memo *memo;		  /* what else was found out about it */
};

struct tape {
	const struct tape_source *source;
	struct tape *next;	       /* NULL: the last */
	uint8_t uuid[TAPE_UUID_BYTES]; /* under the lock: another one after an exec */
	uint32_t pid;		       /* of the recorded process; not changed */
	char id[TAPES_ID_BYTES];       /* of the recording; of its further copies, made of it */
	struct tapes *tapes;
	/* Under the lock: */
	enum tape_state state;
	struct loaded *loaded;	/* NULL: not yet, or failed */
	struct loaded *held;	/* an older one that is still asked for; NULL: none is */
	uint64_t held_ns;	/* when it was last */
	struct err *err;	/* TAPE_FAILED: why */
	uint64_t read_begin_ns; /* the last reading, CLOCK_MONOTONIC */
	uint64_t read_ns;	/* how long it took, with its names */
	uint64_t model_ns;	/* and without */
	uint64_t load_count;
	uint64_t file_bytes; /* before it was read */
	bool wants_load;
	bool is_read;  /* now; its names may be found later */
	bool is_whole; /* added: although it was written a moment ago */
	/* Of the load that runs, atomic: */
	uint64_t done;
	uint64_t total;
};

/* Opens them (what is no tape is an error here) and begins to read. */
struct err *tapes_create(const struct tape_source *sources, size_t count, struct tapes **tapes_ret);

/* Nobody may hold a reading any more. A load that runs cannot be stopped: then false is returned,
 * and the memory stays with it until the process ends. */
bool tapes_destroy(struct tapes *tapes);

/* All of them: the first, and then by `next`; NULL: there are none. */
struct tape *tapes_first(struct tapes *tapes);

/*
 * One more, which is finished, before the others: "last" stays what it was. Symbols are found as
 * for `like`. ERR_LIMIT: TAPES_ADDED_MAX were added.
 */
enum { TAPES_ADDED_MAX = 32 };
struct err *tapes_add(struct tapes *tapes, const char *path, const struct tape *like,
		      struct tape **tape_ret);

/* By id, or "last" (of those it began with); NULL: there is none. */
struct tape *tapes_find(struct tapes *tapes, const char *id, size_t len);

/*
 * The tape as it is now, or the reading that is held if gen is its own (0: no matter); waits a
 * moment for one that is being read. To be released. ERR_STATE: not yet; ERR_FORMAT and others: it
 * cannot be read.
 */
struct err *tapes_acquire(struct tape *tape, uint64_t gen, const struct sweep_limits *limits,
			  struct loaded **loaded_ret);

/*
 * Keeps a reading to be asked for until nobody has asked for it for ten minutes, or another one is
 * held: a tape holds one at a time. NULL: it is not needed any more.
 */
void tapes_hold(struct tape *tape, struct loaded *loaded);
void tapes_release(struct loaded *loaded); /* NULL is fine */

struct tape_look {
	enum tape_state state;
	struct loaded *loaded; /* NULL: there is no reading yet; to be released */
	char *error;	       /* on the heap; NULL unless TAPE_FAILED */
	uint64_t file_bytes;
	uint64_t refresh_ns; /* while it grows: at least so long between two readings; else 0 */
};

/*
 * Reads again what has changed since it was read, and waits two seconds at most for all of it: what
 * is looked at then is how it stands, and not how it stood when somebody asked last.
 */
void tapes_settle(struct tapes *tapes, const struct sweep_limits *limits);

/* How it stands, without waiting. */
struct tape_look tapes_look(struct tape *tape);

struct err *tapes_wait_names(struct loaded *loaded, const struct sweep_limits *limits);

/* Whether names are ready, without waiting. */
bool tapes_have_names(struct loaded *loaded);

/* Names before they are ready: only for those who do not read any. */
struct names *tapes_names_unready(const struct loaded *loaded);

#endif
