/*
 * sink: where an answer is kept until it is whole: in memory, or in a file without a name. Both
 * have limits, and writing ends early when nobody waits for it any more.
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
	struct err *err; /* why writing ended; NULL: it did not */
};

enum { SINK_MEMORY_BYTES = 64 << 20 };

struct err *sink_open(struct sink *sink, const struct sweep_limits *limits);
struct err *sink_open_file(struct sink *sink, const struct sweep_limits *limits,
			   uint64_t bytes_max);

/*
 * Ends an opened sink. Takes what the writer returned: on success the answer has what was written.
 * An error of the sink is preferred to the one that it caused.
 */
struct err *sink_close(struct sink *sink, struct err *err, struct answer *answer);

#endif
