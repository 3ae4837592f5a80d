/*
 * gzip: bytes to a file as a gzip stream (RFC 1952), without a date or a name, so that equal
 * contents are equal files. The only file that knows zlib is gzip.c. Internal to export.
 */
#ifndef MEMTAPE_EXPORT_GZIP_H
#define MEMTAPE_EXPORT_GZIP_H

#include "base/err.h"

/* out stays the caller's. */
struct err *gzip_write(const void *bytes, size_t size, FILE *out);

#endif
