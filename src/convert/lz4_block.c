#include "convert/lz4_block.h"

enum { LENGTH_MORE = 15, MATCH_MIN = 4 };

struct block {
	const uint8_t *at;
	const uint8_t *end;
	struct vec_u8 *out;
	size_t begin; /* of the block in out */
	size_t max;   /* its bytes */
};

/* 15 is gone on with bytes until one is not 255. */
static bool length_read(struct block *block, size_t *length)
{
	uint8_t byte = 255;

	if (*length != LENGTH_MORE)
		return true;
	while (byte == 255) {
		if (block->at == block->end || *length > block->max)
			return false;
		byte = *block->at++;
		*length += byte;
	}
	return true;
}

static enum lz4_result room_for(const struct block *block, size_t length)
{
	if (length > block->max - (block->out->count - block->begin))
		return LZ4_DAMAGED;
	return vec_u8_reserve(block->out, block->out->count + length) ? LZ4_DONE : LZ4_NO_MEMORY;
}

static enum lz4_result literals_copy(struct block *block, size_t length)
{
	enum lz4_result result;

	if (!length_read(block, &length) || length > (size_t)(block->end - block->at))
		return LZ4_DAMAGED;
	result = room_for(block, length);
	if (result != LZ4_DONE || length == 0)
		return result;
	memcpy(block->out->items + block->out->count, block->at, length);
	block->out->count += length;
	block->at += length;
	return LZ4_DONE;
}

/* Byte by byte: a copy may reach into what it makes. */
static enum lz4_result match_copy(struct block *block, size_t length)
{
	enum lz4_result result;
	const uint8_t *from;
	uint8_t *to;
	size_t back;

	if (block->end - block->at < 2)
		return LZ4_DAMAGED;
	back = load_u16(block->at);
	block->at += 2;
	if (!length_read(block, &length) || back == 0 || back > block->out->count - block->begin)
		return LZ4_DAMAGED;
	length += MATCH_MIN;
	result = room_for(block, length);
	if (result != LZ4_DONE)
		return result;
	to = block->out->items + block->out->count;
	from = to - back;
	for (size_t i = 0; i < length; i++)
		to[i] = from[i];
	block->out->count += length;
	return LZ4_DONE;
}

enum lz4_result lz4_block_decode(const uint8_t *in, size_t count, size_t max, struct vec_u8 *out)
{
	struct block block = { in, in + count, out, out->count, max };
	enum lz4_result result = LZ4_DONE;

	while (block.at < block.end && result == LZ4_DONE) {
		const uint8_t token = *block.at++;

		result = literals_copy(&block, token >> 4);
		if (result == LZ4_DONE && block.at < block.end)
			result = match_copy(&block, token & 15);
	}
	return result;
}
