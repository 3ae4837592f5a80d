/*
 * crypto: what GnuTLS does for a stream: the proof that a token is known, random bytes, digests.
 * Nothing of it is our own. Thread-safe.
 */
#ifndef MEMTAPE_GATHER_CRYPTO_H
#define MEMTAPE_GATHER_CRYPTO_H

#include "gather/wire.h"

enum {
	TOKEN_SECRET_BYTES_MIN = WIRE_TOKEN_BYTES_MIN,
	TOKEN_SECRET_BYTES_MAX = WIRE_TOKEN_BYTES_MAX
};

/* The token that both sides know. len 0: there is none. */
struct token_secret {
	uint8_t bytes[TOKEN_SECRET_BYTES_MAX];
	size_t len;
};

/*
 * The token is the file's text without white space at its end. ERR_STATE: everybody may read it;
 * ERR_FORMAT: it is too short to be a secret.
 */
struct err *token_secret_load(const char *path, struct token_secret *secret);

struct err *crypto_random(void *bytes, size_t len);

/*
 * What only somebody who knows the token can say after these two hellos. Each side has its own proof,
 * so that neither can be answered with its own words, and the nonces of both are in it, so that none
 * is good for a second time.
 */
struct err *crypto_prove(const struct token_secret *secret, enum wire_side side,
			 const struct wire_hello *greeting, const struct wire_hello *answer,
			 uint8_t proof[WIRE_PROOF_BYTES]);

/* In constant time. */
bool crypto_equal(const void *left, const void *right, size_t len);

/* SHA-256 of the file's bytes from begin to end; ERR_FORMAT: it has fewer. */
struct err *crypto_digest(int fd, uint64_t begin, uint64_t end, uint8_t digest[WIRE_DIGEST_BYTES]);

#endif
