/*
 * guard: access control. Applied before anything else, also to static files.
 *
 * Protects against pages of other sites that reach a server on the loopback interface (their
 * requests have their own Host, Origin or Sec-Fetch-Site), against DNS rebinding to 127.0.0.1, and
 * against other users of the machine (they do not have the token).
 */
#ifndef MEMTAPE_HTTP_GUARD_H
#define MEMTAPE_HTTP_GUARD_H

#include "http/exchange.h"
#include "http/token.h"

enum { GUARD_HOSTS_MAX = 16 };

struct guard {
	struct token token;		  /* "": no token required */
	char hosts[GUARD_HOSTS_MAX][272]; /* allowed values of Host, lower case */
	size_t host_count;
};

/* host is a name or address, with or without port: if without, this one is added unless 0. */
struct err *guard_allow(struct guard *guard, const char *host, unsigned port);

struct refusal {
	unsigned status; /* 0: none */
	const char *message;
	const char *hint; /* NULL: none */
};

/*
 * The refusal to send instead of an answer. is_api: the path is not static, so a token is required.
 * path and query are the target's, encoded.
 */
struct refusal guard_check(const struct guard *guard, const struct request *request, bool is_api);

/* The value of the query's `token`, still encoded; NULL: none. */
const char *guard_query_token(const char *target, size_t *len_ret);

#endif
