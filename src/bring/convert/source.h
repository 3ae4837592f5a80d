/*
 * source: the bytes of a foreign file, decompressed on the way (gzip, zstd, lz4, as its first bytes
 * say) and read once from front to back. Memory does not grow with the file.
 *
 * A source keeps its own failure (a read that failed, damaged compression): reading ends there, as
 * at the end of the file; source_failed says which. One thread at a time.
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

/* A source of a copy of these bytes, plain: for tests. NULL: no memory. */
struct source *source_of_bytes(const void *bytes, size_t count);

/*
 * At least `wanted` bytes from the present place on, if there are so many: *bytes_ret is valid
 * until the next call and *count_ret may be more, or less at the end of the file. wanted is at most
 * SOURCE_PEEK_MAX.
 */
enum { SOURCE_PEEK_MAX = 1 << 20 };
void source_peek(struct source *source, size_t wanted, const char **bytes_ret, size_t *count_ret);

/* Goes on by count bytes, of those source_peek has shown. */
void source_skip(struct source *source, size_t count);

/* All count bytes copied, or false and none taken: there are not so many. */
bool source_take(struct source *source, void *out, size_t count);

/*
 * The next line without its end ("\n", "\r\n"), NUL-terminated, valid until the next call; may be
 * changed in place. False: there is none. A last line without an end is a line, and
 * source_line_is_torn says so. One longer than SOURCE_LINE_MAX is a failure.
 */
enum { SOURCE_LINE_MAX = 16 << 20 };
bool source_line(struct source *source, char **line_ret, size_t *len_ret);
bool source_line_is_torn(const struct source *source);
uint64_t source_line_number(const struct source *source); /* of the last line, from 1 */

/* Of the decompressed file: how far it was read. */
uint64_t source_offset(const struct source *source);

/* Of the file as it is: for progress. size 0: a pipe, not known. */
uint64_t source_file_offset(const struct source *source);
uint64_t source_file_bytes(const struct source *source);

/* Called now and then with file offset and size while bytes are read; may be NULL. */
void source_progress(struct source *source,
		     void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes),
		     void *context);

/* The file's name without its folders. */
const char *source_name(const struct source *source);

/* Whether reading ended because it failed and not because the file ended. */
bool source_failed(const struct source *source);

/* ERR_FORMAT that names the place: "line 7: ..." after lines were read, else "byte 1234: ...". */
struct err *source_error(const struct source *source, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* composer_note that reading stops here, with the place and this reason. */
void source_torn(const struct source *source, struct composer *composer, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* source_torn with the source's own failure, if it has one: convert.c calls it after reading. */
void source_tell(const struct source *source, struct composer *composer);

#endif
