#include "../test.h"

#include "base/str.h"
#include "scan/prologue.h"

enum { FUNCTION_BYTES = 64 };

static const uint64_t begin = 0x7f0000001000, at = 0x7f0000100000;

/* How the first instructions are, and what is made of them; before the jump to what is behind them. */
static const struct {
	const char *what;
	uint8_t function[FUNCTION_BYTES];
	size_t bytes;
	uint8_t code[PROLOGUE_CODE_BYTES];
	size_t code_bytes, skipped, moved; /* moved 0: it is refused, */
	const char *why;		   /* with these words */
	bool is_end;			   /* nothing behind them is jumped to */
} rows[] = {
	{ "push, mov, sub",
	  { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xc3 },
	  9,
	  { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10 },
	  8,
	  0,
	  8,
	  NULL,
	  false },
	{ "endbr64 stays",
	  { 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0xc3 },
	  11,
	  { 0x41, 0x57, 0x41, 0x56, 0x41, 0x55 },
	  6,
	  4,
	  6,
	  NULL,
	  false },
	{ "an address relative to the instruction", /* lea 0x10(%rip), %rax */
	  { 0x48, 0x8d, 0x05, 0x10, 0, 0, 0, 0xc3 },
	  8,
	  { 0x48, 0x8d, 0x05, 0x10, 0x10, 0xf0, 0xff }, /* 0xff000 less */
	  7,
	  0,
	  7,
	  NULL,
	  false },
	{ "the same with a value behind it", /* cmpl $5, 0x20(%rip) */
	  { 0x83, 0x3d, 0x20, 0, 0, 0, 5, 0xc3 },
	  8,
	  { 0x83, 0x3d, 0x20, 0x10, 0xf0, 0xff, 5 },
	  7,
	  0,
	  7,
	  NULL,
	  false },
	{ "behind another one", /* push; lea 0x10(%rip), %rax */
	  { 0x55, 0x48, 0x8d, 0x05, 0x10, 0, 0, 0, 0xc3 },
	  9,
	  { 0x55, 0x48, 0x8d, 0x05, 0x10, 0x10, 0xf0, 0xff },
	  8,
	  0,
	  8,
	  NULL,
	  false },
	{ "a short conditional branch becomes a long one", /* test %rdi, %rdi; je +0x20; push */
	  { 0x48, 0x85, 0xff, 0x74, 0x20, 0x53, [0x25] = 0xc3 },
	  0x26,
	  /* 0x1025 - (0x100000 + 9) */
	  { 0x48, 0x85, 0xff, 0x0f, 0x84, 0x1c, 0x10, 0xf0, 0xff },
	  9,
	  0,
	  5,
	  NULL,
	  false },
	{ "a long conditional branch", /* jne +0x1000 */
	  { 0x0f, 0x85, 0, 0x10, 0, 0, 0xc3 },
	  7,
	  { 0x0f, 0x85, 0, 0x20, 0xf0, 0xff },
	  6,
	  0,
	  6,
	  NULL,
	  false },
	{ "a jump, and nothing behind it", /* jmp +0x1000 */
	  { 0xe9, 0, 0x10, 0, 0 },
	  5,
	  { 0xe9, 0, 0x20, 0xf0, 0xff },
	  5,
	  0,
	  5,
	  NULL,
	  true },
	{ "a jump by a place", /* jmp *0x1000(%rip) */
	  { 0xff, 0x25, 0, 0x10, 0, 0 },
	  6,
	  { 0xff, 0x25, 0, 0x20, 0xf0, 0xff },
	  6,
	  0,
	  6,
	  NULL,
	  true },
	{ "a call", { 0x55, 0xe8, 0, 0x10, 0, 0, 0xc3 }, 7, .why = "begins with a call" },
	{ "a call by a place",
	  { 0xff, 0x15, 0, 0x10, 0, 0, 0xc3 },
	  7,
	  .why = "begins with a call" },
	{ "a return", { 0x31, 0xc0, 0xc3, 0x90, 0x90, 0x90, 0x90 }, 7, .why = "too short" },
	{ "a short jump", { 0xeb, 0x10, 0x90, 0x90, 0x90, 0x90 }, 6, .why = "too short" },
	{ "four bytes", { 0x48, 0x89, 0xf8, 0xc3 }, 4, .why = "too short" },
	{ "half an instruction", { 0x48, 0x8d, 0x05, 0x10, 0 }, 5, .why = "too short" },
	{ "nothing", { 0 }, 0, .why = "too short" },
	{ "a system call", { 0x0f, 0x05, 0x48, 0x89, 0xf8, 0xc3 }, 6, .why = "begins with a call" },
	{ "a breakpoint", { 0xcc, 0x48, 0x89, 0xe5, 0x55, 0xc3 }, 6, .why = "begins with a call" },
	{ "a halt", { 0xf4, 0x48, 0x89, 0xe5, 0x55, 0xc3 }, 6, .why = "begins with a call" },
	{ "jrcxz", { 0xe3, 0x10, 0x48, 0x89, 0xe5, 0xc3 }, 6, .why = "another kind" },
	{ "loop", { 0xe2, 0x10, 0x48, 0x89, 0xe5, 0xc3 }, 6, .why = "another kind" },
	{ "no instruction", { 0x06, 0x55, 0x55, 0x55, 0x55, 0x55 }, 6, .why = "too short" },
};

