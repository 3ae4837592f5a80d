#include "unwind/epilogue.h"

#include "../test.h"

#include <string.h>

enum { SP = EXIDX_REG_SP, LR = EXIDX_REG_LR, HALVES = 24 };

#define LINK (1U << LR)

/* Code behind a call; place: of the link register. */
static const struct {
	const char *what;
	uint16_t code[HALVES];
	uint32_t reg;
	int32_t offset, place;
	uint32_t saved;
} thumb[] = {
	{ "pop {pc}", { 0xbd00 }, SP, 4, -4, LINK },
	{ "pop {r4, r7, pc}", { 0xbd90 }, SP, 12, -4, LINK | 0x90 },
	{ "add sp, #16; pop {r4, pc}", { 0xb004, 0xbd10 }, SP, 24, -4, LINK | 0x10 },
	{ "sub sp, #8; add sp, #24; pop {pc}", { 0xb082, 0xb006, 0xbd00 }, SP, 20, -4, LINK },
	{ "add.w sp, sp, #4096; pop {pc}", { 0xf50d, 0x5d80, 0xbd00 }, SP, 4100, -4, LINK },
	{ "addw sp, sp, #1028; pop {pc}", { 0xf20d, 0x4d04, 0xbd00 }, SP, 1032, -4, LINK },
	{ "pop.w {r4-r8, pc}", { 0xe8bd, 0x81f0 }, SP, 24, -4, LINK | 0x1f0 },
	{ "ldr.w pc, [sp], #4", { 0xf85d, 0xfb04 }, SP, 4, -4, LINK },
	{ "ldr.w pc, [sp], #12", { 0xf85d, 0xfb0c }, SP, 12, -12, LINK },
	{ "vpop {d8}; pop {r4, pc}", { 0xecbd, 0x8b02, 0xbd10 }, SP, 16, -4, LINK | 0x10 },
	{ "adds r7, #8; mov sp, r7; pop {r7, pc}", { 0x3708, 0x46bd, 0xbd80 }, 7, 16, -4,
	  LINK | 0x80 },
	{ "sub.w sp, r7, #8; pop {r7, pc}", { 0xf1a7, 0x0d08, 0xbd80 }, 7, 0, -4, LINK | 0x80 },
	{ "pop {r4, lr}; b elsewhere", { 0xe8bd, 0x4010, 0xe7fe }, SP, 8, -4, LINK | 0x10 },
	{ "pop {r4, lr}; add sp, #16; bx lr", { 0xe8bd, 0x4010, 0xb004, 0x4770 }, SP, 24, -20,
	  LINK | 0x10 },
	{ "pop {lr}; bx r3", { 0xf85d, 0xeb04, 0x4718 }, SP, 4, -4, LINK },
	{ "b over what is not code", { 0xe001, 0xde00, 0xde00, 0xbd00 }, SP, 4, -4, LINK },
	{ "beq; where it does not go leads nowhere", { 0xd001, 0xde00, 0xde00, 0xbd00 }, SP, 4, -4,
	  LINK },
	{ "cbz; the same", { 0xb108, 0xde00, 0xde00, 0xbd00 }, SP, 4, -4, LINK },
	{ "beq.w; the same", { 0xf000, 0x8002, 0xde00, 0xde00, 0xbd00 }, SP, 4, -4, LINK },
	{ "a call on the way", { 0xf000, 0xf800, 0x4780, 0xbd00 }, SP, 4, -4, LINK },
	{ "push {r0}; call; add sp, #4; pop {pc}", { 0xb401, 0x4780, 0xb001, 0xbd00 }, SP, 4, -4,
	  LINK },
}, thumb_unknown[] = {
	{ "bx lr: it called, so that is lost", { 0x4770 }, 0, 0, 0, 0 },
	{ "the next function", { 0xb510, 0xbd10 }, 0, 0, 0, 0 },
	{ "push.w {r4, lr}", { 0xe92d, 0x4010, 0xbd10 }, 0, 0, 0, 0 },
	{ "tbb", { 0xe8df, 0xf001, 0xbd00 }, 0, 0, 0, 0 },
	{ "mov pc, r3", { 0x469f, 0xbd00 }, 0, 0, 0, 0 },
	{ "ldr.w pc, [r3]", { 0xf8d3, 0xf000, 0xbd00 }, 0, 0, 0, 0 },
	{ "add sp, r3", { 0x449d, 0xbd00 }, 0, 0, 0, 0 },
	{ "udf", { 0xde00, 0xbd00 }, 0, 0, 0, 0 },
	{ "an endless loop", { 0xe7fe }, 0, 0, 0, 0 },
	{ "a branch out of bounds", { 0xe400 }, 0, 0, 0, 0 },
};

