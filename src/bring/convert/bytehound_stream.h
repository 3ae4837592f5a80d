/*
 * bytehound_stream: the decoded bytes of a bytehound file. Its chunks are a kind (1: LZ4, 2:
 * stored), a length, and that many bytes. Numbers and strings are read one by one; missing or
 * invalid data makes the stream fail, which sticks: later reads return zeros. Internal to convert.
 */
#ifndef MEMTAPE_CONVERT_BYTEHOUND_STREAM_H
#define MEMTAPE_CONVERT_BYTEHOUND_STREAM_H

#include "base/vec.h"
#include "convert/source.h"

struct bytehound_stream {
	struct source *source;
	struct vec_u8 bytes; /* decoded */
	struct vec_u8 packed;
	size_t at;
	const char *why; /* why it failed (constant); NULL: it has not */
	bool is_at_end;	 /* clean end of the file */
};

void bytehound_stream_deinit(struct bytehound_stream *stream);
CLEAN_DEFINE_DEINIT(bytehound_stream_deinit, struct bytehound_stream);

/* Whether there is more data; decodes a chunk if needed. */
bool bytehound_more(struct bytehound_stream *stream);

uint8_t bytehound_u8(struct bytehound_stream *stream);
uint32_t bytehound_u32(struct bytehound_stream *stream);
uint64_t bytehound_u64(struct bytehound_stream *stream);
uint64_t bytehound_varint(struct bytehound_stream *stream);

/* count bytes, valid until the next call; NULL: failed, also if count exceeds max. */
const uint8_t *bytehound_bytes(struct bytehound_stream *stream, uint64_t count, size_t max);

/* Skips any number of bytes. */
void bytehound_skip(struct bytehound_stream *stream, uint64_t count);

#endif
