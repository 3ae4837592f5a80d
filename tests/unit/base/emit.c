#include "../test.h"

#include "base/emit.h"

static const struct emit_column columns[] = {
	{ .key = "bytes" },
	{ .key = "function", .left = true, .elastic = true },
	{ .key = "stack", .left = true },
};

static void say(struct emit *emit)
{
	emit_object(emit, NULL);
	emit_u64(emit, "duration_ns", 1500, EMIT_DURATION);
	emit_object(emit, "peak");
	emit_u64(emit, "count", 1234, EMIT_COUNT);
	emit_percent(emit, "share", 1, 4);
	emit_end(emit);
	emit_table(emit, "top", columns, array_size(columns));
	for (uint64_t i = 0; i < 2; i++) {
		emit_row(emit);
		emit_text(emit, "function", i ? "a,\"b\"" : "main");
		emit_u64(emit, "bytes", 2048 * i, EMIT_BYTES);
		emit_u64(emit, "hidden", i, EMIT_PLAIN);
		emit_list(emit, "stack");
		for (uint64_t frame = 0; frame <= i; frame++) {
			emit_object(emit, NULL);
			emit_text(emit, "function", frame ? "outer" : "inner");
			emit_null(emit, "file");
			emit_end(emit);
		}
		emit_end(emit);
		emit_end(emit);
	}
	emit_end(emit);
	emit_end(emit);
}

static char *said(const struct emit_settings *settings)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct emit *emit = emit_create(out, settings);

	say(emit);
	assert_null(emit_finish(emit));
	emit_destroy(emit);
	fclose(out);
	return text;
}

static void json_has_everything_exactly(void **state)
{
	char *text = said(&(struct emit_settings) { .format = EMIT_JSON });

	(void)state;
	assert_string_equal(text, "{\n"
				  "  \"duration_ns\": 1500,\n"
				  "  \"peak\": {\n"
				  "    \"count\": 1234,\n"
				  "    \"share\": 25.000\n"
				  "  },\n"
				  "  \"top\": [\n"
				  "    {\n"
				  "      \"function\": \"main\",\n"
				  "      \"bytes\": 0,\n"
				  "      \"hidden\": 0,\n"
				  "      \"stack\": [\n"
				  "        {\n"
				  "          \"function\": \"inner\",\n"
				  "          \"file\": null\n"
				  "        }\n"
				  "      ]\n"
				  "    },\n"
				  "    {\n"
				  "      \"function\": \"a,\\\"b\\\"\",\n"
				  "      \"bytes\": 2048,\n"
				  "      \"hidden\": 1,\n"
				  "      \"stack\": [\n"
				  "        {\n"
				  "          \"function\": \"inner\",\n"
				  "          \"file\": null\n"
				  "        },\n"
				  "        {\n"
				  "          \"function\": \"outer\",\n"
				  "          \"file\": null\n"
				  "        }\n"
				  "      ]\n"
				  "    }\n"
				  "  ]\n"
				  "}\n");
	free(text);
}

static void csv_has_paths_and_tables(void **state)
{
	char *text = said(&(struct emit_settings) { .format = EMIT_CSV });

	(void)state;
	assert_string_equal(text, "duration_ns,1500\n"
				  "peak.count,1234\n"
				  "peak.share,25.000\n"
				  "bytes,function,stack\n"
				  "0,main,inner\n"
				  "2048,\"a,\"\"b\"\"\",inner < outer\n");
	free(text);
}

static void text_is_aligned(void **state)
{
	char *text = said(&(struct emit_settings) { .format = EMIT_TEXT });

	(void)state;
	assert_non_null(strstr(text, "  Bytes  Function  Stack\n"));
	assert_non_null(strstr(text, "    0 B  main      inner\n"));
	assert_non_null(strstr(text, "2.0 KiB  a,\"b\"     inner < outer\n"));
	assert_non_null(strstr(text, "1.50 us"));
	free(text);
}

static void a_long_table_streams_with_the_same_rows(void **state)
{
	enum { ROWS = 3000 };
	char *text = NULL, *line;
	size_t len = 0, lines = 0;
	FILE *out = open_memstream(&text, &len);
	struct emit *emit = emit_create(out, &(struct emit_settings) { .format = EMIT_TEXT });

	(void)state;
	emit_table(emit, NULL, columns, 2);
	for (uint64_t i = 0; i < ROWS; i++) {
		emit_row(emit);
		emit_u64(emit, "bytes", i, EMIT_PLAIN);
		emit_text(emit, "function", "f");
		emit_end(emit);
	}
	emit_end(emit);
	assert_null(emit_finish(emit));
	emit_destroy(emit);
	fclose(out);
	for (line = text; *line; line += strcspn(line, "\n") + 1, lines++)
		assert_true(lines == 0 || strtoull(line, NULL, 10) == lines - 1);
	assert_int_equal(lines, ROWS + 1);
	free(text);
}

static void a_full_disk_is_told(void **state)
{
	FILE *out = fopen("/dev/full", "w");
	struct emit *emit = emit_create(out, &(struct emit_settings) { .format = EMIT_JSON });
	struct err *err;

	(void)state;
	say(emit);
	err = emit_finish(emit);
	assert_non_null(err);
	assert_int_equal(err_errno_of(err), 28 /* ENOSPC */);
	err_destroy(err);
	emit_destroy(emit);
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_has_everything_exactly),
		cmocka_unit_test(csv_has_paths_and_tables),
		cmocka_unit_test(text_is_aligned),
		cmocka_unit_test(a_long_table_streams_with_the_same_rows),
		cmocka_unit_test(a_full_disk_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
