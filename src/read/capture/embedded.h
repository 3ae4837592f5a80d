/*
 * embedded: names that a packed tape carries for other machines: SYMBOLS records in a stream of
 * their own behind everything else (docs/tape-format.md). What the bytes mean is not known here:
 * symbol/embedded.h.
 */
#ifndef MEMTAPE_CAPTURE_EMBEDDED_H
#define MEMTAPE_CAPTURE_EMBEDDED_H

#include "base/err.h"

enum { CAPTURE_EMBEDDED_BYTES_MAX = 1 << 30 };

/*
 * The newest names on the tape, for the caller to free; NULL and 0 when it has none, which costs
 * one read of its header. ERR_FORMAT: they are not complete.
 */
struct err *capture_embedded_read(const char *path, uint8_t **bytes_ret, size_t *size_ret);

/*
 * Appends names, in place of older ones where these are last on the tape. On failure the tape has
 * none, and all else. ERR_STATE: a raw tape, which has to be repacked first.
 */
struct err *capture_embedded_write(const char *path, const void *bytes, size_t size);

#endif
