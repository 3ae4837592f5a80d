/*
 * feed: a raw tape that grows, as the bytes of the packed tape that it becomes: a page, and then each chunk
 * that is complete, in the order in which they are found, each encoded and hashed once. Its chunks stay
 * where they are: in the tape's file, or in memory that is given back when they are at the gatherer.
 */
#ifndef MEMTAPE_STREAM_FEED_H
#define MEMTAPE_STREAM_FEED_H

#include "stream/sha256.h"
#include "stream/stream.h"
#include "tape/tape_spool.h"

enum {
	FEED_PENDING_MAX = 4096, /* slots that are written at once */
	FEED_STREAMS = 1024,
	FEED_CLOSING_BYTES = 512,
	FEED_SLOT_CLOSING = -1 /* not a slot: the losses, as the last chunk */
};

struct feed_chunk {
	uint32_t slot;
	struct tape_chunk head; /* as it is sent */
};

struct feed {
	int fd;		     /* of the raw tape; -1: it is at `region` */
	uint8_t *region;     /* header and slots */
	uint32_t slot_count; /* at region */
	uint32_t chunk_bytes;
	uint8_t page[TAPE_HEADER_BYTES]; /* of the packed tape, as it is now */
	uint64_t base; /* where chunks[0] begins; what is before it is given back */
	uint64_t end;  /* of the packed tape, as far as it is known */
	struct feed_chunk *chunks;
	size_t chunk_count, chunk_room;
	size_t at_index; /* where the last read was, and where that chunk begins */
	uint64_t at_begin;
	struct sha256 digest; /* of all after the page */
	uint32_t slots_seen;
	uint32_t pending_count;
	uint32_t pending[FEED_PENDING_MAX]; /* slots that are not complete */
	uint32_t next_seq[FEED_STREAMS];    /* by stream */
	uint8_t closing[FEED_CLOSING_BYTES];
	uint8_t image[STREAM_SLOT_BYTES + 64]; /* the chunk that is looked at */
};

/* False: it is no raw tape with chunks of at most STREAM_SLOT_BYTES. */
bool feed_init(struct feed *feed, int fd, uint8_t *region, uint64_t region_bytes);

/*
 * Looks for what is new. is_over: the program is gone, and what it was writing is complete as it is; then
 * it is called once more and no more. False: the tape cannot be read, or there is no memory.
 */
bool feed_look(struct feed *feed, bool is_over);

/* Bytes of the packed tape from `offset` (base to end) on: how many, at most len; 0: it cannot be read. */
size_t feed_read(struct feed *feed, uint64_t offset, uint8_t *bytes, size_t len);

/* What is before `end` is at the gatherer: chunks in memory are the program's again. */
void feed_release(struct feed *feed, uint64_t end);

#endif
