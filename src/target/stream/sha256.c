#include "stream/sha256.h"

#include "core/poison.h"

static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2
};

static uint32_t rotate(uint32_t word, unsigned bits)
{
	return word >> bits | word << (32 - bits);
}

static void schedule(uint32_t words[64], const uint8_t *block)
{
	for (unsigned i = 0; i < 16; i++)
		words[i] = __builtin_bswap32(load_u32(block + i * 4));
	for (unsigned i = 16; i < 64; i++) {
		const uint32_t early = words[i - 15], late = words[i - 2];

		words[i] = words[i - 16] + (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) +
			   words[i - 7] + (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10);
	}
}

static void compress(uint32_t state[8], const uint8_t *block)
{
	uint32_t words[64], v[8];

	schedule(words, block);
	memcpy(v, state, sizeof(v));
	for (unsigned i = 0; i < 64; i++) {
		const uint32_t a = v[0], e = v[4];
		const uint32_t one = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
				     ((e & v[5]) ^ (~e & v[6])) + constants[i] + words[i];
		const uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
				     ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		for (unsigned k = 7; k > 0; k--)
			v[k] = v[k - 1];
		v[4] += one;
		v[0] = one + two;
	}
	for (unsigned i = 0; i < 8; i++)
		state[i] += v[i];
}

void sha256_init(struct sha256 *sha)
{
	*sha = (struct sha256) { .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len > 0) {
		const size_t begun = sha->bytes % SHA256_BLOCK_BYTES;
		const size_t part = (size_t)u64_min(len, SHA256_BLOCK_BYTES - begun);

		if (part == SHA256_BLOCK_BYTES) {
			compress(sha->state, at);
		} else {
			memcpy(sha->block + begun, at, part);
			if (begun + part == SHA256_BLOCK_BYTES)
				compress(sha->state, sha->block);
		}
		sha->bytes += part;
		at += part;
		len -= part;
	}
}

void sha256_get(const struct sha256 *sha, uint8_t digest[SHA256_BYTES])
{
	static const uint8_t padding[SHA256_BLOCK_BYTES] = { 0x80 };
	const uint64_t bits = __builtin_bswap64(sha->bytes * 8);
	struct sha256 last = *sha;

	sha256_add(&last, padding, 1 + (119 - sha->bytes % SHA256_BLOCK_BYTES) % 64);
	sha256_add(&last, &bits, sizeof(bits));
	CHECK(last.bytes % SHA256_BLOCK_BYTES == 0);
	for (unsigned i = 0; i < 8; i++)
		store_u32(digest + i * 4, __builtin_bswap32(last.state[i]));
}

void sha256_hmac(const void *key, size_t key_len, const void *const texts[3], const size_t lens[3],
		 uint8_t mac[SHA256_BYTES])
{
	uint8_t pad[SHA256_BLOCK_BYTES] = { 0 };
	struct sha256 sha;

	sha256_init(&sha);
	if (key_len > sizeof(pad)) {
		sha256_add(&sha, key, key_len);
		sha256_get(&sha, pad);
		sha256_init(&sha);
	} else {
		memcpy(pad, key, key_len);
	}
	for (unsigned i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36;
	sha256_add(&sha, pad, sizeof(pad));
	for (unsigned i = 0; i < 3; i++)
		sha256_add(&sha, texts[i], lens[i]);
	sha256_get(&sha, mac);
	for (unsigned i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36 ^ 0x5c;
	sha256_init(&sha);
	sha256_add(&sha, pad, sizeof(pad));
	sha256_add(&sha, mac, SHA256_BYTES);
	sha256_get(&sha, mac);
}

bool sha256_equal(const uint8_t left[SHA256_BYTES], const uint8_t right[SHA256_BYTES])
{
	uint8_t differences = 0;

	for (unsigned i = 0; i < SHA256_BYTES; i++)
		differences |= left[i] ^ right[i];
	return differences == 0;
}
