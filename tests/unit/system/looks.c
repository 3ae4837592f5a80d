#include "../test.h"

#include "system/looks.h"

static const char whole[] = "memtape triage 1\npage 4096\nsubject 42\n"
			    "look 1000 5\nprocesses 7\n"
			    "file /proc/meminfo\n\tMemTotal: 1 kB\n\t\tindented\n"
			    "error 13 /dev/kmsg\nfile /empty\n"
			    "look 2000 9\nfile /proc/meminfo\n\tMemTotal: 2 kB\n";

static struct err *parse(const char *text, struct arena *arena, struct looks *looks)
{
	return looks_parse(text, strlen(text), arena, looks);
}

static void what_was_read_is_there_again(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct looks looks;
	const struct look *first;

	(void)state;
	assert_null(parse(whole, &arena, &looks));
	assert_int_equal(looks.count, 2);
	assert_int_equal(looks.page_bytes, 4096);
	assert_int_equal(looks.subject, 42);
	first = &looks.items[0];
	assert_int_equal(first->realtime_ns, 1000);
	assert_int_equal(first->monotonic_ns, 5);
	assert_int_equal(first->process_count, 7);
	assert_true(looks.items[1].process_count == SYSTEM_UNKNOWN);
	assert_string_equal(look_text(first, "/proc/meminfo"), "MemTotal: 1 kB\n\tindented\n");
	assert_string_equal(look_text(first, "/empty"), "");
	assert_null(look_text(first, "/dev/kmsg"));
	assert_int_equal(look_file_find(first, "/dev/kmsg")->error, 13);
	assert_null(look_file_find(first, "/proc/vmstat"));
	assert_string_equal(look_text_of(&looks.items[1], "/%s/%s", "proc", "meminfo"),
			    "MemTotal: 2 kB\n");
}

static void writing_is_the_inverse_of_parsing(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(str_deinit) struct str out = { 0 };
	struct looks looks;

	(void)state;
	assert_null(parse(whole, &arena, &looks));
	looks_write_begin(&looks, &out);
	for (size_t i = 0; i < looks.count; i++)
		look_write(&looks.items[i], &out);
	assert_string_equal(str_text(&out), whole);
}

static void a_wrong_line_is_named(void **state)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "", "line 1:" },
		{ "memtape triage 2\n", "line 1:" },
		{ "memtape triage 1\n", "no page" },
		{ "memtape triage 1\npage 4096\n", "no look" },
		{ "memtape triage 1\npage 0\nlook 1 1\n", "line 2: the number" },
		{ "memtape triage 1\npage 99999999999\nlook 1 1\n", "line 2: the number" },
		{ "memtape triage 1\npage 1 2\nlook 1 1\n", "line 2: the number" },
		{ "memtape triage 1\nlook 1\n", "line 2: expected: look" },
		{ "memtape triage 1\nlook 1 99999999999999999999\n", "line 2: expected: look" },
		{ "memtape triage 1\npage 1\nlook 1 5\nlook 2 5\n", "line 4: this look" },
		{ "memtape triage 1\nfile /x\n", "line 2: a file before" },
		{ "memtape triage 1\nlook 1 1\nfile x\n", "line 3: the file has no path" },
		{ "memtape triage 1\nlook 1 1\nerror /x\n", "line 3: expected: error" },
		{ "memtape triage 1\nlook 1 1\nerror 0 /x\n", "line 3: expected: error" },
		{ "memtape triage 1\nprocesses 3\nlook 1 1\n", "line 2: expected one of" },
		{ "memtape triage 1\n\tlost\n", "line 2: expected one of" },
		{ "memtape triage 1\nlook 1 1\nmeal\n", "line 3: expected one of" },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		CLEAN(arena_deinit) struct arena arena = { 0 };
		struct looks looks;
		CLEAN(err_destroy) struct err *err = parse(rows[i].text, &arena, &looks);

		assert_non_null(err);
		assert_int_equal(err_code_of(err), ERR_FORMAT);
		assert_non_null(strstr(err_message(err), rows[i].words));
	}
}

static void a_nul_is_no_text(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	static const char text[] = "memtape triage 1\npage 4096\nlook 1 1\nfile /a\0b\n";
	struct looks looks;
	CLEAN(err_destroy) struct err *err = looks_parse(text, sizeof(text) - 1, &arena, &looks);

	(void)state;
	assert_non_null(err);
}

static void a_last_line_needs_no_end(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct looks looks;

	(void)state;
	assert_null(parse("memtape triage 1\npage 1\nlook 1 1\nfile /a\n\tb", &arena, &looks));
	assert_string_equal(look_text(&looks.items[0], "/a"), "b\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_read_is_there_again),
		cmocka_unit_test(writing_is_the_inverse_of_parsing),
		cmocka_unit_test(a_wrong_line_is_named),
		cmocka_unit_test(a_nul_is_no_text),
		cmocka_unit_test(a_last_line_needs_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
