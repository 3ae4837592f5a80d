#include "../test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "select/expr.h"

/* --- the tree as text ---------------------------------------------------------------------- */

static void add_value(struct str *out, const struct expr_value *value)
{
	if (value->text && value->kind != EXPR_MARK) {
		str_printf(out, "'%s'", value->text);
		return;
	}
	switch (value->kind) {
	case EXPR_PLAIN:
		str_add_u64(out, value->number);
		break;
	case EXPR_PERCENT:
		str_add_ratio(out, value->number, 1000, 3);
		str_add(out, "%");
		break;
	case EXPR_PEAK:
		str_add(out, "peak");
		break;
	case EXPR_END:
		str_add(out, "end");
		break;
	case EXPR_MARK:
		str_printf(out, "mark(%s)", value->text);
		break;
	case EXPR_FIELD:
		str_add(out, value->field->name);
		break;
	}
}

static void add_item(struct str *out, const struct expr_item *item)
{
	str_add_char(out, item->low_is_open ? '(' : '[');
	if (item->is_none)
		str_add(out, "none");
	if (item->has_low)
		add_value(out, &item->low);
	if (!item->is_none)
		str_add(out, "..");
	if (item->has_high)
		add_value(out, &item->high);
	str_add_char(out, item->high_is_open ? ')' : ']');
}

static void describe(struct str *out, const struct expr *expr)
{
	static const char *const words[] = {
		[EXPR_AND] = "and", [EXPR_OR] = "or",	    [EXPR_NOT] = "not",
		[EXPR_ALL] = "all", [EXPR_ALIVE] = "alive",
	};

	if (expr->kind == EXPR_MATCH) {
		str_printf(out, "%s~/%s/", expr->field->name, expr->pattern);
		return;
	}
	str_add(out, expr->kind == EXPR_IN ? expr->field->name : words[expr->kind]);
	for (size_t i = 0; i < expr->item_count; i++)
		add_item(out, &expr->items[i]);
	for (size_t i = 0; i < expr->part_count; i++) {
		str_add_char(out, i ? ' ' : '(');
		describe(out, expr->parts[i]);
		if (i == expr->part_count - 1)
			str_add_char(out, ')');
	}
}

static const struct {
	const char *text;
	const char *tree;
} good_rows[] = {
	{ "", "all" },
	{ "  \t\n", "all" },
	{ "all", "all" },
	{ "leaked", "leaked[1..1]" },
	{ "LEAKED AND Not Freed", "and(leaked[1..1] not(freed[1..1]))" },
	{ "leaked = no", "leaked[0..0]" },
	{ "leaked != yes", "not(leaked[1..1])" },
	{ "size >= 4KiB", "size[4096..]" },
	{ "size > 1", "size(1..]" },
	{ "size<1kB", "size[..1000)" },
	{ "size <= 1.5MiB", "size[..1572864]" },
	{ "size = 0x10", "size[16..16]" },
	{ "size == 1k && ! size != 2B", "and(size[1024..1024] not(not(size[2..2])))" },
	{ "size in 1KiB..4KiB", "size[1024..4096]" },
	{ "size in 1k..", "size[1024..]" },
	{ "size in ..1k", "size[..1024]" },
	{ "size in 5.. and leaked", "and(size[5..] leaked[1..1])" },
	{ "size in (1, 2..3 , 4..)", "size[1..1][2..3][4..]" },
	{ "size not in (1)", "not(size[1..1])" },
	{ "lifetime < 1ms", "lifetime[..1000000)" },
	{ "lifetime < 2", "lifetime[..2000000000)" },
	{ "lifetime > 1h30m", "lifetime(5400000000000..]" },
	{ "lifetime >= 12.5%", "lifetime[12.500%..]" },
	{ "free_time = none", "free_time[none]" },
	{ "mark not in (none, loaded)", "not(mark[none]['loaded'..'loaded'])" },
	{ "time in mark(\"a b\")..end", "time[mark(a b)..end]" },
	{ "from 10s and to 75%", "and(time[10000000000..] time[..75.000%])" },
	{ "alive_at peak", "alive[peak..peak]" },
	{ "alive_at(50%)", "alive[50.000%..50.000%]" },
	{ "alive_between start..mark(x)", "alive[0..mark(x)]" },
	{ "function ~ \"^a\\.b\\\"$\"", "function~/^a\\.b\"$/" },
	{ "function !~ 'x'", "not(function~/x/)" },
	{ "module = libc.so.6", "module['libc.so.6'..'libc.so.6']" },
	{ "call in (malloc, 'operator new')",
	  "call['malloc'..'malloc']['operator new'..'operator new']" },
	{ "thread = 12 or thread = worker", "or(thread[12..12] thread_name['worker'..'worker'])" },
	{ "slack > size", "slack(size..]" },
	{ "last_size != first_size", "not(last_size[first_size..first_size])" },
	{ "free_thread = thread", "free_thread[thread..thread]" },
	{ "size in 10..usable", "size[10..usable]" },
	{ "leaked or freed and temporary", "or(leaked[1..1] and(freed[1..1] temporary[1..1]))" },
	{ "(leaked or freed) and temporary", "and(or(leaked[1..1] freed[1..1]) temporary[1..1])" },
	{ "not not leaked", "not(not(leaked[1..1]))" },
	{ "group_leaked >= 50%", "group_leaked[50.000%..]" },
	{ "only_whole_group_leaked", "whole_group_leaked[1..1]" },
	{ "size = 18446744073709551614", "size[18446744073709551614..18446744073709551614]" },
};

