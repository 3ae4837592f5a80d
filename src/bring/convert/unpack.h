/*
 * unpack: decompresses files piece by piece. Consecutive frames form one file. Internal to convert.
 * Not thread-safe.
 */
#ifndef MEMTAPE_CONVERT_UNPACK_H
#define MEMTAPE_CONVERT_UNPACK_H

#include "base/err.h"

struct unpack;

/* Chosen by the first bytes of a file: gzip, zstd, lz4; *unpack_ret NULL: not compressed. */
struct err *unpack_create(const uint8_t *bytes, size_t count, struct unpack **unpack_ret);
void unpack_destroy(struct unpack *unpack); /* NULL is fine */

/*
 * Consumes some of the in_count bytes (not 0) and produces up to room bytes; *used_ret and *got_ret
 * are the counts. Either may be 0, not both. ERR_FORMAT: damaged input; the output so far is valid.
 */
struct err *unpack_run(struct unpack *unpack, const uint8_t *in, size_t in_count, size_t *used_ret,
		       char *out, size_t room, size_t *got_ret);

/* Whether a file may end here: after a complete frame. */
bool unpack_is_between(const struct unpack *unpack);

/* One table of functions per format. */
struct unpack_kind {
	uint8_t magic[4];
	size_t magic_bytes;
	void *(*create)(void); /* NULL: out of memory */
	void (*destroy)(void *state);
	/* As unpack_run; *is_end: a frame ended. */
	struct err *(*run)(void *state, const uint8_t *in, size_t in_count, size_t *used_ret,
			   char *out, size_t room, size_t *got_ret, bool *is_end);
};

extern const struct unpack_kind unpack_gzip;
extern const struct unpack_kind unpack_lz4;
extern const struct unpack_kind unpack_zstd;

#endif
