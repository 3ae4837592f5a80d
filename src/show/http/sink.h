/*
 * sink: buffers an answer until it is complete: in memory, or in an unnamed file. Both have limits,
 * and writing ends early when the client is gone.
 */
#ifndef MEMTAPE_HTTP_SINK_H
#define MEMTAPE_HTTP_SINK_H

#include "http/exchange.h"
#include "sums/sweep.h"

struct sink {
	FILE *out; /* to write to */
	const struct sweep_limits *limits;
	uint64_t bytes_max;
	uint64_t size;
	char *bytes; /* memory */
	size_t capacity;
	int fd;		 /* the file; -1: memory */
	struct err *err; /* why writing ended early; NULL: it did not */
};

enum { SINK_MEMORY_BYTES = 64 << 20 };

struct err *sink_open(struct sink *sink, const struct sweep_limits *limits);
struct err *sink_open_file(struct sink *sink, const struct sweep_limits *limits,
			   uint64_t bytes_max);

/*
 * Closes an opened sink. Takes the writer's result: on success the answer gets the contents. An
 * error of the sink takes precedence over the one it caused.
 */
struct err *sink_close(struct sink *sink, struct err *err, struct answer *answer);

#endif
