/*
 * source: the bytes of a foreign file, decompressed on the fly (gzip, zstd, lz4, detected by the
 * first bytes) and read once from front to back. Memory does not grow with the file.
 *
 * A source stores its own failure (read error, damaged compression): reading ends there, as at the
 * end of the file; source_failed tells the two apart. One thread at a time.
 */
#ifndef MEMTAPE_CONVERT_SOURCE_H
#define MEMTAPE_CONVERT_SOURCE_H

#include "base/err.h"
#include "base/vec.h"

struct source;
struct composer;

struct err *source_open(const char *path, struct source **source_ret);
void source_close(struct source *source); /* NULL is fine */
CLEAN_DEFINE(source_close, struct source *);

/* A source with an uncompressed copy of these bytes: for tests. NULL: out of memory. */
struct source *source_of_bytes(const void *bytes, size_t count);

/*
 * Peeks at least `wanted` bytes from the current position, if there are that many: *bytes_ret is
 * valid until the next call and *count_ret may be more, or less at the end of the file. wanted is
 * at most SOURCE_PEEK_MAX.
 */
enum { SOURCE_PEEK_MAX = 1 << 20 };
void source_peek(struct source *source, size_t wanted, const char **bytes_ret, size_t *count_ret);

/* Skips count bytes, at most those shown by source_peek. */
void source_skip(struct source *source, size_t count);

/* Copies count bytes, or returns false and takes none: there are fewer. */
bool source_take(struct source *source, void *out, size_t count);

/*
 * The next line without its end ("\n", "\r\n"), NUL-terminated, valid until the next call; may be
 * modified in place. False: there is none. A last line without a newline is a line, and
 * source_line_is_torn is then true. One longer than SOURCE_LINE_MAX is a failure.
 */
enum { SOURCE_LINE_MAX = 16 << 20 };
bool source_line(struct source *source, char **line_ret, size_t *len_ret);
bool source_line_is_torn(const struct source *source);
uint64_t source_line_number(const struct source *source); /* of the last line, from 1 */

/* Position in the decompressed file. */
uint64_t source_offset(const struct source *source);

/* Position in the file as stored: for progress. size 0: a pipe, unknown. */
uint64_t source_file_offset(const struct source *source);
uint64_t source_file_bytes(const struct source *source);

/* Called periodically with file offset and size while reading; may be NULL. */
void source_progress(struct source *source,
		     void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes),
		     void *context);

/* The file's base name. */
const char *source_name(const struct source *source);

/* Whether reading ended by a failure and not at the end of the file. */
bool source_failed(const struct source *source);

/* ERR_FORMAT with the position: "line 7: ..." after lines were read, else "byte 1234: ...". */
struct err *source_error(const struct source *source, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Adds a composer_note that reading stops here, with the position and this reason. */
void source_torn(const struct source *source, struct composer *composer, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* source_torn with the source's own failure, if any: called by convert.c after reading. */
void source_tell(const struct source *source, struct composer *composer);

#endif
