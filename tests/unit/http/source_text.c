/*
 * Which files of this machine are shown to somebody who has a tape: sources, and nothing else,
 * whatever paths the tape has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "http/source_text.h"

#include <cmocka.h>

static char folder[] = "/tmp/source_text.XXXXXX";

static int setup(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	unlink("good.c");
	unlink("secret");
	unlink("link.c");
	unlink("other.c");
	unlink("pipe.c");
	unlink("large.c");
	rmdir("folder.c");
	return chdir("/") == 0 ? rmdir(folder) : -1;
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static const struct source_roots anywhere = { 0 };

static struct source_text read_text(const char *path, uint64_t first, struct arena *arena)
{
	struct source_text text;

	assert_null(source_text_read(&anywhere, path, first, arena, &text));
	return text;
}

static void a_source_file_is_cut_into_lines(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct source_text text;

	(void)state;
	write_file("good.c", "one\n\nthree\r\nlast");
	text = read_text("good.c", 1, &arena);
	assert_null(text.reason);
	assert_int_equal(text.count, 4);
	assert_int_equal(text.line_count, 4);
	assert_string_equal(text.lines[1], "");
	assert_string_equal(text.lines[2], "three");
	assert_string_equal(text.lines[3], "last");
	text = read_text("good.c", 3, &arena);
	assert_int_equal(text.count, 2);
	assert_int_equal(text.first, 3);
	assert_string_equal(text.lines[0], "three");
	assert_int_equal(read_text("good.c", 9, &arena).count, 0);
}

static void no_other_file_is_opened(void **state)
{
	static const char *const paths[] = {
		"secret",
		"link.c",
		"pipe.c",
		"folder.c",
		"/etc/passwd",
		"gone.c",
		"/proc/self/environ",
		"/dev/zero",
		"/proc/self/exe",
		"",
		"../../../etc/passwd",
		"good.c/x.c",
		"/proc/self/root/etc/passwd",
	};
	CLEAN(arena_deinit) struct arena arena = { 0 };

	(void)state;
	write_file("secret", "secret");
	assert_int_equal(symlink("secret", "link.c"), 0);
	assert_int_equal(mkfifo("pipe.c", 0600), 0);
	assert_int_equal(mkdir("folder.c", 0700), 0);
	for (size_t i = 0; i < array_size(paths); i++) {
		const struct source_text text = read_text(paths[i], 1, &arena);

		assert_non_null(text.reason);
		assert_int_equal(text.count, 0);
	}
}

static void a_link_to_a_source_is_followed(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };

	(void)state;
	write_file("good.c", "text\n");
	assert_int_equal(symlink("good.c", "other.c"), 0);
	assert_string_equal(read_text("other.c", 1, &arena).lines[0], "text");
}

static void an_answer_has_an_end(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct source_text text;
	FILE *file = fopen("large.c", "w");

	(void)state;
	assert_non_null(file);
	for (int i = 0; i < 5000; i++)
		fprintf(file, "%0*d\n", i < 2500 ? 10 : 1000, i);
	fclose(file);
	text = read_text("large.c", 1, &arena);
	assert_int_equal(text.count, SOURCE_TEXT_LINES);
	assert_int_equal(text.line_count, 5000);
	text = read_text("large.c", 2501, &arena);
	assert_in_range(text.count, 1, SOURCE_TEXT_ANSWER_MAX / 1000);
	assert_int_equal(truncate("large.c", SOURCE_TEXT_FILE_MAX + 1), 0);
	assert_non_null(read_text("large.c", 1, &arena).reason);
}

/* A folder is not one whose name only begins the same, and links are followed before. */
static void roots_are_all_that_is_shown(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(source_roots_deinit) struct source_roots roots = { 0 };
	struct source_text text;

	(void)state;
	assert_int_equal(mkdir("in", 0700), 0);
	assert_int_equal(mkdir("inside", 0700), 0);
	write_file("in/a.c", "inner\n");
	write_file("inside/b.c", "outer\n");
	assert_int_equal(symlink("../inside/b.c", "in/leads_out.c"), 0);
	assert_int_equal(symlink("in", "also"), 0);
	assert_null(source_roots_parse("also", &roots));
	assert_int_equal(roots.count, 1);
	assert_null(source_text_read(&roots, "in/a.c", 1, &arena, &text));
	assert_null(text.reason);
	assert_string_equal(text.lines[0], "inner");
	assert_null(source_text_read(&roots, "inside/b.c", 1, &arena, &text));
	assert_non_null(strstr(text.reason, "--source-root"));
	assert_null(source_text_read(&roots, "in/leads_out.c", 1, &arena, &text));
	assert_non_null(text.reason);
	assert_null(source_text_read(&roots, "in/../inside/b.c", 1, &arena, &text));
	assert_non_null(text.reason);
	source_roots_deinit(&roots);
	assert_null(source_roots_parse("in:inside", &roots));
	assert_null(source_text_read(&roots, "inside/b.c", 1, &arena, &text));
	assert_null(text.reason);
	source_roots_deinit(&roots);
	assert_null(source_roots_parse("/", &roots));
	assert_null(source_text_read(&roots, "in/a.c", 1, &arena, &text));
	assert_null(text.reason);
	assert_int_equal(system("rm -r in inside also"), 0);
}

static void a_root_is_a_folder(void **state)
{
	static const char *const wrong[] = { "", ":", ".:", ":.", "nowhere", "good.c" };

	(void)state;
	write_file("good.c", "text\n");
	for (size_t i = 0; i < array_size(wrong); i++) {
		struct source_roots roots = { 0 };
		struct err *err = source_roots_parse(wrong[i], &roots);

		assert_non_null(err);
		assert_int_equal(err_code_of(err), ERR_USAGE);
		assert_null(roots.items);
		err_destroy(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_file_is_cut_into_lines),
		cmocka_unit_test(no_other_file_is_opened),
		cmocka_unit_test(a_link_to_a_source_is_followed),
		cmocka_unit_test(an_answer_has_an_end),
		cmocka_unit_test(roots_are_all_that_is_shown),
		cmocka_unit_test(a_root_is_a_folder),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
