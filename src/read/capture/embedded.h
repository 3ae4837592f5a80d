/*
 * embedded: names that a packed tape carries for use on other machines: SYMBOLS records in their
 * own stream after everything else (docs/tape-format.md). The bytes are interpreted in
 * symbol/embedded.h.
 */
#ifndef MEMTAPE_CAPTURE_EMBEDDED_H
#define MEMTAPE_CAPTURE_EMBEDDED_H

#include "base/err.h"

enum { CAPTURE_EMBEDDED_BYTES_MAX = 1 << 30 };

/*
 * The newest names on the tape, which the caller frees; NULL and 0 if it has none, which costs one
 * read of its header. ERR_FORMAT: they are incomplete.
 */
struct err *capture_embedded_read(const char *path, uint8_t **bytes_ret, size_t *size_ret);

/* Whether names could be appended. ERR_STATE: it must be repacked first. */
struct err *capture_embedded_check(const char *path);

/*
 * Appends names, replacing older ones if these are last on the tape. On failure the tape has no
 * names but is otherwise intact. ERR_STATE: as capture_embedded_check.
 */
struct err *capture_embedded_write(const char *path, const void *bytes, size_t size);

#endif