static const struct {
	const char *what;
	uint32_t code[HALVES / 2];
	uint32_t reg;
	int32_t offset, place;
	uint32_t saved;
} arm[] = {
	{ "pop {r4, pc}", { 0xe8bd8010 }, SP, 8, -4, LINK | 0x10 },
	{ "add sp, sp, #20; pop {pc}", { 0xe28dd014, 0xe49df004 }, SP, 24, -4, LINK },
	{ "add sp, sp, #4096; popne {r4, pc}", { 0xe28dda01, 0x18bd8010 }, SP, 4104, -4,
	  LINK | 0x10 },
	{ "sub sp, fp, #4; pop {fp, pc}", { 0xe24bd004, 0xe8bd8800 }, 11, 4, -4, LINK | 0x800 },
	{ "mov sp, fp; pop {fp, pc}", { 0xe1a0d00b, 0xe8bd8800 }, 11, 8, -4, LINK | 0x800 },
	{ "vpop {d8, d9}; pop {r4, lr}; bx lr", { 0xecbd8b04, 0xe8bd4010, 0xe12fff1e }, SP, 24, -4,
	  LINK | 0x10 },
	{ "pop {lr}; b elsewhere", { 0xe49de004, 0xeafffffe }, SP, 4, -4, LINK },
	{ "beq over udf", { 0x0a000000, 0xe7f000f0, 0xe49df004 }, SP, 4, -4, LINK },
	{ "a call on the way", { 0xeb000000, 0xe12fff33, 0xe49df004 }, SP, 4, -4, LINK },
}, arm_unknown[] = {
	{ "bx lr", { 0xe12fff1e }, 0, 0, 0, 0 },
	{ "the next function", { 0xe92d4010, 0xe8bd8010 }, 0, 0, 0, 0 },
	{ "str lr, [sp, #-4]!", { 0xe52de004, 0xe49df004 }, 0, 0, 0, 0 },
	{ "ldr pc, [pc, r3, lsl #2]", { 0xe79ff103, 0xe49df004 }, 0, 0, 0, 0 },
	{ "mov sp, r3", { 0xe04dd003, 0xe49df004 }, 0, 0, 0, 0 },
};

static enum epilogue_found find(const void *bytes, bool is_thumb, struct exidx_row *ret)
{
	_Alignas(4) uint8_t block[HALVES * 2];
	const struct epilogue_code code = { (uintptr_t)block, (uintptr_t)block + sizeof(block) };

	memcpy(block, bytes, sizeof(block));
	return epilogue_find(&code, code.begin, is_thumb, ret);
}

#define EXPECT_ROW(table, is_thumb)                                                                \
	for (size_t i = 0; i < array_size(table); i++) {                                           \
		struct exidx_row row = { 0 };                                                      \
                                                                                                   \
		print_message("# %s\n", (table)[i].what);                                          \
		assert_int_equal(find((table)[i].code, is_thumb, &row), EPILOGUE_ROW);             \
		assert_int_equal(row.reg, (table)[i].reg);                                         \
		assert_int_equal(row.offset, (table)[i].offset);                                   \
		assert_int_equal(row.saved, (table)[i].saved);                                     \
		assert_int_equal(row.place[LR], (table)[i].place);                                 \
	}

#define EXPECT_NONE(table, is_thumb)                                                               \
	for (size_t i = 0; i < array_size(table); i++) {                                           \
		struct exidx_row row;                                                              \
                                                                                                   \
		print_message("# %s\n", (table)[i].what);                                          \
		assert_int_equal(find((table)[i].code, is_thumb, &row), EPILOGUE_NONE);            \
	}

static void thumb_code_is_followed_to_its_end(void **state)
{
	(void)state;
	EXPECT_ROW(thumb, true);
	EXPECT_NONE(thumb_unknown, true);
}

static void arm_code_is_followed_to_its_end(void **state)
{
	(void)state;
	EXPECT_ROW(arm, false);
	EXPECT_NONE(arm_unknown, false);
}

/* bl or svc, for ever */
static void the_end_of_a_thread_is_an_end(void **state)
{
	static const uint16_t thumb_end[HALVES] = {
		0xf04f, 0x0c01, 0x4618, 0xf000, 0xf800, 0xe7fb
	};
	static const uint16_t thumb_loop[HALVES] = {
		0xf04f, 0x0c02, 0x4618, 0xf000, 0xf800, 0xe7fb
	};
	static const uint32_t arm_end[HALVES / 2] = { 0xe3a07001, 0xe3a00000, 0xef000000,
						      0xeafffffc };
	static const uint16_t thumb_both[HALVES] = { 0xd100, 0xbd00, 0xf04f, 0x0c01,
						     0x4618, 0xf000, 0xf800, 0xe7fb };
	struct exidx_row row;

	(void)state;
	assert_int_equal(find(thumb_end, true, &row), EPILOGUE_LAST);
	assert_int_equal(find(thumb_loop, true, &row), EPILOGUE_NONE);
	assert_int_equal(find(arm_end, false, &row), EPILOGUE_LAST);
	assert_int_equal(find(thumb_both, true, &row), EPILOGUE_ROW);
}

static void calls_say_which_code_it_is(void **state)
{
	static const struct {
		uint32_t word;
		bool is_call, is_thumb;
	} words[] = {
		{ 0xf800f000, true, true },   { 0xe800f7ff, true, true },
		{ 0x4798bf00, true, true },   { 0xeb000000, true, false },
		{ 0x0bfffffe, true, false },  { 0xe12fff33, true, false },
		{ 0xfa000000, true, false },  { 0xe1a00000, false, false },
		{ 0x47704770, false, false },
	};
	const struct epilogue_code code = { (uintptr_t)words,
					    (uintptr_t)(words + array_size(words)) };

	(void)state;
	for (size_t i = 0; i < array_size(words); i++) {
		bool is_thumb = false;
		const bool is_call = epilogue_call(&code, (uintptr_t)&words[i].word + 4, &is_thumb);

		assert_int_equal(is_call, words[i].is_call);
		if (is_call)
			assert_int_equal(is_thumb, words[i].is_thumb);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thumb_code_is_followed_to_its_end),
		cmocka_unit_test(arm_code_is_followed_to_its_end),
		cmocka_unit_test(the_end_of_a_thread_is_an_end),
		cmocka_unit_test(calls_say_which_code_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
