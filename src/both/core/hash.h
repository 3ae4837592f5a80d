/*
 * Hashes: one mixer for tables, one checksum for chunks. Not cryptographic.
 */
#ifndef MEMTAPE_CORE_HASH_H
#define MEMTAPE_CORE_HASH_H

#include "core/core.h"

/* A bijection of 64 bits (the finalizer of MurmurHash3, Appleby, public domain). */
static inline uint64_t hash_mix(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	x ^= x >> 33;
	return x;
}

/*
 * Checksum of len bytes, continuing from seed (0 to begin). Four independent 8-byte multiply-rotate
 * lanes, so it runs at memory speed without vector instructions. Part of the tape format: its value
 * must never change (docs/tape-format.md).
 */
uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed);

#endif
