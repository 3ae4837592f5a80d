/*
 * framing: whether a request's header is unambiguous. Behind a proxy, what the proxy takes for one
 * request must not be two to us, nor for another host: ambiguous requests are refused. Checks what
 * the HTTP library made of the header and how long it was.
 */
#ifndef MEMTAPE_HTTP_FRAMING_H
#define MEMTAPE_HTTP_FRAMING_H

#include "base/err.h"

struct framing {
	const char *problem; /* with a line; NULL: none */
	const char *length;  /* Content-Length and Transfer-Encoding; NULL: none */
	const char *coding;
	size_t lines;
	size_t bytes; /* of names and values */
};

/* Adds one header line. Strings are borrowed until framing_problem. */
void framing_add(struct framing *framing, const char *name, const char *value);

/*
 * What is wrong, with *status_ret; NULL: nothing. start_bytes: of method, target and version;
 * header_bytes: of the whole header as received, 0: unknown; body_bytes_max: limit of a body.
 */
const char *framing_problem(const struct framing *framing, const char *version, size_t start_bytes,
			    size_t header_bytes, uint64_t body_bytes_max, unsigned *status_ret);

#endif
