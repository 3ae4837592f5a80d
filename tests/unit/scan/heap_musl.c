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

/* Slots 1 and 4 are free, 5 was never used; nor was what is known of another group. */
static void slots_in_use_are_blocks_with_the_sizes_asked_for(void **state)
{
	struct heap_image *image = *state;
	const struct musl_group group = { GROUP, 1 << 1, 1 << 4 | 1 << 5, 5, 2, 0 };
	uint64_t moved;
	struct heap *heap;

	put_musl(image, 2);
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
	const struct musl_group outer = { GROUP, 0, 1 << 1, 1, 8, 0 }; /* of 144 bytes */
	const struct musl_group inner = { GROUP + 16, 0, 0, 1, 2, 0 };

	put_musl(image, 2);
	put_group(image, 0, &outer);
	put_block(image, GROUP, 144, 0, 0, 140);
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
	assert_int_equal(image->heap.undecoded_count, 0);
	put_byte(image, GROUP + 16 - 3, 0); /* and now it is one: the others are in it */
	walk(image);
	assert_int_equal(image->heap.blocks.count, 1);
	assert_block(&image->heap, 0, GROUP + 16, 140);
	assert_int_equal(image->heap.broken_lists, 2);
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
		size_t blocks;	/* which stay */
		bool is_broken; /* else not decoded */
	} wrongs[] = {
		{ MUSL_CONTEXT + (58 + 2) * 8, 5, 2, true },	    /* malloc counts others */
		{ MUSL_AREA + 8, MUSL_AREA + 8, 2, true },	    /* the next area is none */
		{ MUSL_AREA + 8, MUSL_AREA, 2, true },		    /* it is the same one */
		{ MUSL_METAS + 16, GROUP + 8, 0, true },	    /* no group there */
		{ GROUP, MUSL_METAS + 8, 0, true },		    /* it is another's */
		{ MUSL_METAS + 32, 2 << 6 | 1 << 5, 1, true },	    /* it has one slot */
		{ MUSL_METAS + 32, 1 | 1 << 5 | 50 << 6, 0, true }, /* no such class */
		{ MUSL_METAS + 32, 63 << 6 | UINT64_C(1) << 40, 0, true }, /* it ends nowhere */
		{ MUSL_METAS + 32, UINT64_MAX << 12 | 63 << 6, 0, true },  /* or before it begins */
		{ MUSL_METAS + 32, 1 | 2 << 6, 2, true },	/* malloc does not count it */
		{ MUSL_AREA + 8, MUSL_AREA + 0x1000, 2, true }, /* the next area has no secret */
		{ MUSL_AREA + 16, UINT32_MAX, 0, true },	/* fewer groups than none */
		{ MUSL_AREA + 16, 102, 0, true },		/* more than an area has room for */
		{ GROUP + 8, UINT64_C(0x0001010000000000) << 8, 1, false }, /* another slot's */
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
		assert_int_equal(heap->blocks.count, wrongs[i].blocks);
		assert_int_equal(heap->broken_lists > 0, wrongs[i].is_broken);
		assert_int_equal(heap->undecoded_count > 0, !wrongs[i].is_broken);
	}
}

/* Of two slots: the words before the first, in it, and before the second one. */
static void a_slot_says_itself_what_is_in_it(void **state)
{
	static const struct {
		uint64_t words[3];
		size_t blocks, undecoded;
		uint64_t sizes[2];
	} rows[] = {
		{ { 0, 0, 0x0003210000000000 }, 2, 0, { 44, 43 } },
		{ { 0, 0, 0x0000210100000003 }, 2, 0, { 44, 43 } }, /* as one far away has it */
		{ { 0, 0, 0x0003210100000003 }, 1, 1, { 44 } },	    /* both ways */
		{ { UINT64_C(1) << 40, 0, 0x0003210000000000 }, 1, 1, { 43 } }, /* it is slot 1 */
		/* So many bytes were not asked for. */
		{ { UINT64_C(5) << 45, 0, 0x000321000000001e }, 2, 0, { 14, 43 } },
		{ { UINT64_C(5) << 45, 0, 0x0003210000000004 }, 1, 1, { 43 } },
		{ { UINT64_C(5) << 45, 0, 0x000321000000002d }, 1, 1, { 43 } },
		/* The block begins later, by so many units. */
		{ { 0x0001e00000000000, 0x0001000000000000, 0x0003210000000000 },
		  2,
		  0,
		  { 28, 43 } },
		{ { 0x0001e00000000000, 0x0001e00000000000, 0x0003210000000000 }, 1, 1, { 43 } },
		{ { 0x0003e00000000000, 0, 0x0003000000000000 }, 0, 2, { 0 } },
	};
	struct heap_image *image = *state;
	const struct musl_group group = { GROUP, 0, 0, 1, 2, 0 };

	put_musl(image, 1);
	put_group(image, 0, &group);
	put_used(image, 2, 2);
	for (size_t i = 0; i < array_size(rows); i++) {
		const struct heap *heap;

		put(image, GROUP + 8, rows[i].words[0]);
		put(image, GROUP + 24, rows[i].words[1]);
		put(image, GROUP + 56, rows[i].words[2]);
		heap = walk(image);
		assert_int_equal(heap->blocks.count, rows[i].blocks);
		assert_int_equal(heap->undecoded_count, rows[i].undecoded);
		for (size_t k = 0; k < rows[i].blocks; k++)
			assert_int_equal(heap->blocks.items[k].usable_bytes, rows[i].sizes[k]);
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
		cmocka_unit_test_setup_teardown(a_slot_says_itself_what_is_in_it, image_setup,
						image_teardown),
		cmocka_unit_test_setup_teardown(what_does_not_fit_is_counted_and_not_believed,
						image_setup, image_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
