/*
 * gzip: bytes to a file as a gzip stream (RFC 1952), without a date or a name, so that equal
 * contents are equal files. The only file that knows zlib is gzip.c.
 */
#ifndef MEMTAPE_EXPORT_GZIP_H
#define MEMTAPE_EXPORT_GZIP_H

#include "base/err.h"

/* out stays the caller's. */
struct err *gzip_write(const void *bytes, size_t size, FILE *out);

/*
 * A stream whose bytes go to out compressed. fclose writes what is left, and fails if anything
 * could not be written; out stays the caller's. NULL: no memory.
 */
FILE *gzip_open(FILE *out);

#endif
