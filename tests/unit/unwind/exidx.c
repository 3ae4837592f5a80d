#include "unwind/exidx.h"

#include "../test.h"

#include <string.h>

#define CODE(...) { __VA_ARGS__ }, sizeof((const uint8_t[]) { __VA_ARGS__ })

enum { SP = EXIDX_REG_SP, LR = EXIDX_REG_LR, PC = EXIDX_REG_PC };

/* An index with its entries first and its table behind them; the code it speaks of is addresses. */
struct image {
	uint32_t words[512];
	size_t entries, used;
};

enum { TABLE = 64 }; /* words */

static const uint8_t *image_at(const struct image *image, size_t word)
{
	return (const uint8_t *)&image->words[word];
}

static uint32_t image_distance(const struct image *image, size_t from, uint64_t to)
{
	return (uint32_t)(to - (uintptr_t)image_at(image, from)) & 0x7fffffff;
}

static uint64_t image_code(const struct image *image, size_t i)
{
	return (uintptr_t)image_at(image, 0) + 0x10000 + i * 0x100;
}

static void image_put_entry(struct image *image, uint32_t second)
{
	const size_t at = 2 * image->entries;

	image->words[at] = image_distance(image, at, image_code(image, image->entries));
	image->words[at + 1] = second;
	image->entries++;
}

static void image_put_table_entry(struct image *image)
{
	image_put_entry(image, image_distance(image, 2 * image->entries + 1,
					      (uintptr_t)image_at(image, TABLE + image->used)));
}

static struct exidx image_index(const struct image *image)
{
	return (struct exidx) {
		.entries = image_at(image, 0),
		.count = image->entries,
		.begin = image_at(image, 0),
		.end = image_at(image, TABLE + image->used),
	};
}

/* As routine 1 has them: two in its own word, then four in each. */
static void image_put_code(struct image *image, const uint8_t *code, size_t bytes)
{
	const size_t more = bytes > 2 ? (bytes - 2 + 3) / 4 : 0;
	uint32_t *words = &image->words[TABLE + image->used];

	memset(words, 0xb0, (1 + more) * sizeof(*words));
	words[0] = 0x81000000 | (uint32_t)more << 16 | 0xb0b0;
	for (size_t i = 0; i < bytes; i++) {
		const size_t at = i + 2;
		const unsigned int shift = 24 - at % 4 * 8;

		words[at / 4] = (words[at / 4] & ~(0xffU << shift)) | (uint32_t)code[i] << shift;
	}
	image->used += 1 + more;
}

static enum exidx_found row_of_code(const uint8_t *code, size_t bytes, struct exidx_row *ret)
{
	struct image image = { 0 };
	struct exidx index;

	image_put_table_entry(&image);
	image_put_code(&image, code, bytes);
	index = image_index(&image);
	return exidx_find(&index, image_code(&image, 0), ret);
}

/* place: of the lowest register that is saved. */
static const struct {
	const char *what;
	uint8_t code[24];
	size_t bytes;
	uint32_t reg;
	int32_t offset;
	uint32_t saved;
	int32_t place;
} rows[] = {
	{ "nothing", CODE(0xb0), SP, 0, 0, 0 },
	{ "a little up", CODE(0x00), SP, 4, 0, 0 },
	{ "up", CODE(0x3f), SP, 256, 0, 0 },
	{ "down", CODE(0x3f, 0x40), SP, 252, 0, 0 },
	{ "far down", CODE(0x7f), SP, -256, 0, 0 },
	{ "far up", CODE(0xb2, 0x00), SP, 0x204, 0, 0 },
	{ "farther up", CODE(0xb2, 0x81, 0x01), SP, 0x204 + (0x81 << 2), 0, 0 },
	{ "by a mask", CODE(0x84, 0x08), SP, 8, 1U << 7 | 1U << LR, -8 },
	{ "the lowest of the mask", CODE(0x80, 0x01), SP, 4, 1U << 4, -4 },
	{ "r4 to r7", CODE(0xa3), SP, 16, 0xf0, -16 },
	{ "r4 to r11, lr", CODE(0xaf), SP, 36, 0xff0 | 1U << LR, -36 },
	{ "r4 alone, lr", CODE(0xa8), SP, 8, 1U << 4 | 1U << LR, -8 },
	{ "r3", CODE(0xb1, 0x08), SP, 4, 1U << 3, -4 },
	{ "arguments behind", CODE(0xa8, 0x03), SP, 24, 1U << 4 | 1U << LR, -24 },
	{ "a frame pointer", CODE(0x97, 0x84, 0x08), 7, 8, 1U << 7 | 1U << LR, -8 },
	{ "one of ARM code", CODE(0x9b, 0x40, 0x84, 0x80), 11, 4, 1U << 11 | 1U << LR, -8 },
	{ "the last one counts", CODE(0x3f, 0x97, 0x01, 0x9b, 0x02), 11, 12, 0, 0 },
	{ "FSTMFDX of d8", CODE(0xb8), SP, 12, 0, 0 },
	{ "FSTMFDX of d8 to d15", CODE(0xbf), SP, 68, 0, 0 },
	{ "FSTMFDX of any", CODE(0xb3, 0x81), SP, 20, 0, 0 },
	{ "FSTMFDD of d8", CODE(0xd0), SP, 8, 0, 0 },
	{ "FSTMFDD of d8 to d15", CODE(0xd7), SP, 64, 0, 0 },
	{ "FSTMFDD of any", CODE(0xc9, 0x83), SP, 32, 0, 0 },
	{ "FSTMFDD of d16 and more", CODE(0xc8, 0x0f), SP, 128, 0, 0 },
	{ "wR10 to wR12", CODE(0xc2), SP, 24, 0, 0 },
	{ "any wR", CODE(0xc6, 0x11), SP, 16, 0, 0 },
	{ "wCGR", CODE(0xc7, 0x05), SP, 8, 0, 0 },
	{ "a code of authentication", CODE(0xb4, 0xa8), SP, 12, 1U << 4 | 1U << LR, -8 },
	{ "with the stack pointer", CODE(0xb5, 0xa8), SP, 8, 1U << 4 | 1U << LR, -8 },
	{ "nothing after the end", CODE(0x00, 0xb0, 0x3f), SP, 4, 0, 0 },
	{ "a signal's", CODE(0x07, 0xb1, 0x0f, 0x8f, 0xff), SP, 96, 0xffff, -64 },
	{ "nothing after the stack pointer", CODE(0x82, 0x00, 0x3f), SP, 4, 1U << SP, -4 },
	{ "longer than a word", CODE(0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xa8), SP, 32,
	  1U << 4 | 1U << LR, -8 },
};

