/*
 * chunk: one chunk of an open capture, loaded from the file and decoded. Internal to capture.
 */
#ifndef MEMTAPE_CAPTURE_CHUNK_H
#define MEMTAPE_CAPTURE_CHUNK_H

#include "base/arena.h"
#include "capture/capture.h"
#include "capture/pack.h"

VEC_DEFINE(capture_chunk_vec, struct capture_chunk);
VEC_DEFINE(capture_damage_vec, struct capture_damage);

struct capture {
	int fd;
	struct tape_header header;
	struct tape_live live;
	struct capture_chunk_vec chunks; /* in file order */
	struct vec_u32 by_stream;	 /* indices of chunks by (stream, seq) */
	struct vec_u32 stream_ids;	 /* sorted */
	struct capture_damage_vec damage;
	struct capture_facts facts;
	struct arena arena;
};

/* What a thread needs to load chunks; used again from chunk to chunk. */
struct chunk_loader {
	const struct capture *capture;
	struct capture_packer *packer; /* made when first needed */
	uint8_t *packed;
	size_t packed_room;
};

void chunk_loader_deinit(struct chunk_loader *loader);

enum { CHUNK_IMAGE_PAD = 64 }; /* readable bytes after a slot image */

/*
 * Fills image, a slot with CHUNK_IMAGE_PAD bytes of room after it, with the raw form of a chunk.
 * ERR_FORMAT: the chunk is damaged; other errors are not the tape's fault.
 */
struct err *chunk_load(struct chunk_loader *loader, const struct capture_chunk *chunk,
		       struct tape_chunk *image);

struct decoded {
	struct decoded *next;	      /* of its stream, or of the free ones */
	struct capture_event *events; /* stack holds the stream's own node number */
	size_t count;
	size_t room;
	size_t at; /* next event to play */
	uint32_t seq;
	struct tape_chunk *image; /* extended events point into it */
	uint32_t event_count;	  /* without extended records */
	const char *damage;	  /* NULL: sound */
	struct err *err;	  /* not the tape's fault */
};

struct decoded *decoded_create(const struct capture *capture);
void decoded_destroy(struct decoded *decoded);

/* Loads and decodes. Damage and errors are left in decoded; what could be read is there. */
void chunk_decode(struct chunk_loader *loader, const struct capture_chunk *chunk, uint32_t stream,
		  struct decoded *decoded);

/* Where an extended record's payload names a stack (a u32); CHUNK_NO_NODE: it names none. */
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

/* The columns of a packed chunk, valid until the packer is used again; they may not fit together.
 */
struct columns;
struct err *capture_unpack_columns(struct capture_packer *packer, const struct tape_chunk *packed,
				   uint32_t chunk_bytes, const struct columns **columns_ret);

#endif
