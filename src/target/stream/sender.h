/*
 * sender: what the process beside the program does, from its first moment to its last. Internal to stream.
 *
 * Where it is announced, gatherers connect to it: whoever cannot prove the token is a stranger, and of no
 * consequence. It ends when all of the tape is there, when the gatherer does not want it, or when the program is gone and
 * for STREAM_LINGER_S nothing was acknowledged; STREAM_REST_S after the program in any case.
 */
#ifndef MEMTAPE_STREAM_SENDER_H
#define MEMTAPE_STREAM_SENDER_H

#include "stream/announcer.h"
#include "stream/feed.h"
#include "stream/life.h"
#include "stream/line.h"
#include "stream/stream.h"

enum { STREAM_LINGER_S = 5, STREAM_REST_S = 600 };

/* In memory of its own, which the program has only until the sender is there. */
struct sender {
	struct stream_target target;
	struct stream_token token;
	struct stream_shared *shared;
	char program[STREAM_NAME_BYTES];
	struct life life;
	int tape_fd;
	uint8_t *region;
	uint64_t region_bytes;
	bool is_over; /* the program is gone, or is another one */
	bool is_all;  /* and the tape is complete */
	uint64_t over_ns, progress_ns, looked_ns;
	uint64_t sent_end, progress_end;
	uint8_t said[TAPE_HEADER_BYTES]; /* the page, as the gatherer has it */
	unsigned unequal_count;
	struct feed feed;
	struct line line;
	struct announcer announcer;
};

/* Never sleeps without a bound, and returns when there is nothing more to do. */
void sender_run(struct sender *sender);

/* READY's payload of `bytes` bytes, which line_hear() has let through: false, it makes no sense. */
bool sender_ready_parse(const uint8_t *payload, size_t bytes, struct wire_ready *ready);

/* REFUSED: as printable ASCII. */
void sender_reason_parse(const uint8_t *payload, size_t bytes,
			 char reason[WIRE_REASON_BYTES_MAX + 1]);

#endif
