/*
 * zst: zstd, for pieces of a chunk and for whole files. The only file that knows libzstd is zst.c.
 *
 * A packer, an unpacker or a stream is used by one thread at a time.
 */
#ifndef MEMTAPE_CAPTURE_ZST_H
#define MEMTAPE_CAPTURE_ZST_H

#include <stdio.h>

#include "core/core.h"

/* Pieces: frames without magic and without a stored size. NULL is fine to destroy. */
struct zst_packer;
struct zst_packer *zst_packer_create(int level); /* NULL: out of memory */
void zst_packer_destroy(struct zst_packer *packer);

struct zst_unpacker;
struct zst_unpacker *zst_unpacker_create(void); /* NULL: out of memory */
void zst_unpacker_destroy(struct zst_unpacker *unpacker);

/* Upper bound for a piece of this many bytes. */
size_t zst_bound(size_t bytes);

/* Bytes written at out, which has room for so many; SIZE_MAX: did not fit, or malformed input. */
size_t zst_pack(struct zst_packer *packer, void *out, size_t room, const void *from, size_t bytes);
size_t zst_unpack(struct zst_unpacker *unpacker, void *out, size_t room, const void *from,
		  size_t bytes);

/*
 * A stream whose bytes go to out as one zstd frame (RFC 8878) with a checksum; equal contents give
 * equal files. fclose writes the rest, and fails if anything could not be written; the caller keeps
 * out. NULL: out of memory.
 */
FILE *zst_open(FILE *out);

#endif
