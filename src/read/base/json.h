/* json: long lists of numbers as one value each, instead of one emit_u64 per number. */
#ifndef MEMTAPE_BASE_JSON_H
#define MEMTAPE_BASE_JSON_H

#include "base/emit.h"

void json_u64s(struct emit *emit, const char *key, const uint64_t *values, size_t count);
void json_u32s(struct emit *emit, const char *key, const uint32_t *values, size_t count);
void json_i64s(struct emit *emit, const char *key, const int64_t *values, size_t count);
void json_i32s(struct emit *emit, const char *key, const int32_t *values, size_t count);
void json_u8s(struct emit *emit, const char *key, const uint8_t *values, size_t count);

/* With this many decimals. */
void json_doubles(struct emit *emit, const char *key, const double *values, size_t count,
		  unsigned decimals);

/* Texts; NULL is null. */
void json_texts(struct emit *emit, const char *key, const char *const *texts, size_t count);

/* 16 hex digits as a text; a list of them. */
void json_hash(struct emit *emit, const char *key, uint64_t hash);
void json_hashes(struct emit *emit, const char *key, const uint64_t *hashes, size_t count);

/* value, or null if there is none. */
void json_u64_or_null(struct emit *emit, const char *key, uint64_t value, uint64_t none);

#endif
