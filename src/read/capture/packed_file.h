/*
 * packed_file: a packed tape being written to an open file, front to back: the header page, then
 * chunks. Who opens the file gives it its name when all is well. Or the chunks alone, to a sink.
 *
 * One thread at a time.
 */
#ifndef MEMTAPE_CAPTURE_PACKED_FILE_H
#define MEMTAPE_CAPTURE_PACKED_FILE_H

#include "base/err.h"
#include "tape/tape.h"

struct packed_file;

/*
 * fd is borrowed and written from where it stands. level: of zstd. The header is written with kind
 * and live as a packed tape has them; its chunk_bytes is the size of the largest image that will be
 * given.
 */
struct err *packed_file_create(int fd, const struct tape_header *header, int level,
			       struct packed_file **file_ret);

/* Appends all of it or nothing. */
struct packed_sink {
	struct err *(*append)(void *context, const void *bytes, size_t len);
	void *context;
};

/* The same without a header, which its owner writes, and without anything pending. */
struct err *packed_file_create_to(struct packed_sink sink, uint32_t chunk_bytes, int level,
				  struct packed_file **file_ret);
void packed_file_destroy(struct packed_file *file); /* NULL is fine; what is pending is lost */
CLEAN_DEFINE(packed_file_destroy, struct packed_file *);

/*
 * Packs and writes a raw slot image of image_bytes (header, records from its front, nodes at its
 * end; 8-aligned). *lost_ret (may be NULL): bytes of broken records at its end that were left out.
 */
struct err *packed_file_chunk(struct packed_file *file, const struct tape_chunk *image,
			      uint32_t image_bytes, uint32_t *lost_ret);

/* Writes what is pending. The file is not synced. */
struct err *packed_file_finish(struct packed_file *file);

uint32_t packed_file_chunk_bytes(const struct packed_file *file); /* as in the header */
uint64_t packed_file_bytes(const struct packed_file *file);	  /* so far */
uint64_t packed_file_chunk_count(const struct packed_file *file);
uint64_t packed_file_event_count(const struct packed_file *file);

#endif