static void instructions_become_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct exidx_row row;

		print_message("# %s\n", rows[i].what);
		assert_int_equal(row_of_code(rows[i].code, rows[i].bytes, &row), EXIDX_ROW);
		assert_int_equal(row.reg, rows[i].reg);
		assert_int_equal(row.offset, rows[i].offset);
		assert_int_equal(row.saved, rows[i].saved);
		if (row.saved)
			assert_int_equal(row.place[__builtin_ctz(row.saved)], rows[i].place);
	}
}

static const struct {
	const char *what;
	uint8_t code[16];
	size_t bytes;
} refused[] = {
	{ "refused", CODE(0x80, 0x00) },
	{ "vsp = sp", CODE(0x9d) },
	{ "vsp = pc", CODE(0x9f) },
	{ "no low register", CODE(0xb1, 0x00) },
	{ "low registers beyond r3", CODE(0xb1, 0x10) },
	{ "spare b6", CODE(0xb6) },
	{ "spare b7", CODE(0xb7) },
	{ "no wCGR", CODE(0xc7, 0x00) },
	{ "wCGR beyond", CODE(0xc7, 0x10) },
	{ "spare ca", CODE(0xca) },
	{ "spare d8", CODE(0xd8) },
	{ "spare ff", CODE(0xff) },
	{ "saved elsewhere than where vsp goes", CODE(0xa8, 0x97) },
	{ "a number without an end", CODE(0xb2, 0x80, 0x80, 0x80, 0x80, 0x80) },
	{ "a number of 32 bits", CODE(0xb2, 0x80, 0x80, 0x80, 0x80, 0x01) },
	{ "more than a frame can have", CODE(0xb2, 0xff, 0xff, 0xff, 0x7f) },
};

static void what_is_no_row_has_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(refused); i++) {
		struct exidx_row row;

		print_message("# %s\n", refused[i].what);
		assert_int_equal(row_of_code(refused[i].code, refused[i].bytes, &row), EXIDX_NONE);
	}
}

/* One of each kind, in the order of their code. */
static void image_put_kinds(struct image *image)
{
	image_put_entry(image, 0x80a8b0b0);
	image_put_entry(image, 1);
	image_put_table_entry(image);
	image->words[TABLE + image->used++] = 0x8003a8b0;
	image_put_table_entry(image);
	image->words[TABLE + image->used++] = 0x8201a8b0;
	image->words[TABLE + image->used++] = 0x3f3f3f3f;
	image_put_table_entry(image);
	image->words[TABLE + image->used++] = 0x12345678; /* a personality routine of a language */
	image->words[TABLE + image->used++] = 0x01000102;
	image->words[TABLE + image->used++] = 0xa9b0b0b0;
}

static void each_kind_of_entry_is_read(void **state)
{
	const uint32_t r4 = 1U << 4 | 1U << LR, r5 = r4 | 1U << 5;
	const struct {
		enum exidx_found found;
		int32_t offset;
		uint32_t saved;
	} expected[] = { { EXIDX_ROW, 8, r4 },
			 { EXIDX_CANNOT, 0, 0 },
			 { EXIDX_ROW, 24, r4 },
			 { EXIDX_ROW, 8, r4 },
			 { EXIDX_ROW, 4 + 8 + 12 + 12, r5 } };
	struct image image = { 0 };
	struct exidx index;

	(void)state;
	image_put_kinds(&image);
	index = image_index(&image);
	for (size_t i = 0; i < array_size(expected); i++) {
		for (uint64_t into = 0; into < 0x100; into += 0xff) {
			struct exidx_row row = { 0 };

			assert_int_equal(exidx_find(&index, image_code(&image, i) + into, &row),
					 expected[i].found);
			assert_int_equal(row.offset, expected[i].offset);
			assert_int_equal(row.saved, expected[i].saved);
		}
	}
}

