/*
 * server: turns requests into answers. Independent of sockets; thread-safe.
 */
#ifndef MEMTAPE_HTTP_SERVER_H
#define MEMTAPE_HTTP_SERVER_H

#include <pthread.h>

#include "http/cache.h"
#include "http/control.h"
#include "http/exchange.h"
#include "http/guard.h"
#include "http/source_roots.h"
#include "http/tapes.h"

struct processes_source;
struct folder_source;
struct my_code_source;

struct server_settings {
	const char *version;	     /* of memtape */
	uint64_t time_limit_ns;	     /* per request; 0: none */
	uint64_t file_time_limit_ns; /* per request whose answer is a file */
	uint64_t sql_time_limit_ns;  /* per statement of SQL; 0: none */
	uint64_t sql_memory_bytes;   /* per statement */
	uint64_t memory_bytes;	     /* per other request; 0: no limit */
	uint64_t file_bytes_max;
	struct source_roots source_roots; /* where sources are shown from; freed by the caller */
};

struct server {
	struct guard guard;
	struct tapes *tapes;
	struct cache *cache;			  /* NULL: none */
	struct control *control;		  /* atomic; NULL: not recording. server_control */
	struct tape *recorded;			  /* by it; atomic; NULL: the last of them */
	const struct processes_source *processes; /* NULL: processes cannot be attached to */
	const struct folder_source *folder;	  /* NULL: none is served */
	const struct my_code_source *my_code;	  /* NULL: nothing is known of it */
	const struct tape_source *added; /* how names on their tapes are found; path is unused */
	pthread_mutex_t attach_lock;	 /* one at a time */
	struct server_settings settings;
	unsigned stream_count;	  /* of /api/v1/events; atomic */
	pthread_mutex_t sql_lock; /* one statement at a time: SQLite's memory limit is global */
};

/* The caller sets everything except the lock. */
void server_init(struct server *server);
void server_deinit(struct server *server);
CLEAN_DEFINE_DEINIT(server_deinit, struct server);

/* Where requests about the recording go; NULL: nothing was ever recorded here. */
struct control *server_control(const struct server *server);

/* The tape that is recorded; NULL: none is served. */
struct tape *server_recorded(const struct server *server);

/* From now on this is recorded. The caller holds the lock for attaching. */
void server_record(struct server *server, struct control *control, struct tape *tape);

/* ERR_UNSUPPORTED: this server does not attach to processes. */
struct err *server_processes(const struct server *server,
			     const struct processes_source **source_ret);

/* Fills answer, which must be initialised; errors are reported in the answer. */
void server_answer(struct server *server, const struct request *request, struct answer *answer);

/* An answer that is an error; JSON of problem_write. */
void server_refuse(struct answer *answer, const struct refusal *refusal);

#endif