static void what_is_written_is_what_is_meant(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(good_rows); i++) {
		CLEAN(arena_deinit) struct arena arena = { 0 };
		CLEAN(str_deinit) struct str tree = { 0 };
		const struct expr *expr = NULL;
		CLEAN(err_destroy) struct err *err = NULL;

		err = expr_parse(good_rows[i].text, &arena, &expr);
		if (err)
			fail_msg("%s: %s", good_rows[i].text, err_message(err));
		describe(&tree, expr);
		assert_string_equal(str_text(&tree), good_rows[i].tree);
	}
}

/* --- errors -------------------------------------------------------------------------------- */

static const struct {
	const char *text;
	const char *message; /* a part of it */
	int column;	     /* of the caret, from 0; -1: there is none */
} bad_rows[] = {
	{ "size >= banana", "'banana' is not a value; size expects a size like 4KiB", 8 },
	{ "size >= 4KX", "'4KX' has an unknown unit", 8 },
	{ "size >=", "unexpected end; expected a size like 4KiB", 7 },
	{ "size", "unexpected end; expected one of = != < <= > >= in", 4 },
	{ "syze > 4", "unknown field 'syze'; did you mean size?", 0 },
	{ "qqqqqqqqq > 4", "unknown field 'qqqqqqqqq'; `memtape", 0 },
	{ "(leaked", "unclosed parenthesis", 0 },
	{ "leaked)", "unexpected ')'; expected `and` or `or`", 6 },
	{ "leaked leaked", "unexpected 'leaked'", 7 },
	{ "leaked and", "unexpected end; expected a field", 10 },
	{ "leaked and and", "unknown field 'and'", 11 },
	{ "function = \"x", "unclosed quote", 11 },
	{ "function < 'x'", "function has no order", 9 },
	{ "function = and", "must be quoted to be text", 11 },
	{ "size ~ 'x'", "size is not text", 5 },
	{ "size in 4KiB..1KiB", "it begins after its end", 8 },
	{ "size in (1, 2", "unexpected end; expected `,` or `)`", 13 },
	{ "size in ()", "')' is not a value", 9 },
	{ "size in ..", "unexpected end", 10 },
	{ "size = none", "size always has a value", 7 },
	{ "size = 10%", "'10%' is a percentage, and this field has none", 7 },
	{ "lifetime > 101%", "'101%' is more than 100%", 11 },
	{ "chain_length = 1.5", "'1.5' is not an integer", 15 },
	{ "chain_length = 1kB", "'1kB' has an unknown unit", 15 },
	{ "size = 18446744073709551615", "is too large", 7 },
	{ "size = 99999999999999999999", "is too large", 7 },
	{ "size = 17EiB", "is too large", 7 },
	{ "size = 0x", "has an unknown unit", 7 },
	{ "lifetime = 0x10", "'0x10' has an unknown unit", 11 },
	{ "time > tomorrow", "'tomorrow' is not a time", 7 },
	{ "time > mark", "unexpected end; expected `(` and the text of a mark", 11 },
	{ "alive_between 10s", "expected two moments", 17 },
	{ "alive_between none", "time always has a value", 14 },
	{ "alive_at 10s..20s", "unexpected '..'", 12 },
	{ "leaked = maybe", "'maybe' is neither yes nor no", 9 },
	{ "call in (malloc..free)", "call has no ranges", 15 },
	{ "leaked & freed", "unexpected character", 7 },
	{ "function = std::string", "unexpected character; put text in quotes", 14 },
	{ "size > lifetime", "'lifetime' is not a value", 7 },
	{ "size in (first_size, 3)", "stand alone", 9 },
	{ "alive_at free_time", "'free_time' is not a time", 9 },
	{ "from time", "'time' is not a time", 5 },
	{ "leaked = freed", "'freed' is neither yes nor no", 9 },
	{ "size = -1", "unexpected character", 7 },
	{ "not", "unexpected end", 3 },
	{ "!", "unexpected end", 1 },
	{ "\"leaked\"", "unexpected '\"leaked\"'; expected a field", 0 },
};