/* Only there, and neither of code without a row nor of the kernel's frames. */
static void interrupted_before_its_first_instruction_a_function_has_no_frame(void **state)
{
	static const bool has_row[] = { true, false, true, true, true };
	struct image image = { 0 };
	struct exidx index;
	struct exidx_row row;

	(void)state;
	image_put_kinds(&image);
	index = image_index(&image);
	for (size_t i = 0; i < array_size(has_row); i++) {
		assert_int_equal(exidx_find_interrupted(&index, image_code(&image, i), &row),
				 has_row[i] ? EXIDX_ROW : EXIDX_CANNOT);
		if (!has_row[i])
			continue;
		assert_int_equal(row.reg, EXIDX_REG_SP);
		assert_int_equal(row.offset, 0);
		assert_int_equal(row.saved, 0);
		assert_int_equal(exidx_find_interrupted(&index, image_code(&image, i) + 2, &row),
				 EXIDX_ROW);
		assert_true(row.offset > 0 && row.saved);
	}
	image = (struct image) { 0 };
	image_put_table_entry(&image);
	image_put_code(&image, (const uint8_t[]) { 0x07, 0xb1, 0x0f, 0x8f, 0xff }, 5);
	index = image_index(&image);
	assert_int_equal(exidx_find_interrupted(&index, image_code(&image, 0), &row), EXIDX_ROW);
	assert_int_equal(row.saved, 0xffff);
}

static void code_before_the_first_entry_has_none(void **state)
{
	struct image image = { 0 };
	struct exidx_row row;
	struct exidx index = image_index(&image);

	(void)state;
	assert_int_equal(exidx_find(&index, image_code(&image, 0), &row), EXIDX_NONE);
	image_put_kinds(&image);
	index = image_index(&image);
	assert_int_equal(exidx_find(&index, image_code(&image, 0) - 1, &row), EXIDX_NONE);
	assert_int_equal(exidx_find(&index, image_code(&image, 0), &row), EXIDX_ROW);
}

static void whether_another_functions_code_begins_on_the_way(void **state)
{
	struct image image = { 0 };
	struct exidx index = image_index(&image);
	uint64_t first;

	(void)state;
	assert_false(exidx_begins_between(&index, 0, UINT64_MAX)); /* it is empty */
	image_put_kinds(&image);
	index = image_index(&image);
	first = image_code(&image, 0);
	assert_false(exidx_begins_between(&index, first, first));
	assert_false(exidx_begins_between(&index, first, image_code(&image, 1) - 1));
	assert_true(exidx_begins_between(&index, first, image_code(&image, 1)));
	assert_true(exidx_begins_between(&index, first - 1, first));
	assert_false(exidx_begins_between(&index, first - 2, first - 1));
}

/* Whatever ends too early, or is elsewhere, is not read. */
static void tables_out_of_bounds_are_not_read(void **state)
{
	struct image image = { 0 };
	struct exidx_row row;
	struct exidx index;

	(void)state;
	image_put_kinds(&image);
	index = image_index(&image);
	index.end -= 4; /* the last word of the last one */
	assert_int_equal(exidx_find(&index, image_code(&image, 4), &row), EXIDX_NONE);
	assert_int_equal(exidx_find(&index, image_code(&image, 3), &row), EXIDX_ROW);
	index.end -= 4; /* all but its address of a routine */
	assert_int_equal(exidx_find(&index, image_code(&image, 4), &row), EXIDX_NONE);
	index.end -= 8; /* half of the one before */
	assert_int_equal(exidx_find(&index, image_code(&image, 3), &row), EXIDX_NONE);
	assert_int_equal(exidx_find(&index, image_code(&image, 2), &row), EXIDX_ROW);
	image.words[5] = image_distance(&image, 5, (uintptr_t)image_at(&image, 0) - 8);
	assert_int_equal(exidx_find(&index, image_code(&image, 2), &row), EXIDX_NONE);
	image.words[5] = image_distance(&image, 5, (uintptr_t)image_at(&image, TABLE) + 2);
	assert_int_equal(exidx_find(&index, image_code(&image, 2), &row), EXIDX_NONE);
	image.words[5] = 0x83000000; /* no routine of the standard's, and one that is not inline */
	assert_int_equal(exidx_find(&index, image_code(&image, 2), &row), EXIDX_NONE);
	image.words[5] = 0x8100b0b0;
	assert_int_equal(exidx_find(&index, image_code(&image, 2), &row), EXIDX_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_become_rows),
		cmocka_unit_test(what_is_no_row_has_none),
		cmocka_unit_test(each_kind_of_entry_is_read),
		cmocka_unit_test(interrupted_before_its_first_instruction_a_function_has_no_frame),
		cmocka_unit_test(code_before_the_first_entry_has_none),
		cmocka_unit_test(whether_another_functions_code_begins_on_the_way),
		cmocka_unit_test(tables_out_of_bounds_are_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
