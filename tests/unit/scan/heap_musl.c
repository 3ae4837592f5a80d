#include "../test.h"

#include "musl_image.h"

enum { GROUP = MAPPED, STRIDE = 48 /* of class 2 */ };

static struct heap *walk(struct heap_image *image)
{
	heap_deinit(&image->heap);
	image->heap = (struct heap) { 0 };
	assert_null(heap_musl_walk(&image->request, &image->heap));
	return &image->heap;
}

static void assert_block(const struct heap *heap, size_t index, uint64_t address, uint64_t bytes)
{
	assert_true(index < heap->blocks.count);
	assert_int_equal(heap->blocks.items[index].address, address);
	assert_int_equal(heap->blocks.items[index].usable_bytes, bytes);
}

static void a_heap_of_glibc_is_none_of_musl(void **state)
{
	struct heap_image *image = *state;
	struct err *err = heap_musl_walk(&image->request, &image->heap);

	assert_int_equal(err_code_of(err), ERR_NOT_FOUND);
	err_destroy(err);
	put_musl(image, 0);
	put(image, MUSL_AREA, musl_secret + 1); /* the secret is another one */
	err = heap_musl_walk(&image->request, &image->heap);
	assert_int_equal(err_code_of(err), ERR_NOT_FOUND);
	err_destroy(err);
}

/* Slots 1 and 4 are free, 5 was never used. */
static void slots_in_use_are_blocks_with_the_sizes_asked_for(void **state)
{
	struct heap_image *image = *state;
	const struct musl_group group = { GROUP, 1 << 1, 1 << 4 | 1 << 5, 5, 2, 0 };
	uint64_t moved;
	struct heap *heap;

	put_musl(image, 1);
	put_group(image, 0, &group);
	put_used(image, 2, 6);
	put_block(image, GROUP, STRIDE, 0, 0, 44);
	put_block(image, GROUP, STRIDE, 2, 0, 3);
	moved = put_block(image, GROUP, STRIDE, 3, 1, 24);
	heap = walk(image);
	assert_int_equal(heap->blocks.count, 3);
	assert_block(heap, 0, GROUP + 16, 44);
	assert_block(heap, 1, GROUP + 16 + 2 * STRIDE, 3);
	assert_block(heap, 2, moved, 24);
	assert_int_equal(heap->broken_lists, 0);
	assert_int_equal(heap->undecoded_count, 0);
}

static void a_slot_that_is_a_group_is_no_block_and_its_slots_are(void **state)
{
	struct heap_image *image = *state;
	const struct musl_group outer = { GROUP, 0, 1 << 1, 1, 8, 0 }; /* of 160 bytes */
	const struct musl_group inner = { GROUP + 16, 0, 0, 1, 2, 0 };

	put_musl(image, 2);
	put_group(image, 0, &outer);
	put_block(image, GROUP, 160, 0, 0, 156);
	put_byte(image, GROUP + 16 - 3, 6 << 5);
	put_group(image, 1, &inner);
	put_used(image, 8, 2);
	put_used(image, 2, 2);
	put_block(image, GROUP + 16, STRIDE, 0, 0, 40);
	put_block(image, GROUP + 16, STRIDE, 1, 0, 41);
	walk(image);
	assert_int_equal(image->heap.blocks.count, 2);
	assert_block(&image->heap, 0, GROUP + 32, 40);
	assert_block(&image->heap, 1, GROUP + 32 + STRIDE, 41);
	assert_int_equal(image->heap.broken_lists, 0);
}

static void a_large_block_has_a_mapping_of_its_own(void **state)
{
	struct heap_image *image = *state;
	const struct musl_group group = { GROUP, 0, 0, 0, 63, 0x20 };

	put_musl(image, 1);
	put_group(image, 0, &group);
	put_block(image, GROUP, 0x20000 - 16, 0, 0, 131000);
	walk(image);
	assert_int_equal(image->heap.blocks.count, 1);
	assert_block(&image->heap, 0, GROUP + 16, 131000);
	assert_true(image->heap.blocks.items[0].is_mapped);
}

/* What is wrong, and how it is counted. */
static void what_does_not_fit_is_counted_and_not_believed(void **state)
{
	static const struct {
		uint64_t address, word;
		bool is_broken; /* else not decoded */
	} wrongs[] = {
		{ MUSL_CONTEXT + (58 + 2) * 8, 5, true },		 /* malloc counts others */
		{ MUSL_AREA + 8, MUSL_AREA + 8, true },			 /* the next area is none */
		{ MUSL_AREA + 8, MUSL_AREA, true },			 /* it is the same one */
		{ MUSL_METAS + 16, GROUP + 8, true },			 /* no group there */
		{ GROUP, MUSL_METAS + 8, true },			 /* it is another's */
		{ MUSL_METAS + 32, 2 << 6 | 1 << 5, true },		 /* it has one slot */
		{ MUSL_METAS + 32, 1 | 1 << 5 | 50 << 6, true },	 /* no such class */
		{ GROUP + 8, UINT64_C(0x0001010000000000) << 8, false }, /* another slot's */
	};

	for (size_t i = 0; i < array_size(wrongs); i++) {
		struct heap_image *image = *state;
		const struct musl_group group = { GROUP, 0, 0, 1, 2, 0 };
		struct heap *heap;

		put_musl(image, 1);
		put_group(image, 0, &group);
		put_used(image, 2, 2);
		put_block(image, GROUP, STRIDE, 0, 0, 44);
		put_block(image, GROUP, STRIDE, 1, 0, 43);
		assert_int_equal(walk(image)->blocks.count, 2);
		put(image, wrongs[i].address, wrongs[i].word);
		heap = walk(image);
		assert_int_equal(heap->broken_lists > 0, wrongs[i].is_broken);
		assert_int_equal(heap->undecoded_count > 0, !wrongs[i].is_broken);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_heap_of_glibc_is_none_of_musl, image_setup,
						image_teardown),
		cmocka_unit_test_setup_teardown(slots_in_use_are_blocks_with_the_sizes_asked_for,
						image_setup, image_teardown),
		cmocka_unit_test_setup_teardown(
			a_slot_that_is_a_group_is_no_block_and_its_slots_are, image_setup,
			image_teardown),
		cmocka_unit_test_setup_teardown(a_large_block_has_a_mapping_of_its_own, image_setup,
						image_teardown),
		cmocka_unit_test_setup_teardown(what_does_not_fit_is_counted_and_not_believed,
						image_setup, image_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