static void first_instructions_do_the_same_elsewhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		uint8_t jump[PROLOGUE_JUMP_BYTES];
		struct prologue prologue;
		struct err *err =
			prologue_move(rows[i].function, rows[i].bytes, begin, at, &prologue);

		if (rows[i].why) {
			assert_non_null(err);
			assert_non_null(strstr(err_message(err), rows[i].why));
			err_destroy(err);
			continue;
		}
		assert_null(err);
		assert_int_equal(prologue.place, begin + rows[i].skipped);
		assert_int_equal(prologue.behind, prologue.place + rows[i].moved);
		assert_int_equal(prologue.code_bytes,
				 rows[i].code_bytes + (rows[i].is_end ? 0 : sizeof(jump)));
		assert_memory_equal(prologue.code, rows[i].code, rows[i].code_bytes);
		assert_true(prologue_jump(at + rows[i].code_bytes, prologue.behind, jump));
		if (!rows[i].is_end)
			assert_memory_equal(prologue.code + rows[i].code_bytes, jump, sizeof(jump));
		assert_null(prologue_check(rows[i].function, rows[i].bytes, begin, &prologue));
	}
}

/* push, push, push, push, push, nop, and then this, at 6. */
static const struct {
	uint8_t code[8];
	size_t bytes;
	const char *why; /* NULL: it may */
} backs[] = {
	{ { 0xeb, 0xfb }, 2, "into its own first" },		       /* jmp 3 */
	{ { 0x74, 0xf9 }, 2, "into its own first" },		       /* je 1 */
	{ { 0xeb, 0xf8 }, 2, "into its own first" },		       /* jmp 0 */
	{ { 0xeb, 0xfd }, 2, NULL },				       /* jmp 5, behind them */
	{ { 0xe9, 0xf9, 0xff, 0xff, 0xff }, 5, "into its own first" }, /* jmp 4 */
	{ { 0x0f, 0x85, 0xf6, 0xff, 0xff, 0xff }, 6, "into its own first" }, /* jne 2 */
	{ { 0xe8, 0xf5, 0xff, 0xff, 0xff }, 5, NULL },			     /* call 0, once more */
	{ { 0xe8, 0xf6, 0xff, 0xff, 0xff }, 5, "into its own first" },	     /* call 1 */
	{ { 0x06 }, 1, "not known, at +0x6" },
};

static void nothing_may_jump_back_into_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(backs); i++) {
		uint8_t function[16] = { 0x55, 0x55, 0x55, 0x55, 0x55, 0x90 };
		struct prologue prologue;
		struct err *err;

		memcpy(function + 6, backs[i].code, backs[i].bytes);
		assert_null(prologue_move(function, 6 + backs[i].bytes, begin, at, &prologue));
		err = prologue_check(function, 6 + backs[i].bytes, begin, &prologue);
		assert_int_equal(!err, !backs[i].why);
		if (err)
			assert_non_null(strstr(err_message(err), backs[i].why));
		err_destroy(err);
	}
}

static void what_is_too_far_is_refused(void **state)
{
	static const uint8_t relative[] = { 0x48, 0x8d, 0x05, 0x10, 0, 0, 0, 0xc3 };
	/* From `begin` these reach as far as they can, and not from a place that is higher up. */
	static const uint8_t edges[][8] = {
		{ 0x48, 0x8d, 0x05, 0, 1, 0, 0x80, 0xc3 }, /* lea */
		{ 0x0f, 0x85, 0, 1, 0, 0x80, 0xc3 },	   /* jne */
		{ 0xe9, 0, 1, 0, 0x80, 0xc3 },		   /* jmp */
	};
	uint8_t jump[PROLOGUE_JUMP_BYTES];
	struct prologue prologue;
	struct err *err = prologue_move(relative, sizeof(relative), begin,
					begin + (UINT64_C(1) << 31) + 0x100, &prologue);

	(void)state;
	assert_non_null(err);
	assert_non_null(strstr(err_message(err), "2 GiB"));
	err_destroy(err);
	for (size_t i = 0; i < array_size(edges); i++) {
		assert_null(prologue_move(edges[i], sizeof(edges[i]), begin, begin, &prologue));
		err = prologue_move(edges[i], sizeof(edges[i]), begin, at, &prologue);
		assert_non_null(err);
		assert_non_null(strstr(err_message(err), "2 GiB"));
		err_destroy(err);
	}
	assert_true(prologue_jump(begin, begin + 5 + INT32_MAX, jump));
	assert_false(prologue_jump(begin, begin + 6 + INT32_MAX, jump));
	assert_false(prologue_jump(begin, begin + 4 - (UINT64_C(1) << 31), jump));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_instructions_do_the_same_elsewhere),
		cmocka_unit_test(nothing_may_jump_back_into_them),
		cmocka_unit_test(what_is_too_far_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
