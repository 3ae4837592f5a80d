/*
 * flame_options: how a flame graph looks, for the commands that draw one: put it in the options,
 * and its rows below.
 */
#ifndef MEMTAPE_CLI_FLAME_OPTIONS_H
#define MEMTAPE_CLI_FLAME_OPTIONS_H

#include "base/options.h"
#include "plot/flame_tape.h"

struct flame_look_options {
	const char *title;
	const char *subtitle;
	const char *count_name;
	const char *name_type;
	const char *notes;
	const char *font_type;
	const char *bg_colors;
	uint64_t width, height, font_size; /* 0: not said */
};

#define FLAME_LOOK_ROW(settings, member, field)                                                    \
	(offsetof(settings, member) + offsetof(struct flame_look_options, field))

/* clang-format off */
#define FLAME_LOOK_OPTIONS(settings, member)                                                       \
	{ "title", 0, "TEXT", OPTION_TEXT, FLAME_LOOK_ROW(settings, member, title),                \
	  "flame graph: this title instead of what is drawn and how much it is" },                 \
	{ "subtitle", 0, "TEXT", OPTION_TEXT, FLAME_LOOK_ROW(settings, member, subtitle),          \
	  "flame graph: this line below it instead of what was recorded" },                        \
	{ "count-name", 0, "TEXT", OPTION_TEXT, FLAME_LOOK_ROW(settings, member, count_name),      \
	  "flame graph: what widths mean, in tooltips" },                                          \
	{ "name-type", 0, "TEXT", OPTION_TEXT, FLAME_LOOK_ROW(settings, member, name_type),        \
	  "flame graph: this before names in tooltips (Function:)" },                              \
	{ "notes", 0, "TEXT", OPTION_TEXT, FLAME_LOOK_ROW(settings, member, notes),                \
	  "flame graph: this text in the file, as its description" },                              \
	{ "width", 0, "PIXELS", OPTION_U64, FLAME_LOOK_ROW(settings, member, width),               \
	  "flame graph: as wide as this, not as the window" },                                     \
	{ "height", 0, "PIXELS", OPTION_U64, FLAME_LOOK_ROW(settings, member, height),             \
	  "flame graph: frames as high as this (20 if not given)" },                               \
	{ "font-type", 0, "FONT", OPTION_TEXT, FLAME_LOOK_ROW(settings, member, font_type),        \
	  "flame graph: this font, or the first there is of several with commas" },                \
	{ "font-size", 0, "PIXELS", OPTION_U64, FLAME_LOOK_ROW(settings, member, font_size),       \
	  "flame graph: letters in frames as large as this (11 if not given)" },                   \
	{ "bg-colors", 0, "COLOR", OPTION_TEXT, FLAME_LOOK_ROW(settings, member, bg_colors),       \
	  "flame graph: this behind it (yellow, blue, green, grey or #rrggbb), in light and dark" }
/* clang-format on */

/* Into look, of which the rest stays as it is. ERR_USAGE: what cannot be drawn so. */
struct err *flame_look_make(const struct flame_look_options *options, struct flame_look *look);

/* Whether any of it was asked for. */
bool flame_look_is_asked(const struct flame_look_options *options);

/* "2", "0.5" (pixels of so many) or "1%" -> parts of FLAME_SHARE. ERR_USAGE. */
struct err *flame_min_width_parse(const char *text, unsigned width, uint64_t *share_ret);

#endif
