/*
 * stream: what the collector itself writes on the tape: its own stream 0 with clocks, usage samples
 * and final records, and others (before.h).
 */
#ifndef MEMTAPE_COLLECT_STREAM_H
#define MEMTAPE_COLLECT_STREAM_H

#include "tape/tape.h"

enum { STREAM_CHUNK_BYTES = 32 << 10 };

struct stream {
	union {
		struct tape_chunk chunk; /* of STREAM_CHUNK_BYTES, laid out as in a slot */
		uint8_t bytes[STREAM_CHUNK_BYTES];
	};
	uint64_t begun_ns; /* when the first record of the chunk was added; 0: empty */
};

/* An empty chunk of the stream with that number; it is the stream's chunk number seq. */
void stream_begin(struct stream *stream, uint32_t number, uint32_t seq);

/*
 * The collector's stream in a slot of a tape that the recorder writes itself: several processes may
 * append to it, so chunks have their slots' numbers.
 */
void stream_begin_alone(struct stream *stream, uint32_t slot);

/*
 * Adds an extended record; ticks are shifted. False: it does not fit, write the chunk and begin a
 * new one first.
 */
bool stream_add(struct stream *stream, enum tape_extended type, uint64_t ticks, const void *payload,
		size_t bytes, const char *tail);

#endif
