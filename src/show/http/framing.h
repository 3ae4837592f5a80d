/*
 * framing: whether the header of a request means the same to everybody. Behind a proxy, what it
 * takes for one request must not be two to us, nor another host's: where two readings are possible
 * the request is refused. Looks at what the HTTP library has made of it and at how much it was.
 */
#ifndef MEMTAPE_HTTP_FRAMING_H
#define MEMTAPE_HTTP_FRAMING_H

#include "base/err.h"

struct framing {
	const char *problem; /* of a line; NULL: none */
	const char *length;  /* Content-Length and Transfer-Encoding; NULL: none */
	const char *coding;
	size_t lines;
	size_t bytes; /* of names and values */
};

/* One line after the other. Texts are borrowed until framing_problem. */
void framing_add(struct framing *framing, const char *name, const char *value);

/*
 * What is wrong, and *status_ret; NULL: nothing. start_bytes: of method, target and version;
 * header_bytes: of all as it came, 0: not known; body_bytes_max: that a body may have.
 */
const char *framing_problem(const struct framing *framing, const char *version, size_t start_bytes,
			    size_t header_bytes, uint64_t body_bytes_max, unsigned *status_ret);

#endif
