#include "core/hash.h"

#include "core/poison.h"

enum { LANES = 4, ROTATE = 31 };

static const uint64_t PRIME_1 = UINT64_C(0x9e3779b185ebca87);
static const uint64_t PRIME_2 = UINT64_C(0xc2b2ae3d27d4eb4f);

static uint64_t lane_add(uint64_t lane, uint64_t word)
{
	lane += word * PRIME_2;
	lane = lane << ROTATE | lane >> (64 - ROTATE);
	return lane * PRIME_1;
}

uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
	const unsigned char *ptr = bytes;
	uint64_t lane[LANES] = { seed + PRIME_1, seed + PRIME_2, seed, seed - PRIME_1 };
	uint64_t sum = len;
	size_t rest = len;

	CHECK(bytes || len == 0);
	for (; rest >= 8 * LANES; ptr += 8 * LANES, rest -= 8 * LANES)
		for (int i = 0; i < LANES; i++)
			lane[i] = lane_add(lane[i], load_u64(ptr + 8 * i));
	for (; rest >= 8; ptr += 8, rest -= 8)
		lane[0] = lane_add(lane[0], load_u64(ptr));
	for (; rest > 0; ptr++, rest--)
		lane[1] = lane_add(lane[1], *ptr + 1);
	for (int i = 0; i < LANES; i++)
		sum = hash_mix(sum ^ lane[i]);
	return sum;
}
