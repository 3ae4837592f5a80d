/*
 * pack: compresses chunks, for tapes at rest, and decompresses them.
 *
 * A packed chunk (TAPE_CODEC_COLUMNS) holds the records of a raw one apart by field - control
 * words, times, addresses, sizes, stacks ... - each column compressed by itself: similar data
 * compresses best together. The split is lossless to the byte. Layout: docs/tape-format.md.
 */
#ifndef MEMTAPE_CAPTURE_PACK_H
#define MEMTAPE_CAPTURE_PACK_H

#include "base/err.h"
#include "tape/tape.h"

struct capture;

/* Memory and contexts reused from chunk to chunk. One thread at a time. */
struct capture_packer;

/* level: of zstd, negative is faster; CAPTURE_PACK_LEVEL suits a collector. NULL: out of memory. */
enum { CAPTURE_PACK_LEVEL = -1 };
struct capture_packer *capture_packer_create(int level);
void capture_packer_destroy(struct capture_packer *packer); /* NULL is fine */
CLEAN_DEFINE(capture_packer_destroy, struct capture_packer *);

/* Upper bound for capture_pack's output for any chunk of a tape with slots of chunk_bytes. */
size_t capture_pack_bound(uint32_t chunk_bytes);

/*
 * Packs the raw chunk (a whole slot, chunk_bytes long, 8-aligned): header and payload are written
 * to out, which has capture_pack_bound bytes; *bytes_ret is how many. Records are taken up to the
 * last whole one, and the header's used, event_count, node_count, state and checksum are those of
 * what was packed: damaged records at the end of a chunk are left out, and *lost_bytes_ret (may be
 * NULL) receives their size. Errors: ERR_FORMAT if header numbers do not fit the slot.
 */
struct err *capture_pack(struct capture_packer *packer, const struct tape_chunk *chunk,
			 uint32_t chunk_bytes, void *out, size_t *bytes_ret,
			 uint32_t *lost_bytes_ret);

/*
 * The inverse: packed is a header with stored_bytes of payload after it. The caller checks the
 * checksum; malformed bytes are an error, never worse. chunk receives a raw slot image, chunk_bytes
 * long, 8-aligned.
 */
struct err *capture_unpack(struct capture_packer *packer, const struct tape_chunk *packed,
			   struct tape_chunk *chunk, uint32_t chunk_bytes);

/* Whether header and payload (stored_bytes after it) are unchanged since written. */
bool capture_checksum_ok(const struct tape_chunk *packed);

struct capture_repacked {
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t chunk_count;
	uint64_t event_count;
	uint64_t damage_count; /* places where the input could not be read */
	bool is_written;       /* the input is still being written: more may come */
};

/*
 * Rewrites a tape, raw or packed, as a packed one. path_out must not exist (ERR_SYSTEM, EEXIST) and
 * is removed again on failure. Chunk by chunk: memory does not grow with the tape. What the
 * recorder left in the header page of a raw tape (losses, fault, end of the process if not recorded
 * otherwise) is written as records of the collector's stream at the end.
 */
struct err *capture_repack(const char *path_in, const char *path_out, int level,
			   struct capture_repacked *repacked_ret);

/* Records to be added at the end: of the collector's stream, or of one of their own. */
struct packed_stream;
struct capture_addition {
	struct err *(*write)(void *context, struct packed_stream *stream);
	void *context;
	bool is_earlier; /* of a time before the tape's last records: a stream of their own */
};

/* The same for an open tape; addition may be NULL. */
struct err *capture_repack_opened(const struct capture *capture, const char *path_out, int level,
				  const struct capture_addition *addition,
				  struct capture_repacked *repacked_ret);

#endif
