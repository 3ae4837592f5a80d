/*
 * gzip: writes bytes to a file as a gzip stream (RFC 1952), without date or name, so that equal
 * contents give equal files. Only gzip.c uses zlib.
 */
#ifndef MEMTAPE_EXPORT_GZIP_H
#define MEMTAPE_EXPORT_GZIP_H

#include "base/err.h"

/* The caller keeps ownership of out. */
struct err *gzip_write(const void *bytes, size_t size, FILE *out);

/*
 * A stream that writes to out compressed. fclose flushes it, and fails if anything could not be
 * written; the caller keeps ownership of out. NULL: out of memory.
 */
FILE *gzip_open(FILE *out);

#endif
