#include "convert/lz4_block.h"

#include <lz4.h>

/* A byte of a block stands for no more than so many; pages that are not filled cost nothing. */
enum { RATIO_MAX = 255 };

static enum lz4_result keep(struct vec_u8 *out, int count)
{
	if (count < 0)
		return LZ4_DAMAGED;
	out->count += (size_t)count;
	return LZ4_DONE;
}

enum lz4_result lz4_block_decode(const uint8_t *in, size_t count, size_t max, struct vec_u8 *out)
{
	const size_t room = u64_min(max, count * RATIO_MAX);

	if (room == 0)
		return LZ4_DONE;
	if (!vec_u8_reserve(out, out->count + room))
		return LZ4_NO_MEMORY;
	return keep(out, LZ4_decompress_safe((const char *)in, (char *)out->items + out->count,
					     (int)count, (int)room));
}

enum lz4_result lz4_block_begin(const uint8_t *in, size_t count, size_t max, struct vec_u8 *out)
{
	if (!vec_u8_reserve(out, out->count + max))
		return LZ4_NO_MEMORY;
	return keep(out,
		    LZ4_decompress_safe_partial((const char *)in, (char *)out->items + out->count,
						(int)count, (int)max, (int)max));
}
