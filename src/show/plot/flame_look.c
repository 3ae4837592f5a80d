/* The configurable appearance of a flame graph: sizes, fonts, background. */
#include <assert.h>

#include "plot/flame_parts.h"

bool flame_font_is_plain(const char *family)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,_-";

	assert(family);
	return *family && strspn(family, plain) == strlen(family);
}

static bool hex_parse(const char *text, uint32_t *rgb_ret)
{
	uint32_t rgb = 0;

	if (strlen(text) != 6)
		return false;
	for (; *text; text++) {
		const char *digits = "0123456789abcdef";
		const char *at = strchr(digits, *text >= 'A' && *text <= 'F' ? *text + 32 : *text);

		if (!at)
			return false;
		rgb = rgb << 4 | (uint32_t)(at - digits);
	}
	*rgb_ret = rgb;
	return true;
}

bool flame_ground_parse(const char *text, struct flame_ground *ground_ret)
{
	/* As in flamegraph.pl: lighter at the top. */
	static const struct {
		const char *name;
		uint32_t top, bottom;
	} grounds[] = {
		{ "yellow", 0xeeeeee, 0xeeeeb0 }, { "blue", 0xeeeeee, 0xe0e0ff },
		{ "green", 0xeef2ee, 0xe0ffe0 },  { "grey", 0xf8f8f8, 0xe8e8e8 },
		{ "gray", 0xf8f8f8, 0xe8e8e8 },
	};
	uint32_t rgb;

	for (size_t i = 0; i < array_size(grounds); i++) {
		if (strcmp(text, grounds[i].name) == 0) {
			*ground_ret =
				(struct flame_ground) { true, grounds[i].top, grounds[i].bottom };
			return true;
		}
	}
	if (text[0] != '#' || !hex_parse(text + 1, &rgb))
		return false;
	*ground_ret = (struct flame_ground) { true, rgb, rgb };
	return true;
}

unsigned flame_brightness(uint32_t rgb)
{
	assert(rgb <= 0xffffff);
	return ((rgb >> 16 & 255) * 299 + (rgb >> 8 & 255) * 587 + (rgb & 255) * 114) / 1000;
}

static void ground_write(struct str *out, const struct flame_ground *ground)
{
	const bool is_dark = flame_brightness(ground->top) < 128;

	/* A fixed background whatever the browser's theme, so fixed text colours. */
	str_printf(out, "svg { --paper: #%06x; --ink: %s; --soft: %s; }\n", ground->top,
		   is_dark ? "#ffffff" : "#1c2430", is_dark ? "#d4d9df" : "#4a5462");
	if (ground->top != ground->bottom)
		str_add(out, "#ground { fill: url(#shade); }\n");
}

void flame_look_write(const struct flame_picture *picture)
{
	const struct flame_look *look = &picture->settings->look;
	const struct flame_ground *ground = &look->ground;
	struct str *out = picture->out;

	if (!look->font && !look->font_family && !ground->is_set &&
	    look->palette == FLAME_BY_MODULE)
		return;
	str_add(out, "<style>\n");
	if (ground->is_set)
		ground_write(out, ground);
	if (look->font_family && flame_font_is_plain(look->font_family))
		str_printf(out, "svg, #labels text, .mono, #search { font-family: %s; }\n",
			   look->font_family);
	if (look->font)
		str_printf(out, "#labels text { font-size: %upx; }\n", picture->font);
	/* Bright on any background; matches must stand out from all colours. */
	if (look->palette != FLAME_BY_MODULE && !picture->is_diff)
		str_add(out, "#labels text { fill: #1c2430; }\n"
			     "#frames rect.hit { fill: #e600e6; }\n");
	str_add(out, "</style>\n");
	if (ground->is_set && ground->top != ground->bottom)
		str_printf(out,
			   "<defs><linearGradient id=\"shade\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"1\">"
			   "<stop offset=\"0\" stop-color=\"#%06x\"/>"
			   "<stop offset=\"1\" stop-color=\"#%06x\"/></linearGradient></defs>\n",
			   ground->top, ground->bottom);
}