static struct err *parse_bad(const char *text)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct expr *expr = NULL;
	struct err *err = expr_parse(text, &arena, &expr);

	if (!err)
		fail_msg("%s is no error", text);
	return err;
}

static void nonsense_is_shown_where_it_stands(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(bad_rows); i++) {
		CLEAN(err_destroy) struct err *err = parse_bad(bad_rows[i].text);
		const char *caret = strrchr(err_message(err), '\n');

		assert_int_equal(err_code_of(err), ERR_USAGE);
		if (!strstr(err_message(err), bad_rows[i].message))
			fail_msg("%s: %s", bad_rows[i].text, err_message(err));
		assert_non_null(caret);
		assert_int_equal(caret[strlen(caret) - 1], '^');
		if ((int)strlen(caret + 3) - 1 != bad_rows[i].column)
			fail_msg("%s", err_message(err));
	}
}

static void a_caret_counts_letters_not_bytes(void **state)
{
	CLEAN(err_destroy)
	struct err *err = parse_bad("function = '\xc3\xa4\xc3\xb6' \tor nothing_like");

	(void)state;
	assert_non_null(strstr(err_message(err),
			       "\n  function = '\xc3\xa4\xc3\xb6'  or nothing_like\n"
			       "                      ^"));
}

static void only_the_neighbourhood_of_an_error_is_shown(void **state)
{
	CLEAN(str_deinit) struct str text = { 0 };
	CLEAN(err_destroy) struct err *err = NULL;

	(void)state;
	for (int i = 0; i < 500; i++)
		str_add(&text, "leaked or ");
	str_add(&text, "oops or ");
	for (int i = 0; i < 500; i++)
		str_add(&text, "leaked or ");
	err = parse_bad(str_text(&text));
	assert_non_null(strstr(err_message(err), "oops or leaked or"));
	assert_true(strlen(err_message(err)) < 300);
}

static char *repeated(struct str *out, const char *part, int count, const char *end)
{
	str_clear(out);
	for (int i = 0; i < count; i++)
		str_add(out, part);
	str_add(out, end);
	return out->ptr;
}

