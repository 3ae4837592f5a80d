/* Parameters are what the route's table says, whatever comes. */
#include "../test.h"

#include "http/params.h"

static void assert_err(struct err *err, enum err_code code)
{
	assert_non_null(err);
	assert_int_equal(err_code_of(err), code);
	err_destroy(err);
}

static const char *const words[] = { "one", "two", NULL };

static const struct param params_of_route[] = {
	{ .name = "text", .kind = PARAM_TEXT, .doc = "a text" },
	{ .name = "many", .kind = PARAM_TEXTS, .doc = "texts" },
	{ .name = "n",
	  .kind = PARAM_NUMBER,
	  .min = 2,
	  .max = 10,
	  .fallback = 5,
	  .doc = "a number" },
	{ .name = "word", .kind = PARAM_CHOICE, .words = words, .fallback = 1, .doc = "a word" },
	{ .name = "flag", .kind = PARAM_FLAG, .doc = "a flag" },
	{ .name = "hash", .kind = PARAM_HASH, .doc = "a hash" },
	{ .name = "path", .kind = PARAM_PATH, .doc = "hashes" },
};

static const struct route route = {
	.path = "/test",
	.flags = ROUTE_SELECTS,
	.params = params_of_route,
	.param_count = array_size(params_of_route),
};

static struct err *parse(const char *query, struct arena *arena, struct params *params)
{
	struct err *err = params_parse(&route, query, strlen(query), arena, params);

	return err ? err : params_complete(params);
}

static void good_ones_are_taken(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	static struct params params;

	(void)state;
	assert_null(
		parse("text=a%20b+c%26&n=7&&word=two&flag=&hash=00ffABcdef&path=1.2.ff&many=x&many="
		      "y&q=size+%3E+1&from=25%25&until=1500ns&c=last&token=secret",
		      &arena, &params));
	assert_string_equal(params_find(&params, "text")->text, "a b c&");
	assert_int_equal(params_find(&params, "n")->number, 7);
	assert_int_equal(params_find(&params, "word")->number, 1);
	assert_int_equal(params_find(&params, "flag")->number, 1);
	assert_int_equal(params_find(&params, "hash")->number, 0xffabcdef);
	assert_string_equal(params_find(&params, "q")->text, "size > 1");
	assert_string_equal(params_find(&params, "from")->text, "25%");
	assert_null(params_find(&params, "token")); /* the guard's, not a route's */
	assert_int_equal(params.count, 12);
}

static void bad_ones_are_refused(void **state)
{
	static const struct {
		const char *query, *wrong, *words;
	} rows[] = {
		{ "nix=1", "nix", "unknown parameter 'nix'" },
		{ "n=1", "n", "from 2 to 10" },
		{ "n=11", "n", "from 2 to 10" },
		{ "n=", "n", "a number" },
		{ "n=-5", "n", "a number" },
		{ "n=5x", "n", "a number" },
		{ "n=99999999999999999999", "n", "a number" },
		{ "word=three", "word", "one of one, two" },
		{ "word=", "word", "one of" },
		{ "flag=2", "flag", "0 or 1" },
		{ "flag=true", "flag", "0 or 1" },
		{ "hash=", "hash", "hexadecimal" },
		{ "hash=00112233445566778", "hash", "hexadecimal" },
		{ "hash=xyz", "hash", "hexadecimal" },
		{ "path=1..2", "path", "dots" },
		{ "path=.1", "path", "dots" },
		{ "path=1.", "path", "dots" },
		{ "text=a&text=b", "text", "twice" },
		{ "q=siz+%3E+1", "q", "did you mean size" },
		{ "from=soon", "from", "" },
		{ "text=%", "text", "badly encoded" },
		{ "text=%2", "text", "badly encoded" },
		{ "text=%zz", "text", "badly encoded" },
		{ "text=%00", "text", "badly encoded" },
		{ "text=%ff", "text", "badly encoded" },
		{ "text=%c3", "text", "badly encoded" },
		{ "text=%ed%a0%80", "text", "badly encoded" },
		{ "%ff=1", NULL, "badly encoded" },
		{ "=1", "", "unknown parameter ''" },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		CLEAN(arena_deinit) struct arena arena = { 0 };
		static struct params params;
		struct err *err = parse(rows[i].query, &arena, &params);

		assert_non_null(err);
		assert_int_equal(err_code_of(err), ERR_USAGE);
		if (!strstr(err_message(err), rows[i].words))
			fail_msg("%s: %s", rows[i].query, err_message(err));
		if (rows[i].wrong)
			assert_string_equal(params.wrong, rows[i].wrong);
		else
			assert_null(params.wrong);
		err_destroy(err);
	}
}

static void there_may_not_be_too_many(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(str_deinit) struct str query = { 0 };
	static struct params params;

	(void)state;
	for (int i = 0; i < PARAM_VALUES_MAX; i++)
		str_add(&query, "many=x&");
	assert_null(parse(query.ptr, &arena, &params));
	str_add(&query, "many=x");
	assert_err(parse(query.ptr, &arena, &params), ERR_USAGE);
}

static void what_is_wanted_has_to_be_there(void **state)
{
	static const struct param wanted[] = {
		{ .name = "sql", .kind = PARAM_TEXT, .is_required = true, .doc = "a statement" },
	};
	static const struct route strict = { .path = "/x", .params = wanted, .param_count = 1 };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	static struct params params;

	(void)state;
	assert_null(params_parse(&strict, "", 0, &arena, &params));
	assert_err(params_complete(&params), ERR_USAGE);
	assert_string_equal(params.wrong, "sql");
	assert_null(params_add(&params, "sql", "select 1"));
	assert_null(params_complete(&params));
}

static void canonical(const char *query, struct str *out)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	static struct params params;

	assert_null(parse(query, &arena, &params));
	str_clear(out);
	params_canonical(&params, out);
	assert_false(out->failed);
}

static void equal_questions_are_equal_texts(void **state)
{
	static const char *const equal[] = { "n=7&text=a", "text=a&n=7", "text=%61&&n=7&c=last",
					     "c=00&token=x&n=7&text=a" };
	static const char *const other[] = { "n=8&text=a",	  "n=7",
					     "text=a%26n%3D7",	  "many=n&n=7&text=a",
					     "n=7&text=a&flag=1", "n=7&q=a%3Db&text=",
					     "many=a&many=b",	  "many=b&many=a",
					     "many=a%26many%3Db" };
	CLEAN(str_deinit) struct str first = { 0 };
	CLEAN(str_deinit) struct str one = { 0 };
	CLEAN(str_deinit) struct str two = { 0 };

	(void)state;
	canonical(equal[0], &first);
	for (size_t i = 1; i < array_size(equal); i++) {
		canonical(equal[i], &one);
		assert_string_equal(first.ptr, one.ptr);
	}
	for (size_t i = 0; i < array_size(other); i++) {
		if (strncmp(other[i], "n=7&q", 5) == 0)
			continue; /* no filter */
		canonical(other[i], &one);
		assert_string_not_equal(first.ptr, one.ptr);
		for (size_t k = 0; k < i; k++) {
			if (strncmp(other[k], "n=7&q", 5) == 0)
				continue;
			canonical(other[k], &two);
			assert_string_not_equal(one.ptr, two.ptr);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_ones_are_taken),
		cmocka_unit_test(bad_ones_are_refused),
		cmocka_unit_test(there_may_not_be_too_many),
		cmocka_unit_test(what_is_wanted_has_to_be_there),
		cmocka_unit_test(equal_questions_are_equal_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
