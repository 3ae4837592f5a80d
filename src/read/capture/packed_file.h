/*
 * packed_file: a packed tape being written to an open file, front to back: the header page, then
 * chunks. The owner of the file names it once it is complete. Or only the chunks, to a sink.
 *
 * One thread at a time.
 */
#ifndef MEMTAPE_CAPTURE_PACKED_FILE_H
#define MEMTAPE_CAPTURE_PACKED_FILE_H

#include "base/err.h"
#include "tape/tape.h"

struct packed_file;

/*
 * fd is borrowed and written from its current offset. level: of zstd. The header is written with
 * kind and live of a packed tape; its chunk_bytes is the size of the largest image to come.
 */
struct err *packed_file_create(int fd, const struct tape_header *header, int level,
			       struct packed_file **file_ret);

/* Appends all or nothing. */
struct packed_sink {
	struct err *(*append)(void *context, const void *bytes, size_t len);
	void *context;
};

/* The same without a header, which its owner writes, and without buffering. */
struct err *packed_file_create_to(struct packed_sink sink, uint32_t chunk_bytes, int level,
				  struct packed_file **file_ret);
void packed_file_destroy(struct packed_file *file); /* NULL is fine; pending data is lost */
CLEAN_DEFINE(packed_file_destroy, struct packed_file *);

/*
 * Packs and writes a raw slot image of image_bytes (header, records from its front, nodes at its
 * end; 8-aligned). *lost_ret (may be NULL): bytes of broken records left out at its end.
 */
struct err *packed_file_chunk(struct packed_file *file, const struct tape_chunk *image,
			      uint32_t image_bytes, uint32_t *lost_ret);

/* A chunk as it is stored, with its checksum. */
struct err *packed_file_copy(struct packed_file *file, const struct tape_chunk *packed);

/* Writes pending data. The file is not synced. */
struct err *packed_file_finish(struct packed_file *file);

uint32_t packed_file_chunk_bytes(const struct packed_file *file); /* as in the header */
uint64_t packed_file_bytes(const struct packed_file *file);	  /* so far */
uint64_t packed_file_chunk_count(const struct packed_file *file);
uint64_t packed_file_event_count(const struct packed_file *file);

#endif
