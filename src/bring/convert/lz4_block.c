#include "convert/lz4_block.h"

#include <assert.h>

enum {
	LENGTH_MORE = 15, /* the length continues in bytes while they are LENGTH_FULL */
	LENGTH_FULL = 255,
	COPY_MIN = 4
};

enum step { STEP_DONE, STEP_END, STEP_CUT, STEP_DAMAGED };

struct block {
	const uint8_t *in;
	const uint8_t *end;
	uint8_t *out; /* NULL: only computes the size */
	size_t at;    /* bytes of out filled so far */
	size_t room;
};

/* False: the block ends inside the number. */
static bool length_read(struct block *block, size_t *length)
{
	uint8_t more = LENGTH_FULL;

	if (*length < LENGTH_MORE)
		return true;
	while (more == LENGTH_FULL) {
		if (block->in == block->end)
			return false;
		more = *block->in++;
		*length += more; /* at most 255 for each byte of a block */
	}
	return true;
}

static enum step literals_take(struct block *block, size_t length)
{
	const size_t here = u64_min(length, (size_t)(block->end - block->in));
	const size_t taken = u64_min(here, block->room - block->at);

	if (block->out)
		memcpy(block->out + block->at, block->in, taken);
	block->in += taken;
	block->at += taken;
	return taken == length ? STEP_DONE : STEP_CUT;
}

/* Byte by byte if the copy overlaps itself: then it repeats its beginning. */
static enum step copy_take(struct block *block, size_t offset, size_t length)
{
	const size_t taken = u64_min(length, block->room - block->at);

	if (offset == 0 || offset > block->at)
		return STEP_DAMAGED;
	if (block->out) {
		uint8_t *to = block->out + block->at;
		const uint8_t *from = to - offset;

		for (size_t i = 0; i < taken; i++)
			to[i] = from[i];
	}
	block->at += taken;
	return taken == length ? STEP_DONE : STEP_CUT;
}

/* Literals, then a copy of earlier output; a block may end between the two. */
static enum step sequence_take(struct block *block)
{
	const uint8_t token = *block->in++;
	size_t literals = token >> 4, copied = token & 15, offset;
	enum step step;

	if (!length_read(block, &literals))
		return STEP_CUT;
	step = literals_take(block, literals);
	if (step != STEP_DONE)
		return step;
	if (block->in == block->end)
		return STEP_END;
	if (block->end - block->in < 2)
		return STEP_CUT;
	offset = (size_t)block->in[0] | (size_t)block->in[1] << 8;
	block->in += 2;
	if (!length_read(block, &copied))
		return STEP_CUT;
	return copy_take(block, offset, copied + COPY_MIN);
}

/* How it ended. STEP_END: complete, STEP_CUT: truncated, or out of room. */
static enum step block_read(const uint8_t *in, size_t count, uint8_t *out, size_t room,
			    size_t *got_ret)
{
	struct block block = { .in = in, .end = in + count, .out = out, .room = room };
	enum step step = STEP_DONE;

	while (step == STEP_DONE && block.in < block.end)
		step = sequence_take(&block);
	*got_ret = block.at;
	return step == STEP_DONE ? STEP_END : step;
}

/* In two passes: a block does not store its decoded size, which can be 255 times its own. */
static enum lz4_result decode(const uint8_t *in, size_t count, size_t max, bool is_part,
			      struct vec_u8 *out)
{
	size_t bytes, got;
	const enum step end = block_read(in, count, NULL, max, &bytes);

	if (end != STEP_END && !(is_part && end == STEP_CUT))
		return LZ4_DAMAGED;
	if (bytes == 0)
		return LZ4_DONE;
	if (!vec_u8_reserve(out, out->count + bytes))
		return LZ4_NO_MEMORY;
	block_read(in, count, out->items + out->count, bytes, &got);
	assert(got == bytes);
	out->count += bytes;
	return LZ4_DONE;
}

enum lz4_result lz4_block_decode(const uint8_t *in, size_t count, size_t max, struct vec_u8 *out)
{
	assert(in || count == 0);
	return decode(in, count, max, false, out);
}

enum lz4_result lz4_block_begin(const uint8_t *in, size_t count, size_t max, struct vec_u8 *out)
{
	assert(in || count == 0);
	return decode(in, count, max, true, out);
}
