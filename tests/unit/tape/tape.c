#include "../test.h"

#include "tape/codec.h"
#include "tape/tape.h"

static void every_function_has_a_name_and_a_class(void **state)
{
	(void)state;
	for (unsigned fn = 0; fn < TAPE_FN_COUNT; fn++) {
		assert_non_null(tape_fn_name((enum tape_fn)fn));
		assert_true(tape_fn_class((enum tape_fn)fn) < TAPE_CLASS_EXTENDED);
	}
}

static void masks_of_functions_are_those_of_the_table(void **state)
{
	enum { PLAIN, ALIGNED };
	static const unsigned alignments[TAPE_FN_COUNT] = {
#define TAPE_FUNCTION(name, number, word, class, alignment) [number] = alignment,
#include "tape/functions.def"
#undef TAPE_FUNCTION
	};

	(void)state;
	for (unsigned fn = 0; fn < TAPE_FN_COUNT; fn++) {
		const enum tape_event_class class = tape_fn_class((enum tape_fn)fn);

		assert_int_equal(tape_fn_aligned(fn), alignments[fn]);
		assert_int_equal(tape_fn_sizeless(fn),
				 class == TAPE_CLASS_FREE || class == TAPE_CLASS_REALLOC_OUT);
	}
	for (unsigned fn = TAPE_FN_COUNT; fn < 64; fn++) {
		assert_false(tape_fn_aligned(fn));
		assert_false(tape_fn_sizeless(fn));
	}
	assert_true(tape_fn_aligned(TAPE_FN_VALLOC));
	assert_true(tape_fn_sizeless(TAPE_FN_REALLOC_FREE));
}

static void unknown_functions_are_invalid(void **state)
{
	(void)state;
	for (unsigned fn = TAPE_FN_COUNT; fn < 70; fn++) {
		assert_null(tape_fn_name((enum tape_fn)fn));
		assert_int_equal(tape_fn_class((enum tape_fn)fn),
				 fn == TAPE_FN_EXTENDED	 ? TAPE_CLASS_EXTENDED
				 : fn == TAPE_FN_LATENCY ? TAPE_CLASS_LATENCY
							 : TAPE_CLASS_INVALID);
	}
}

static void a_node_gives_back_its_48_bit_pc_without_the_flags(void **state)
{
	const struct tape_node node = { .parent = TAPE_NODE_ROOT,
					.pc_low = 0x89abcdef,
					.pc_high = 0x4567 | TAPE_NODE_EXACT };

	(void)state;
	assert_true(tape_node_pc(&node) == UINT64_C(0x456789abcdef));
}

/* Layouts are the format; the offsets stand in docs/tape-format.md. */
static void layouts_are_those_of_the_manual(void **state)
{
	(void)state;
	assert_int_equal(offsetof(struct tape_header, clock), 32);
	assert_int_equal(offsetof(struct tape_header, start_ticks), 48);
	assert_int_equal(offsetof(struct tape_header, uuid), 72);
	assert_int_equal(offsetof(struct tape_header, live), 256);
	assert_int_equal(256 + offsetof(struct tape_live, fault_errno), 296);
	assert_int_equal(256 + offsetof(struct tape_live, lost), 304);
	assert_int_equal(256 + offsetof(struct tape_live, sealed_max), 392);
	assert_int_equal(256 + offsetof(struct tape_live, scan_asks), 472);
	assert_int_equal(offsetof(struct tape_chunk, used), 20);
	assert_int_equal(offsetof(struct tape_chunk, begin_ticks), 32);
	assert_int_equal(offsetof(struct tape_chunk, checksum), 48);
	assert_int_equal(offsetof(struct tape_chunk, stored_bytes), 56);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_function_has_a_name_and_a_class),
		cmocka_unit_test(masks_of_functions_are_those_of_the_table),
		cmocka_unit_test(unknown_functions_are_invalid),
		cmocka_unit_test(a_node_gives_back_its_48_bit_pc_without_the_flags),
		cmocka_unit_test(layouts_are_those_of_the_manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
