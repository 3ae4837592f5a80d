/*
 * guard: who may ask. Looked at before anything else of a request is, static files included.
 *
 * Against pages of other sites that reach a server on the loopback interface (their requests bring
 * their own Host, Origin or Sec-Fetch-Site), names that were bound to 127.0.0.1 to get around that,
 * and other users of the machine (they do not have the token).
 */
#ifndef MEMTAPE_HTTP_GUARD_H
#define MEMTAPE_HTTP_GUARD_H

#include "http/exchange.h"
#include "http/token.h"

enum { GUARD_HOSTS_MAX = 16 };

struct guard {
	struct token token;		  /* "": everybody who gets here may ask */
	char hosts[GUARD_HOSTS_MAX][272]; /* exactly what Host may be, lower case */
	size_t host_count;
};

/* host is a name or address, with a port or not: then this one is added, if it is not 0. */
struct err *guard_allow(struct guard *guard, const char *host, unsigned port);

struct refusal {
	unsigned status; /* 0: none */
	const char *message;
	const char *hint; /* NULL: none */
};

/*
 * What is to be said instead of an answer. is_api: the path is not of the static part, so a token
 * is wanted. path and query are the target's, encoded.
 */
struct refusal guard_check(const struct guard *guard, const struct request *request, bool is_api);

/* The value of the query's `token`, still encoded; NULL: none. */
const char *guard_query_token(const char *target, size_t *len_ret);

#endif
