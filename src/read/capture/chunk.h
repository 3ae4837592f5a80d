/*
 * chunk: one chunk of an open capture, loaded from the file and decoded. Internal to capture.
 */
#ifndef MEMTAPE_CAPTURE_CHUNK_H
#define MEMTAPE_CAPTURE_CHUNK_H

#include "base/arena.h"
#include "capture/capture.h"
#include "capture/pack.h"
#include "tape/tape_spool.h"

VEC_DEFINE(capture_chunk_vec, struct capture_chunk);
VEC_DEFINE(capture_damage_vec, struct capture_damage);

struct capture {
	int fd;
	int spool_fd; /* -1: none, or not needed */
	struct tape_header header;
	struct tape_live live;
	bool has_live;
	bool is_header_cut; /* the file ends within it */
	bool is_written;    /* by a collector, or by a recorder whose collector was killed */
	const char *killed_text;
	struct capture_chunk_vec chunks; /* in file order */
	struct vec_u32 by_stream;	 /* indices of chunks by (stream, seq) */
	struct vec_u32 stream_ids;	 /* sorted */
	struct capture_damage_vec damage;
	struct capture_facts facts;
	struct arena arena;
};

/* Up to bytes; fewer at the end of the file. */
struct err *capture_read_some(int fd, void *buf, size_t bytes, uint64_t offset, size_t *done_ret);
struct err *capture_add_damage(struct capture *capture, uint64_t offset, const char *text);
/* header->stored_bytes of a slot is the size of its records and nodes. */
struct err *capture_add_chunk(struct capture *capture, uint64_t offset,
			      const struct tape_chunk *header);
struct err *capture_check_header(const struct tape_header *header, size_t bytes);
/* Whether a chunk of a packed tape may begin so, with `rest` bytes of the file from there on. */
bool capture_packed_header_ok(const struct capture *capture, const struct tape_chunk *header,
			      uint64_t rest);

/* slots.c: the chunks of a raw tape; */
struct err *capture_scan_slots(struct capture *capture);
/* of a packed one whose collector was killed, those of its spool that are not on the tape; */
struct err *capture_join_spool(struct capture *capture, const char *path);
/* The same for a tape that is being written; fd is borrowed. */
struct err *capture_join_spool_of(struct capture *capture, int fd);
/* the spool alone, if its collector had not written anything yet. False: there is none. */
bool capture_open_spool_alone(struct capture *capture, const char *path);

/* A thread's state for loading chunks, reused from chunk to chunk. */
struct chunk_loader {
	const struct capture *capture;
	struct capture_packer *packer; /* created on first use */
	uint8_t *packed;
	size_t packed_room;
	uint8_t *scratch; /* for slots that were taken in part */
};

void chunk_loader_deinit(struct chunk_loader *loader);

enum { CHUNK_IMAGE_PAD = 64 }; /* readable bytes after a slot image */

/*
 * Fills image, a slot with CHUNK_IMAGE_PAD bytes of room after it, with the raw form of a chunk.
 * ERR_FORMAT: the chunk is damaged; other errors are not the tape's fault.
 */
struct err *chunk_load(struct chunk_loader *loader, const struct capture_chunk *chunk,
		       struct tape_chunk *image);

/* A chunk of a packed tape as it is stored, with its checksum right, until the loader's next one. */
struct err *chunk_read_packed(struct chunk_loader *loader, const struct capture_chunk *chunk,
			      const struct tape_chunk **packed_ret);

struct decoded {
	struct decoded *next;	      /* of its stream, or of the free list */
	struct capture_event *events; /* stack holds the stream's own node number */
	size_t count;
	size_t room;
	size_t at;	 /* next event to play */
	bool has_source; /* events are only the next ones of the chunk: */
	bool has_extended;
	uint32_t done_bytes; /* of its records */
	struct tape_codec_state codec;
	uint32_t seq;
	struct tape_chunk *image; /* extended events point into it */
	uint32_t event_count;	  /* without extended records */
	const char *damage;	  /* NULL: valid */
	struct err *err;	  /* not the tape's fault */
};

struct decoded *decoded_create(const struct capture *capture);
void decoded_destroy(struct decoded *decoded);

/* Loads and decodes. Damage and errors are stored in decoded, as is everything readable. */
void chunk_decode(struct chunk_loader *loader, const struct capture_chunk *chunk, uint32_t stream,
		  struct decoded *decoded);

/*
 * Fills decoded->events, which has `room`, with the next events of the image's records, of which
 * `used` bytes are there and end with a whole record. Reads nothing behind them: they may be being
 * written. False: a record is broken, and nothing of decoded can be used any more.
 */
bool chunk_decode_next(struct decoded *decoded, uint32_t used, uint32_t stream);

/* Offset of the stack (a u32) in an extended record's payload; CHUNK_NO_NODE: it has none. */
enum { CHUNK_NO_NODE = UINT16_MAX };
size_t chunk_extended_node(const struct tape_extended_record *record);

/* The event that stands for an extended record; payload must outlive it. */
struct capture_event capture_event_of_extended(unsigned type, uint64_t ticks,
					       const uint8_t *payload, uint32_t payload_bytes);

static inline struct capture_event capture_event_of_latency(uint64_t ticks, uint64_t latency)
{
	return (struct capture_event) {
		.ticks = ticks, .size = latency, .stack = TAPE_NODE_NONE, .fn = TAPE_FN_LATENCY
	};
}

/* The columns of a packed chunk, valid until the packer is used again; they may be inconsistent. */
struct columns;
struct err *capture_unpack_columns(struct capture_packer *packer, const struct tape_chunk *packed,
				   uint32_t chunk_bytes, const struct columns **columns_ret);

#endif
