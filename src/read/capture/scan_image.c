/*
 * The bytes of a scan image: numbers in seven-bit groups, low ones first, as in docs/tape-format.md.
 *
 *	version | facts | texts | holders | frames | blocks
 *
 * Version 1 has no frames, version 2 none of their depths.
 * Blocks are most of it, some fourteen bytes each. A block's address is the distance from the end
 * of the block before, a node the distance from the block's own number, for what points to a block
 * was often allocated beside it.
 */
#include "capture/scan_image_format.h"

#include <assert.h>

#include "base/str.h"

void scan_image_deinit(struct scan_image *image)
{
	free(image->blocks);
	free(image->holders);
	free(image->frames);
	free(image->texts);
	*image = (struct scan_image) { 0 };
}

/* Writing: who puts a number has made room for it. */

static void put(struct vec_u8 *out, uint64_t number)
{
	assert(out->capacity - out->count >= NUMBER_BYTES_MAX);
	for (; number > 127; number >>= 7)
		out->items[out->count++] = (uint8_t)(number | 128);
	out->items[out->count++] = (uint8_t)number;
}

static bool room_for(struct vec_u8 *out, size_t bytes)
{
	size_t wanted;

	return !size_add_overflows(out->count, bytes, &wanted) && vec_u8_reserve(out, wanted);
}

/* 0: none; else the signed distance from a number, its sign in bit 0, plus 1. */
static uint64_t node_fold(uint32_t node, uint32_t from)
{
	const int64_t distance = (int64_t)node - from;

	if (node == SCAN_NODE_NONE)
		return 0;
	return 1 + ((uint64_t)distance << 1 ^ (uint64_t)(distance >> 63));
}

static bool write_facts(const struct scan_image_facts *facts, struct vec_u8 *out)
{
	const uint64_t numbers[] = { facts->pause_ns,	    facts->scan_ns,
				     facts->root_bytes,	    facts->block_bytes,
				     facts->unread_bytes,   facts->thread_count,
				     facts->missed_threads, facts->heuristics,
				     facts->trouble };

	if (!room_for(out, array_size(numbers) * NUMBER_BYTES_MAX))
		return false;
	for (size_t i = 0; i < array_size(numbers); i++)
		put(out, numbers[i]);
	return true;
}

static bool write_texts(const struct scan_image *image, struct vec_u8 *out)
{
	if (!room_for(out, NUMBER_BYTES_MAX) ||
	    !room_for(out, NUMBER_BYTES_MAX + image->texts_bytes))
		return false;
	put(out, image->texts_bytes);
	if (image->texts_bytes > 0)
		memcpy(out->items + out->count, image->texts, image->texts_bytes);
	out->count += image->texts_bytes;
	return true;
}

static bool write_holders(const struct scan_image *image, struct vec_u8 *out)
{
	if (!room_for(out, NUMBER_BYTES_MAX))
		return false;
	put(out, image->holder_count);
	for (size_t i = 0; i < image->holder_count; i++) {
		const struct scan_image_holder *holder = &image->holders[i];

		if (!room_for(out, HOLDER_BYTES_MIN * NUMBER_BYTES_MAX))
			return false;
		put(out, holder->kind);
		put(out, holder->tid);
		put(out, holder->begin);
		put(out, holder->end - holder->begin);
		put(out, holder->retained_bytes);
		put(out, holder->name);
	}
	return true;
}

/* A frame's beginning is the distance from the end of the one before, or from its holder's. */
static bool write_frames(const struct scan_image *image, struct vec_u8 *out)
{
	uint32_t holder = 0;
	uint64_t end = image->holder_count ? image->holders[0].begin : 0;

	if (!room_for(out, NUMBER_BYTES_MAX))
		return false;
	put(out, image->frame_count);
	for (size_t i = 0; i < image->frame_count; i++) {
		const struct scan_image_frame *frame = &image->frames[i];

		if (!room_for(out, FRAME_NUMBERS * NUMBER_BYTES_MAX))
			return false;
		assert(frame->holder >= holder && frame->holder < image->holder_count);
		if (frame->holder > holder)
			end = image->holders[frame->holder].begin;
		assert(frame->begin >= end);
		put(out, frame->holder - holder);
		put(out, frame->begin - end);
		put(out, frame->end - frame->begin);
		put(out, frame->pc);
		put(out, frame->depth);
		holder = frame->holder;
		end = frame->end;
	}
	return true;
}

static void put_block(const struct scan_image_block *block, uint64_t end, uint32_t node,
		      struct vec_u8 *out)
{
	const unsigned heuristic = block->heuristic ? 1 + __builtin_ctz(block->heuristic) : 0;
	const bool parent_dominates = block->parent == block->dominator;

	assert(block->address >= end);
	assert(block->class < TAPE_SCAN_CLASS_COUNT);
	assert((block->heuristic & (block->heuristic - 1)) == 0);
	assert(block->heuristic <= TAPE_SCAN_HEURISTICS);
	out->items[out->count++] = (uint8_t)(block->class | heuristic << HEURISTIC_SHIFT |
					     block->is_interior * INTERIOR_BIT |
					     parent_dominates * PARENT_DOMINATES_BIT);
	put(out, block->address - end);
	put(out, block->size_bytes);
	put(out, block->retained_bytes - block->size_bytes);
	put(out, block->offset);
	put(out, node_fold(block->parent, node));
	if (!parent_dominates)
		put(out, node_fold(block->dominator, node));
}

static bool write_blocks(const struct scan_image *image, struct vec_u8 *out)
{
	uint64_t end = 0;

	if (!room_for(out, NUMBER_BYTES_MAX))
		return false;
	put(out, image->block_count);
	for (size_t i = 0; i < image->block_count; i++) {
		if (!room_for(out, BLOCK_BYTES_MAX))
			return false;
		put_block(&image->blocks[i], end, (uint32_t)i, out);
		end = scan_image_block_end(&image->blocks[i]);
	}
	return true;
}

bool scan_image_write(const struct scan_image *image, struct vec_u8 *out)
{
	assert(image);
	assert(out);
	if (!room_for(out, NUMBER_BYTES_MAX))
		return false;
	put(out, VERSION);
	return write_facts(&image->facts, out) && write_texts(image, out) &&
	       write_holders(image, out) && write_frames(image, out) && write_blocks(image, out);
}

bool scan_image_write_trouble(const char *why, uint64_t pause_ns, struct vec_u8 *out)
{
	CLEAN(str_deinit) struct str text = { 0 };
	struct scan_image image = { .facts = { .trouble = 1, .pause_ns = pause_ns } };

	str_add_char(&text, '\0');
	str_add(&text, why);
	str_add_char(&text, '\0');
	if (text.failed)
		return false;
	image.texts = text.ptr; /* borrowed */
	image.texts_bytes = text.len;
	return scan_image_write(&image, out);
}
