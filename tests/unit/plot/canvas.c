#include "../test.h"

#include "plot/canvas.h"

/* fontconfig keeps its patterns to the end of the program. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libfontconfig\n";
}

static const struct canvas_font font = { .size = 12, .rgba = 0x000000ff };

static struct canvas *create(enum canvas_format format)
{
	const struct canvas_settings settings = { format, 400, 300, 96, "a & <b>" };
	struct canvas *canvas = NULL;

	assert_null(canvas_create(&settings, &canvas));
	return canvas;
}

/* The whole file; NUL-terminated, to be freed. */
static char *written(struct canvas *canvas, size_t *len_ret)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len_ret);

	assert_non_null(out);
	assert_null(canvas_write(canvas, out));
	fclose(out);
	return text;
}

static void texts_are_escaped(void **state)
{
	CLEAN(canvas_destroy) struct canvas *canvas = create(CANVAS_SVG);
	CLEAN(free) char *text = NULL;
	size_t len;

	(void)state;
	canvas_text(canvas, (struct canvas_point) { 10, 20 }, &font, "</text>\001\377");
	canvas_rect(canvas, (struct canvas_box) { 1.25, 2, 3.5, 4 }, 0x11223380, "\"tip\" <x>");
	text = written(canvas, &len);
	assert_non_null(strstr(text, "<title>a &amp; &lt;b&gt;</title>"));
	assert_non_null(strstr(text, "&lt;/text&gt;"));
	assert_null(strchr(text, '\001'));
	assert_non_null(strstr(text, "x=\"1.25\" y=\"2\" width=\"3.5\" height=\"4\""));
	assert_non_null(strstr(text, "fill=\"#112233\" fill-opacity=\"0.5\""));
	assert_non_null(strstr(text, "&lt;x&gt;</title></rect>"));
}

/* Bytes that are no UTF-8 would make cairo fail, and everything after them. */
static void hostile_texts_are_drawn(void **state)
{
	static const enum canvas_format formats[] = { CANVAS_PNG, CANVAS_PDF };

	(void)state;
	for (size_t i = 0; i < array_size(formats); i++) {
		CLEAN(canvas_destroy) struct canvas *canvas = create(formats[i]);
		CLEAN(free) char *text = NULL;
		size_t len;

		canvas_text(canvas, (struct canvas_point) { 10, 20 }, &font,
			    "\xff\xfe\x80 \x1b[31m");
		text = written(canvas, &len);
		assert_true(len > 100);
		assert_memory_equal(text, formats[i] == CANVAS_PNG ? "\x89PNG" : "%PDF", 4);
	}
}

static void what_does_not_fit_is_cut_between_letters(void **state)
{
	CLEAN(canvas_destroy) struct canvas *canvas = create(CANVAS_SVG);
	CLEAN(str_deinit) struct str whole = { 0 };
	const char *text = "\u00fcber \u00e4llen Gipfeln ist Ruh";

	(void)state;
	canvas_text_fit(canvas, &font, text, 1000, &whole);
	assert_string_equal(str_text(&whole), text);
	for (double width = 0; width < 200; width += 3) {
		CLEAN(str_deinit) struct str cut = { 0 };

		canvas_text_fit(canvas, &font, text, width, &cut);
		assert_true(canvas_text_width(canvas, &font, str_text(&cut)) <= width);
		for (const char *at = str_text(&cut); *at; at += str_utf8_bytes(at))
			assert_true(str_utf8_bytes(at) > 0);
	}
}

static void sizes_are_checked(void **state)
{
	static const struct canvas_settings bad[] = {
		{ CANVAS_SVG, 10, 300, 96, NULL },	{ CANVAS_SVG, 300, 10, 96, NULL },
		{ CANVAS_SVG, 65535, 300, 96, NULL },	{ CANVAS_PNG, 300, 300, 0, NULL },
		{ CANVAS_PNG, 16384, 16384, 96, NULL }, { CANVAS_PNG, 4000, 4000, 1200, NULL },
	};
	struct canvas *canvas = NULL;

	(void)state;
	for (size_t i = 0; i < array_size(bad); i++) {
		struct err *err = canvas_create(&bad[i], &canvas);

		assert_non_null(err);
		assert_int_equal(err_code_of(err), ERR_USAGE);
		err_destroy(err);
	}
	assert_null(canvas);
}

static void endings_are_formats(void **state)
{
	enum canvas_format format;

	(void)state;
	assert_true(canvas_format_of("a.b/c.SVG", &format) && format == CANVAS_SVG);
	assert_true(canvas_format_of(".png", &format) && format == CANVAS_PNG);
	assert_true(canvas_format_of("x.pdf", &format) && format == CANVAS_PDF);
	assert_false(canvas_format_of("svg", &format));
	assert_false(canvas_format_of("", &format));
	assert_false(canvas_format_of("x.svg.gz", &format));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_escaped),
		cmocka_unit_test(hostile_texts_are_drawn),
		cmocka_unit_test(what_does_not_fit_is_cut_between_letters),
		cmocka_unit_test(sizes_are_checked),
		cmocka_unit_test(endings_are_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
