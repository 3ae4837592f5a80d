#include "../test.h"

#include <stdlib.h>
#include <string.h>

#include "capture/scan_image.h"

static uint64_t state = 88172645463325252u;

static uint64_t roll(uint64_t sides)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % sides;
}

/* Numbers of every length, small ones more often. */
static uint64_t any_number(void)
{
	return roll(UINT64_MAX) >> roll(64);
}

/* A node before this block, a holder or none: no chain can come back. */
static uint32_t any_node(size_t block, size_t block_count, size_t holder_count)
{
	const uint64_t node = roll(block + holder_count + 1);

	if (node == block + holder_count)
		return SCAN_NODE_NONE;
	return (uint32_t)(node < block ? node : block_count + node - block);
}

static void random_blocks(struct scan_image *image)
{
	uint64_t end = any_number() >> 4;

	for (size_t i = 0; i < image->block_count; i++) {
		struct scan_image_block *block = &image->blocks[i];

		*block = (struct scan_image_block) {
			.address = end + (any_number() >> 30),
			.size_bytes = roll(8) ? any_number() >> 30 : 0,
			.retained_bytes = any_number(),
			.offset = any_number(),
			.parent = any_node(i, image->block_count, image->holder_count),
			.dominator = any_node(i, image->block_count, image->holder_count),
			.class = (uint8_t)(1 + roll(TAPE_SCAN_CLASS_COUNT - 1)),
			.heuristic = (uint8_t)(roll(2) ? 1 << roll(4) : 0),
			.is_interior = roll(2),
		};
		if (roll(2))
			block->dominator = block->parent;
		end = block->address + (block->size_bytes ? block->size_bytes : 1);
	}
}

static void random_holders(struct scan_image *image)
{
	for (size_t i = 0; i < image->holder_count; i++) {
		const uint64_t begin = any_number() >> 1;

		image->holders[i] = (struct scan_image_holder) {
			.kind = (uint32_t)(1 + roll(TAPE_SCAN_MAPPING)),
			.tid = (uint32_t)any_number(),
			.begin = begin,
			.end = begin + (any_number() >> 1),
			.retained_bytes = any_number(),
			.name = (uint32_t)(image->texts_bytes ? roll(image->texts_bytes) : 0),
		};
	}
}

static void random_frames(struct scan_image *image)
{
	for (uint32_t i = 0; i < image->holder_count; i++) {
		const struct scan_image_holder *holder = &image->holders[i];
		uint64_t end = holder->begin;

		if (holder->kind != TAPE_SCAN_STACK)
			continue;
		for (uint64_t left = roll(4); left > 0 && holder->end - end > 1; left--) {
			struct scan_image_frame *frame = &image->frames[image->frame_count];

			frame->holder = i;
			frame->begin = end + roll(holder->end - end - 1);
			frame->end = frame->begin + 1 + roll(holder->end - frame->begin - 1);
			frame->pc = any_number();
			frame->depth = (uint32_t)any_number();
			end = frame->end;
			image->frame_count++;
		}
	}
}

static void random_image(struct scan_image *image)
{
	*image = (struct scan_image) {
		.facts = { any_number(), any_number(), any_number(), any_number(), any_number(),
			   (uint32_t)any_number(), (uint32_t)any_number(), (uint32_t)roll(16) },
		.block_count = roll(12),
		.holder_count = roll(4),
		.texts_bytes = roll(3) * 5,
	};
	image->blocks = calloc(image->block_count + 1, sizeof(*image->blocks));
	image->holders = calloc(image->holder_count + 1, sizeof(*image->holders));
	image->frames = calloc(4 * image->holder_count + 1, sizeof(*image->frames));
	image->texts = calloc(1, image->texts_bytes + 1);
	for (size_t i = 1; i + 1 < image->texts_bytes; i++)
		image->texts[i] = (char)('a' + roll(3));
	random_blocks(image);
	random_holders(image);
	random_frames(image);
	if (image->block_count == 0 && image->texts_bytes)
		image->facts.trouble = 1;
}

static void assert_equal_blocks(const struct scan_image_block *a, const struct scan_image_block *b)
{
	assert_int_equal(a->address, b->address);
	assert_int_equal(a->size_bytes, b->size_bytes);
	assert_int_equal(a->retained_bytes, b->retained_bytes);
	assert_int_equal(a->offset, b->offset);
	assert_int_equal(a->parent, b->parent);
	assert_int_equal(a->dominator, b->dominator);
	assert_int_equal(a->class, b->class);
	assert_int_equal(a->heuristic, b->heuristic);
	assert_int_equal(a->is_interior, b->is_interior);
}

