/*
 * zst: zstd, for pieces of a chunk and for whole files. The only file that knows libzstd is zst.c.
 *
 * A packer, an unpacker and a stream are one thread's at a time.
 */
#ifndef MEMTAPE_CAPTURE_ZST_H
#define MEMTAPE_CAPTURE_ZST_H

#include <stdio.h>

#include "core/core.h"

/* Pieces: frames without magic, without their size. NULL is fine to destroy. */
struct zst_packer;
struct zst_packer *zst_packer_create(int level); /* NULL: no memory */
void zst_packer_destroy(struct zst_packer *packer);

struct zst_unpacker;
struct zst_unpacker *zst_unpacker_create(void); /* NULL: no memory */
void zst_unpacker_destroy(struct zst_unpacker *unpacker);

/* Bytes that a piece of so many bytes may take. */
size_t zst_bound(size_t bytes);

/* Bytes written at out, where there is room for so many; SIZE_MAX: it did not fit, or bytes lie. */
size_t zst_pack(struct zst_packer *packer, void *out, size_t room, const void *from, size_t bytes);
size_t zst_unpack(struct zst_unpacker *unpacker, void *out, size_t room, const void *from,
		  size_t bytes);

/*
 * A stream whose bytes go to out as one frame of zstd (RFC 8878) with a checksum; equal contents
 * are equal files. fclose writes what is left, and fails if anything could not be written; out
 * stays the caller's. NULL: no memory.
 */
FILE *zst_open(FILE *out);

#endif
