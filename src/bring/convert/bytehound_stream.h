/*
 * bytehound_stream: the bytes of a file of bytehound, out of its chunks: a kind (1: LZ4, 2: as they
 * are), a length, and so many bytes. Numbers and texts are read one by one; what was not there or
 * is not right makes the stream fail, which sticks: later reads give zeros. Internal to convert.
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
	const char *why; /* it failed (constant); NULL: it has not */
	bool is_at_end;	 /* nothing is wrong, there is no more */
};

void bytehound_stream_deinit(struct bytehound_stream *stream);
CLEAN_DEFINE_DEINIT(bytehound_stream_deinit, struct bytehound_stream);

/* Whether there is more; decodes a chunk if need be. */
bool bytehound_more(struct bytehound_stream *stream);

uint8_t bytehound_u8(struct bytehound_stream *stream);
uint32_t bytehound_u32(struct bytehound_stream *stream);
uint64_t bytehound_u64(struct bytehound_stream *stream);
uint64_t bytehound_varint(struct bytehound_stream *stream);

/* count bytes, valid until the next call; NULL: it failed, also when there are more than max. */
const uint8_t *bytehound_bytes(struct bytehound_stream *stream, uint64_t count, size_t max);

/* Passes over bytes, any number. */
void bytehound_skip(struct bytehound_stream *stream, uint64_t count);

#endif