static void assert_equal_images(const struct scan_image *a, const struct scan_image *b)
{
	assert_memory_equal(&a->facts, &b->facts, sizeof(a->facts));
	assert_int_equal(a->block_count, b->block_count);
	for (size_t i = 0; i < a->block_count; i++)
		assert_equal_blocks(&a->blocks[i], &b->blocks[i]);
	assert_int_equal(a->holder_count, b->holder_count);
	if (a->holder_count)
		assert_memory_equal(a->holders, b->holders, a->holder_count * sizeof(*a->holders));
	assert_int_equal(a->frame_count, b->frame_count);
	for (size_t i = 0; i < a->frame_count; i++) {
		assert_int_equal(a->frames[i].holder, b->frames[i].holder);
		assert_int_equal(a->frames[i].begin, b->frames[i].begin);
		assert_int_equal(a->frames[i].end, b->frames[i].end);
		assert_int_equal(a->frames[i].pc, b->frames[i].pc);
		assert_int_equal(a->frames[i].depth, b->frames[i].depth);
	}
	assert_int_equal(a->texts_bytes, b->texts_bytes);
	if (a->texts_bytes)
		assert_memory_equal(a->texts, b->texts, a->texts_bytes);
}

static void an_image_comes_back_as_it_was_written(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 3000; i++) {
		CLEAN(scan_image_deinit) struct scan_image image = { 0 }, back = { 0 };
		CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };

		random_image(&image);
		assert_true(vec_u8_push(&bytes, 7)); /* what is there stays */
		assert_true(scan_image_write(&image, &bytes));
		assert_int_equal(bytes.items[0], 7);
		assert_null(scan_image_read(bytes.items + 1, bytes.count - 1, &back));
		assert_equal_images(&image, &back);
	}
}

static void an_empty_image_is_valid(void **unused)
{
	const struct scan_image image = { 0 };
	struct scan_image back;
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };

	(void)unused;
	assert_true(scan_image_write(&image, &bytes));
	assert_null(scan_image_read(bytes.items, bytes.count, &back));
	assert_int_equal(back.block_count, 0);
	assert_null(back.blocks);
	scan_image_deinit(&back);
}

/* What every reader may rely on. */
static void assert_valid(const struct scan_image *image)
{
	for (size_t i = 0; i < image->block_count; i++) {
		const struct scan_image_block *block = &image->blocks[i];
		size_t steps = 0;

		assert_in_range(block->class, 1, TAPE_SCAN_CLASS_COUNT - 1);
		if (i > 0) {
			assert_true(block[-1].address < block->address);
			assert_true(block[-1].address + block[-1].size_bytes <= block->address);
		}
		for (uint32_t n = (uint32_t)i; n < image->block_count; n = image->blocks[n].parent)
			assert_true(steps++ <= image->block_count);
		steps = 0;
		for (uint32_t n = (uint32_t)i; n < image->block_count;
		     n = image->blocks[n].dominator)
			assert_true(steps++ <= image->block_count);
		assert_true(block->parent == SCAN_NODE_NONE ||
			    block->parent < image->block_count + image->holder_count);
		assert_true(block->dominator == SCAN_NODE_NONE ||
			    block->dominator < image->block_count + image->holder_count);
	}
	for (size_t i = 0; i < image->holder_count; i++) {
		assert_true(image->holders[i].begin <= image->holders[i].end);
		assert_in_range(image->holders[i].kind, TAPE_SCAN_GLOBAL, TAPE_SCAN_MAPPING);
		assert_true(image->holders[i].name == 0 ||
			    image->holders[i].name < image->texts_bytes);
	}
	for (size_t i = 0; i < image->frame_count; i++) {
		const struct scan_image_frame *frame = &image->frames[i];

		assert_true(frame->holder < image->holder_count);
		assert_int_equal(image->holders[frame->holder].kind, TAPE_SCAN_STACK);
		assert_true(frame->begin >= image->holders[frame->holder].begin);
		assert_true(frame->begin < frame->end);
		assert_true(frame->end <= image->holders[frame->holder].end);
		assert_true(i == 0 || frame[-1].holder < frame->holder ||
			    frame[-1].end <= frame->begin);
	}
}

/* Reads from memory of exactly this size, so that a sanitizer sees a step too far. */
static bool reads_soundly(const uint8_t *bytes, size_t size)
{
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	CLEAN(free) uint8_t *copy = malloc(size + !size);
	struct err *err;

	memcpy(copy, bytes, size);
	err = scan_image_read(copy, size, &image);
	if (!err) {
		assert_valid(&image);
		return true;
	}
	assert_null(image.blocks);
	err_destroy(err);
	return false;
}

static void a_truncated_image_is_an_error(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 200; i++) {
		CLEAN(scan_image_deinit) struct scan_image image = { 0 };
		CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };

		random_image(&image);
		assert_true(scan_image_write(&image, &bytes));
		for (size_t size = 0; size < bytes.count; size++)
			assert_false(reads_soundly(bytes.items, size));
		assert_true(vec_u8_push(&bytes, 0));
		assert_false(reads_soundly(bytes.items, bytes.count));
	}
}

