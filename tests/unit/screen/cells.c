/* A grid of characters: what is put where, and what hostile texts become. */
#include "../test.h"

#include "screen/cells.h"

#include <locale.h>
#include <string.h>

#include "base/str.h"

static void row_of(const struct cells *cells, unsigned y, struct str *out)
{
	str_clear(out);
	for (unsigned x = 0; x < cells->width; x++)
		str_add(out, cells_at(cells, x, y)->text);
}

static void what_is_put_is_cut_at_the_edge(void **state)
{
	static const struct {
		unsigned x, columns;
		const char *text, *row;
		unsigned used;
	} rows[] = {
		{ 0, 99, "hello", "hello   ", 5 },
		{ 5, 99, "hello", "     hel", 3 },
		{ 2, 3, "hello", "  hel   ", 3 },
		{ 7, 99, "hello", "       h", 1 },
		{ 8, 99, "hello", "        ", 0 },
		{ 4000000000, 99, "hello", "        ", 0 },
		{ 0, 99, "", "        ", 0 },
		{ 1, 99, "a\033[2Jb", " a?[2Jb ", 6 },
		{ 0, 99, "\n\t\x7f", "???     ", 3 },
		{ 0, 99, "\xff\xc3", "??      ", 2 },
		{ 0, 99, "h\xc3\xa9!", "h\xc3\xa9!     ", 3 },
		{ 0, 99, "e\xcc\x81x", "ex      ", 2 }, /* a combining accent is left out */
		{ 0, 99, "\xe4\xb8\xad!", "\xe4\xb8\xad!     ", 3 }, /* two columns wide */
		{ 7, 99, "\xe4\xb8\xad", "        ", 0 },	     /* has no room */
	};
	CLEAN(str_deinit) struct str row = { 0 };

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		CLEAN(cells_deinit) struct cells cells = { 0 };

		assert_true(cells_reset(&cells, 8, 2));
		assert_int_equal(
			cells_put(&cells, rows[i].x, 1, rows[i].columns, CELL_BOLD, rows[i].text),
			rows[i].used);
		row_of(&cells, 1, &row);
		assert_string_equal(str_text(&row), rows[i].row);
		row_of(&cells, 0, &row);
		assert_string_equal(str_text(&row), "        ");
		assert_int_equal(cells_put(&cells, 0, 2, 9, CELL_BOLD, "below"), 0);
		if (rows[i].used > 0)
			assert_int_equal(cells_at(&cells, rows[i].x, 1)->style, CELL_BOLD);
	}
}

static void numbers_end_where_they_should(void **state)
{
	CLEAN(cells_deinit) struct cells cells = { 0 };
	CLEAN(str_deinit) struct str row = { 0 };

	(void)state;
	assert_true(cells_reset(&cells, 10, 1));
	cells_put_right(&cells, 6, 0, 6, CELL_PLAIN, "123");
	cells_put_right(&cells, 9, 0, 2, CELL_PLAIN, "456789");
	row_of(&cells, 0, &row);
	assert_string_equal(str_text(&row), "   123 45 ");
}

static void bars_rise_to_the_largest(void **state)
{
	static const uint64_t values[] = { 5, 0, UINT64_MAX, 1, 50, 100 };
	CLEAN(cells_deinit) struct cells cells = { 0 };
	CLEAN(str_deinit) struct str row = { 0 };

	(void)state;
	assert_true(cells_reset(&cells, 8, 2));
	cells_put_bars(&cells, 1, 0, 7, CELL_PLAIN, values, 6, true);
	cells_put_bars(&cells, 0, 1, 3, CELL_PLAIN, values, 6, false); /* the last three */
	row_of(&cells, 0, &row);
	assert_string_equal(str_text(&row), " ▁  ▁▄█ ");
	row_of(&cells, 1, &row);
	assert_string_equal(str_text(&row), "_=#     ");
}

static void a_grid_without_size_takes_everything(void **state)
{
	CLEAN(cells_deinit) struct cells cells = { 0 };

	(void)state;
	assert_null(cells_at(&cells, 0, 0));
	assert_int_equal(cells_put(&cells, 0, 0, 5, CELL_PLAIN, "a"), 0);
	assert_true(cells_reset(&cells, 0, 0));
	assert_int_equal(cells_put(&cells, 0, 0, 5, CELL_PLAIN, "a"), 0);
	assert_true(cells_reset(&cells, 100000, 1));
	assert_int_equal(cells.width, CELLS_SIDE_MAX);
}

static int begin(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_cut_at_the_edge),
		cmocka_unit_test(numbers_end_where_they_should),
		cmocka_unit_test(bars_rise_to_the_largest),
		cmocka_unit_test(a_grid_without_size_takes_everything),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
