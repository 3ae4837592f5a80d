#include "cli/flame_options.h"

#include <assert.h>

#include "base/number.h"

static struct err *pixels_check(const char *option, uint64_t pixels, unsigned least, unsigned most)
{
	if (pixels == 0 || (pixels >= least && pixels <= most))
		return NULL;
	return err_new(ERR_USAGE, "%s %llu: from %u to %u pixels", option,
		       (unsigned long long)pixels, least, most);
}

struct err *flame_look_make(const struct flame_look_options *options, struct flame_look *look)
{
	struct flame_ground ground = { 0 };
	struct err *err = pixels_check("--width", options->width, FLAME_WIDTH_MIN, FLAME_WIDTH_MAX);

	if (!err)
		err = pixels_check("--height", options->height, FLAME_ROW_MIN, FLAME_ROW_MAX);
	if (!err)
		err = pixels_check("--font-size", options->font_size, FLAME_FONT_MIN,
				   FLAME_FONT_MAX);
	if (err)
		return err;
	if (options->font_type && !flame_font_is_plain(options->font_type))
		return err_new(ERR_USAGE,
			       "--font-type %s: names of fonts have letters, digits, blanks, - and "
			       "_, and commas between them",
			       options->font_type);
	if (options->bg_colors && !flame_ground_parse(options->bg_colors, &ground))
		return err_new(ERR_USAGE,
			       "--bg-colors %s: yellow, blue, green, grey, or a colour as #rrggbb",
			       options->bg_colors);
	look->width = (unsigned)options->width;
	look->row = (unsigned)options->height;
	look->font = (unsigned)options->font_size;
	look->font_family = options->font_type;
	look->ground = ground;
	look->count_name = options->count_name;
	look->name_type = options->name_type;
	look->notes = options->notes;
	return NULL;
}

bool flame_look_is_asked(const struct flame_look_options *options)
{
	return options->title || options->subtitle || options->count_name || options->name_type ||
	       options->notes || options->font_type || options->bg_colors || options->width ||
	       options->height || options->font_size;
}

/* Parses "12.345" as thousandths; *rest_ret: the text after it. false: not a number. */
static bool thousandths_parse(const char *text, uint64_t *value_ret, const char **rest_ret)
{
	enum { WHOLE_DIGITS = 6, PART_DIGITS = 3 };
	size_t digits = strspn(text, "0123456789");
	uint64_t value = 0;

	if (digits > WHOLE_DIGITS)
		return false;
	for (size_t i = 0; i < digits; i++)
		value = value * 10 + (uint64_t)(*text++ - '0');
	if (*text == '.') {
		text++;
		for (size_t i = 0; i < PART_DIGITS; i++) {
			const bool has_digit = *text >= '0' && *text <= '9';

			value = value * 10 + (has_digit ? (uint64_t)(*text - '0') : 0);
			text += has_digit;
			digits += has_digit;
		}
	} else {
		value *= 1000;
	}
	*value_ret = value;
	*rest_ret = text;
	return digits > 0;
}

struct err *flame_min_width_parse(const char *text, unsigned width, uint64_t *share_ret)
{
	const char *rest;
	uint64_t thousandths;
	uint64_t whole = (uint64_t)width * 1000;

	assert(width > 0);
	if (!thousandths_parse(text, &thousandths, &rest) || (*rest && strcmp(rest, "%") != 0))
		return err_new(
			ERR_USAGE,
			"--min-width %s: expected pixels such as 2 or 0.5, or a share such as 1%%",
			text);
	if (*rest)
		whole = 100 * 1000;
	if (thousandths > whole)
		return err_new(ERR_USAGE, "--min-width %s: greater than the picture's %u pixels",
			       text, width);
	*share_ret = u64_mul_div(thousandths, FLAME_SHARE, whole);
	return NULL;
}