static void a_changed_byte_gives_an_error_or_a_valid_image(void **unused)
{
	size_t errors = 0;

	(void)unused;
	for (unsigned i = 0; i < 20; i++) {
		CLEAN(scan_image_deinit) struct scan_image image = { 0 };
		CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };

		random_image(&image);
		assert_true(scan_image_write(&image, &bytes));
		for (size_t at = 0; at < bytes.count; at++)
			for (unsigned change = 1; change < 256; change++) {
				bytes.items[at] ^= (uint8_t)change;
				errors += !reads_soundly(bytes.items, bytes.count);
				bytes.items[at] ^= (uint8_t)change;
			}
	}
	assert_true(errors > 0);
}

static void assert_refused(const struct scan_image *image)
{
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };

	assert_true(scan_image_write(image, &bytes));
	assert_false(reads_soundly(bytes.items, bytes.count));
}

/* One sound image, and what is wrong with each change of it. */
static void what_does_not_fit_is_refused(void **unused)
{
	struct scan_image_block blocks[2] = {
		{ .address = 16, .size_bytes = 8, .parent = 2, .dominator = 2, .class = 1 },
		{ .address = 32, .size_bytes = 0, .parent = 0, .dominator = 0, .class = 2 },
	};
	struct scan_image_holder holder = { .kind = TAPE_SCAN_STACK, .begin = 1, .end = 9 };
	char texts[] = "\0main";
	struct scan_image_frame frame = { .begin = 2, .end = 4, .pc = 7 };
	struct scan_image image = {
		.blocks = blocks,
		.block_count = 2,
		.holders = &holder,
		.holder_count = 1,
		.frames = &frame,
		.frame_count = 1,
		.texts = texts,
		.texts_bytes = sizeof(texts),
	};
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };

	(void)unused;
	assert_true(scan_image_write(&image, &bytes));
	assert_true(reads_soundly(bytes.items, bytes.count));
#define REFUSES(lvalue, value)                                                                     \
	do {                                                                                       \
		const __typeof__(lvalue) was = (lvalue);                                           \
		(lvalue) = (value);                                                                \
		assert_refused(&image);                                                            \
		(lvalue) = was;                                                                    \
	} while (0)
	REFUSES(blocks[0].parent, 1); /* a circle */
	REFUSES(blocks[0].parent, 0);
	REFUSES(blocks[0].dominator, 1);
	REFUSES(blocks[0].parent, 3); /* no such node */
	REFUSES(blocks[1].dominator, 3);
	REFUSES(blocks[0].class, TAPE_SCAN_UNKNOWN);
	REFUSES(blocks[1].size_bytes, UINT64_MAX - 31);
	REFUSES(holder.kind, 0);
	REFUSES(holder.kind, 6);
	REFUSES(holder.name, sizeof(texts));
	REFUSES(holder.end, 0);
	REFUSES(holder.kind, TAPE_SCAN_TLS); /* with a frame */
	REFUSES(frame.end, 2);
	REFUSES(frame.end, 10);
	REFUSES(frame.begin, 4);
	REFUSES(texts[0], 'x');
	REFUSES(texts[sizeof(texts) - 1], 'x');
	REFUSES(image.facts.trouble, 1); /* and yet it has blocks */
	REFUSES(image.facts.heuristics, 16);
	bytes.items[0] = 4;
	assert_false(reads_soundly(bytes.items, bytes.count));
}

/* The first version: without frames. */
static void an_older_image_is_read(void **unused)
{
	struct scan_image_holder holder = { .kind = TAPE_SCAN_STACK, .begin = 1, .end = 9 };
	struct scan_image image = { .holders = &holder, .holder_count = 1 };
	enum { HOLDER_BYTES = 6, HEAD_BYTES = 1 + 9 + 1 + 1 + HOLDER_BYTES };
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };

	(void)unused;
	assert_true(scan_image_write(&image, &bytes));
	assert_int_equal(bytes.count, HEAD_BYTES + 2); /* no frames, no blocks */
	bytes.items[0] = 1;
	assert_true(reads_soundly(bytes.items, bytes.count - 1));
	assert_false(reads_soundly(bytes.items, bytes.count));
}

static void a_number_has_64_bits(void **unused)
{
	uint8_t bytes[1 + 10 + 8 + 3] = { 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 };

	(void)unused;
	assert_true(reads_soundly(bytes, sizeof(bytes)));
	bytes[10] = 2;
	assert_false(reads_soundly(bytes, sizeof(bytes)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_comes_back_as_it_was_written),
		cmocka_unit_test(an_empty_image_is_valid),
		cmocka_unit_test(an_older_image_is_read),
		cmocka_unit_test(a_truncated_image_is_an_error),
		cmocka_unit_test(a_changed_byte_gives_an_error_or_a_valid_image),
		cmocka_unit_test(a_number_has_64_bits),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests_name("scan_image", tests, NULL, NULL);
}
