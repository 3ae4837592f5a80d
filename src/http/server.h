/*
 * server: requests in, answers out. Knows nothing of sockets; any number of threads may ask at
 * once.
 */
#ifndef MEMTAPE_HTTP_SERVER_H
#define MEMTAPE_HTTP_SERVER_H

#include "http/exchange.h"
#include "http/guard.h"
#include "http/tapes.h"

struct server_settings {
	const char *version;	/* of memtape */
	uint64_t time_limit_ns; /* of one question; 0: none */
};

struct server {
	struct guard guard;
	struct tapes *tapes;
	struct server_settings settings;
};

/* Fills answer, which is initialised; never fails but by saying so in it. */
void server_answer(struct server *server, const struct request *request, struct answer *answer);

/* An answer that is an error; problem_write's JSON. */
void server_refuse(struct answer *answer, const struct refusal *refusal);

#endif
