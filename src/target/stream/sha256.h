/*
 * sha256: SHA-256 (FIPS 180-4) and HMAC (RFC 2104) with it, for a target that has no library for them.
 * Values; nothing is allocated. Async-signal-safe.
 */
#ifndef MEMTAPE_STREAM_SHA256_H
#define MEMTAPE_STREAM_SHA256_H

#include "core/core.h"

enum { SHA256_BYTES = 32, SHA256_BLOCK_BYTES = 64 };

struct sha256 {
	uint32_t state[8];
	uint64_t bytes; /* so far */
	uint8_t block[SHA256_BLOCK_BYTES];
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t len);

/* Of all that was added; more may be added afterwards. */
void sha256_get(const struct sha256 *sha, uint8_t digest[SHA256_BYTES]);

/* Of the three texts one after the other. */
void sha256_hmac(const void *key, size_t key_len, const void *const texts[3], const size_t lens[3],
		 uint8_t mac[SHA256_BYTES]);

/* In constant time. */
bool sha256_equal(const uint8_t left[SHA256_BYTES], const uint8_t right[SHA256_BYTES]);

#endif
