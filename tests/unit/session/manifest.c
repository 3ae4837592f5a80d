#include "../test.h"

#include "session/manifest.h"

static struct err *parse(const char *text, struct arena *arena, struct manifest *manifest)
{
	return manifest_parse(text, strlen(text), arena, manifest);
}

static void the_lines_are_facts_and_what_is_unknown_is_passed_over(void **state)
{
	static const char text[] =
		"{\"memtape_session\":1,\"command\":[\"make\",\"-j4\"],\"follow\":\"cc1\",\"host\":"
		"\"h\","
		"\"begin_realtime_ns\":7,\"later\":{\"x\":[1]}}\n"
		"{\"tape\":\"a.1.mtape\",\"pid\":1,\"packed\":true,\"later\":1}\n"
		"{\"later\":2}\n"
		"{\"tape\":\"b.2.mtape\"}\n"
		"{\"end\":true,\"tapes\":2}\n";
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(manifest_deinit) struct manifest manifest = { 0 };

	(void)state;
	assert_null(parse(text, &arena, &manifest));
	assert_int_equal(manifest.command_count, 2);
	assert_string_equal(manifest.command[1], "-j4");
	assert_string_equal(manifest.follow, "cc1");
	assert_string_equal(manifest.host, "h");
	assert_int_equal(manifest.begin_realtime_ns, 7);
	assert_int_equal(manifest.tapes.count, 2);
	assert_string_equal(manifest.tapes.items[1], "b.2.mtape");
	assert_true(manifest.has_ended);
	assert_int_equal(manifest.damaged_count, 0);
}

static void a_torn_line_is_counted_and_the_rest_is_there(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(manifest_deinit) struct manifest manifest = { 0 };

	(void)state;
	assert_null(parse("{\"memtape_session\":1}\n{\"tape\":\"a.mtape\"}\n{\"tape\":\"b.mt",
			  &arena, &manifest));
	assert_int_equal(manifest.tapes.count, 1);
	assert_int_equal(manifest.damaged_count, 1);
	assert_false(manifest.has_ended);
}

static void how_a_process_ended_is_a_signal_or_a_status(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(manifest_deinit) struct manifest manifest = { 0 };

	(void)state;
	assert_null(
		parse("{\"memtape_session\":1}\n{\"ended\":\"a\",\"status\":3}\n"
		      "{\"ended\":\"b\",\"signal\":9}\n{\"ended\":\"c\"}\n"
		      "{\"ended\":\"d\",\"status\":-1}\n{\"ended\":\"e\",\"signal\":4000000000}\n"
		      "{\"ended\":\"f\",\"status\":\"0\"}\n{\"ended\":\"../g\",\"status\":0}\n",
		      &arena, &manifest));
	assert_int_equal(manifest.ends.count, 2);
	assert_string_equal(manifest.ends.items[0].tape, "a");
	assert_false(manifest.ends.items[0].is_signal);
	assert_int_equal(manifest.ends.items[0].number, 3);
	assert_true(manifest.ends.items[1].is_signal);
	assert_int_equal(manifest.ends.items[1].number, 9);
	assert_int_equal(manifest.tapes.count, 0);
}

static void names_outside_of_the_folder_are_none(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(manifest_deinit) struct manifest manifest = { 0 };

	(void)state;
	assert_null(parse("{\"memtape_session\":1}\n{\"tape\":\"../a\"}\n{\"tape\":\"/a\"}\n"
			  "{\"tape\":\".a\"}\n{\"tape\":\"\"}\n{\"tape\":7}\n",
			  &arena, &manifest));
	assert_int_equal(manifest.tapes.count, 0);
}

static void what_is_no_manifest_or_a_later_one_is_refused(void **state)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "", "empty" },
		{ "no\n", "not the manifest" },
		{ "{}\n", "not the manifest" },
		{ "[1]\n", "not the manifest" },
		{ "{\"memtape_session\":0}\n", "not the manifest" },
		{ "{\"memtape_session\":2}\n", "later version" },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		CLEAN(arena_deinit) struct arena arena = { 0 };
		CLEAN(manifest_deinit) struct manifest manifest = { 0 };
		CLEAN(err_destroy) struct err *err = parse(rows[i].text, &arena, &manifest);

		assert_non_null(err);
		assert_int_equal(err_code_of(err), ERR_FORMAT);
		assert_non_null(strstr(err_message(err), rows[i].words));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lines_are_facts_and_what_is_unknown_is_passed_over),
		cmocka_unit_test(a_torn_line_is_counted_and_the_rest_is_there),
		cmocka_unit_test(how_a_process_ended_is_a_signal_or_a_status),
		cmocka_unit_test(names_outside_of_the_folder_are_none),
		cmocka_unit_test(what_is_no_manifest_or_a_later_one_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