static void there_are_bounds_to_everything(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(str_deinit) struct str text = { 0 };
	const struct expr *expr;

	(void)state;
	assert_null(expr_parse(repeated(&text, "not ", 100, "leaked"), &arena, &expr));
	err_destroy(parse_bad(repeated(&text, "not ", 101, "leaked")));
	err_destroy(parse_bad(repeated(&text, "(", 101, "leaked")));
	err_destroy(parse_bad(repeated(&text, "(", 60000, "")));
	assert_null(expr_parse(repeated(&text, "leaked or ", 2000, "leaked"), &arena, &expr));
	assert_int_equal(expr->part_count, 2001);
	err_destroy(parse_bad(repeated(&text, "leaked or ", 5000, "leaked")));
	str_clear(&text);
	str_add(&text, "size in (");
	for (int i = 0; i < 5000; i++)
		str_add(&text, "1,");
	err_destroy(parse_bad(str_text(&text)));
	err_destroy(parse_bad(repeated(&text, " ", EXPR_BYTES_MAX, "x")));
}

/* --- fields -------------------------------------------------------------------------------- */

static void every_field_is_found_by_all_its_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < field_count; i++) {
		const struct field *field = &field_table[i];
		const char *alias = field->aliases;
		const size_t doc_len = strlen(field->doc);

		assert_ptr_equal(field_find(field->name, strlen(field->name)), field);
		while (*alias) {
			const size_t len = strcspn(alias, " ");

			assert_ptr_equal(field_find(alias, len), field);
			alias += len + (alias[len] == ' ');
		}
		assert_true(doc_len > 10 && field->doc[doc_len - 1] == '.');
		assert_int_equal(!field->of_rows + !field->of_stack + !field->of_frame, 2);
		assert_int_equal(field->type == FIELD_TEXTS, field->of_frame != NULL);
		assert_int_equal(field->type == FIELD_TEXT, field->text != NULL);
		assert_true(field->type != FIELD_TEXT || field->of_stack || field->id_count);
	}
	assert_null(field_find("", 0));
	assert_null(field_find("siz", 3));
	assert_string_equal(field_guess("lifetme", 7)->name, "lifetime");
	assert_null(field_guess("zzzzzzzzzzzz", 12));
}

/* --- completion ---------------------------------------------------------------------------- */

static bool collect(void *context, const char *word, const char *doc)
{
	struct str *out = context;

	(void)doc;
	str_add(out, word);
	str_add_char(out, ' ');
	return true;
}

static void expect_words(const char *text, const char *words, const char *absent)
{
	CLEAN(str_deinit) struct str out = { 0 };

	expr_complete(text, collect, &out);
	if (!strstr(str_text(&out), words) || (absent && strstr(str_text(&out), absent)))
		fail_msg("%s: %s", text, str_text(&out));
}

static void completion_offers_what_could_stand_there(void **state)
{
	(void)state;
	expect_words("", "lifetime ", "and ");
	expect_words("li", "lifetime ", "size ");
	expect_words("leaked and (si", "size size_class site ", "lifetime ");
	expect_words("size ", "= != < <= > >= in not in ", "~");
	expect_words("function ", "= != ~ !~ in not in ", "<");
	expect_words("size > 4 ", "and or ", "size");
	expect_words("alive_at ", "start peak end mark( ", "and");
	expect_words("call = mal", "malloc ", "free ");
	expect_words("free_time = ", "none ", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_what_is_meant),
		cmocka_unit_test(nonsense_is_shown_where_it_stands),
		cmocka_unit_test(a_caret_counts_letters_not_bytes),
		cmocka_unit_test(only_the_neighbourhood_of_an_error_is_shown),
		cmocka_unit_test(there_are_bounds_to_everything),
		cmocka_unit_test(every_field_is_found_by_all_its_names),
		cmocka_unit_test(completion_offers_what_could_stand_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
