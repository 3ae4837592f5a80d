/*
 * server: requests in, answers out. Knows nothing of sockets; any number of threads may ask at
 * once.
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

struct server_settings {
	const char *version;	     /* of memtape */
	uint64_t time_limit_ns;	     /* of one question; 0: none */
	uint64_t file_time_limit_ns; /* of one whose answer is a file */
	uint64_t sql_memory_bytes;   /* of a statement */
	uint64_t memory_bytes;	     /* of any other question; 0: no limit */
	uint64_t file_bytes_max;
	struct source_roots source_roots; /* where sources are shown from; the caller ends them */
};

struct server {
	struct guard guard;
	struct tapes *tapes;
	struct cache *cache;	 /* NULL: none */
	struct control *control; /* NULL: nothing is recorded */
	struct server_settings settings;
	unsigned stream_count;	  /* of /api/v1/events; atomic */
	pthread_mutex_t sql_lock; /* one statement at a time: SQLite's limit of memory is for all */
};

/* Everything is given by the caller but the lock. */
void server_init(struct server *server);
void server_deinit(struct server *server);
CLEAN_DEFINE_DEINIT(server_deinit, struct server);

/* Fills answer, which is initialised; never fails but by saying so in it. */
void server_answer(struct server *server, const struct request *request, struct answer *answer);

/* An answer that is an error; problem_write's JSON. */
void server_refuse(struct answer *answer, const struct refusal *refusal);

#endif
