/*
 * Sources: lines and bytes of files, and where they are.
 */
#include "../test.h"

#include "convert/source.h"

static struct source *source_of(const char *text)
{
	struct source *source = source_of_bytes(text, strlen(text));

	assert_non_null(source);
	return source;
}

static void lines_come_without_their_ends(void **state)
{
	static const char *const lines[] = { "one", "", "two words", "last" };
	CLEAN(source_close) struct source *source = source_of("one\n\r\ntwo words\r\nlast");
	size_t len;
	char *line;

	(void)state;
	for (size_t i = 0; i < array_size(lines); i++) {
		assert_true(source_line(source, &line, &len));
		assert_string_equal(line, lines[i]);
		assert_int_equal(len, strlen(lines[i]));
		assert_int_equal(source_line_number(source), i + 1);
		assert_int_equal(source_line_is_torn(source), i == 3);
	}
	assert_false(source_line(source, &line, &len));
	assert_false(source_failed(source));
}

static void a_line_may_be_longer_than_what_is_read_at_once(void **state)
{
	enum { BYTES = 3 << 20 };
	char path[] = "/tmp/memtape-source-XXXXXX", *line;
	CLEAN(source_close) struct source *source = NULL;
	CLEAN(free) char *text = malloc(BYTES + 3);
	const int fd = mkstemp(path);
	size_t len;

	(void)state;
	assert_true(fd >= 0 && text);
	memset(text, 'x', BYTES);
	memcpy(text + BYTES, "\ny\n", 3);
	assert_int_equal(write(fd, text, BYTES + 3), BYTES + 3);
	close(fd);
	assert_null(source_open(path, &source));
	unlink(path);
	assert_true(source_line(source, &line, &len));
	assert_int_equal(len, BYTES);
	assert_true(source_line(source, &line, &len));
	assert_string_equal(line, "y");
	assert_false(source_line(source, &line, &len));
}

static void bytes_are_taken_whole_or_not_at_all(void **state)
{
	CLEAN(source_close) struct source *source = source_of("abcdef");
	const char *bytes;
	char out[8];
	size_t count;

	(void)state;
	source_peek(source, 4, &bytes, &count);
	assert_true(count >= 4);
	assert_memory_equal(bytes, "abcd", 4);
	assert_true(source_take(source, out, 2));
	assert_memory_equal(out, "ab", 2);
	assert_int_equal(source_offset(source), 2);
	assert_false(source_take(source, out, 5));
	assert_true(source_take(source, out, 4));
	assert_memory_equal(out, "cdef", 4);
	source_peek(source, 1, &bytes, &count);
	assert_int_equal(count, 0);
}

static void errors_name_the_place(void **state)
{
	CLEAN(source_close) struct source *source = source_of("one\ntwo\n");
	struct err *err;
	size_t len;
	char *line;

	(void)state;
	source_skip(source, 2);
	err = source_error(source, "no %s", "thing");
	assert_string_equal(err_message(err), "byte 2: no thing");
	err_destroy(err);
	assert_true(source_line(source, &line, &len));
	assert_true(source_line(source, &line, &len));
	err = source_error(source, "bad \033 thing");
	assert_string_equal(err_message(err), "line 2: bad ? thing");
	err_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_without_their_ends),
		cmocka_unit_test(a_line_may_be_longer_than_what_is_read_at_once),
		cmocka_unit_test(bytes_are_taken_whole_or_not_at_all),
		cmocka_unit_test(errors_name_the_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
