/*
 * flame_options: appearance options for commands that draw a flame graph: embed the struct in the
 * command's options, and append its rows.
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
	uint64_t width, height, font_size; /* 0: not given */
};

#define FLAME_LOOK_ROW(settings, member, field)                                                    \
	(offsetof(settings, member) + offsetof(struct flame_look_options, field))

/* clang-format off */
#define FLAME_LOOK_OPTIONS(settings, member)                                                       \
	{ "title", 0, "TEXT", OPTION_TEXT, FLAME_LOOK_ROW(settings, member, title),                \
	  "flame graph: title, instead of the metric and its total" },                             \
	{ "subtitle", 0, "TEXT", OPTION_TEXT, FLAME_LOOK_ROW(settings, member, subtitle),          \
	  "flame graph: subtitle, instead of what was recorded" },                                 \
	{ "count-name", 0, "TEXT", OPTION_TEXT, FLAME_LOOK_ROW(settings, member, count_name),      \
	  "flame graph: name of the counts in tooltips" },                                         \
	{ "name-type", 0, "TEXT", OPTION_TEXT, FLAME_LOOK_ROW(settings, member, name_type),        \
	  "flame graph: prefix of names in tooltips (default: Function:)" },                       \
	{ "notes", 0, "TEXT", OPTION_TEXT, FLAME_LOOK_ROW(settings, member, notes),                \
	  "flame graph: text stored in the file as its description" },                             \
	{ "width", 0, "PIXELS", OPTION_U64, FLAME_LOOK_ROW(settings, member, width),               \
	  "flame graph: fixed width, instead of the window's" },                                   \
	{ "height", 0, "PIXELS", OPTION_U64, FLAME_LOOK_ROW(settings, member, height),             \
	  "flame graph: height of a frame (default: 20)" },                                        \
	{ "font-type", 0, "FONT", OPTION_TEXT, FLAME_LOOK_ROW(settings, member, font_type),        \
	  "flame graph: font; of several separated by commas, the first available" },              \
	{ "font-size", 0, "PIXELS", OPTION_U64, FLAME_LOOK_ROW(settings, member, font_size),       \
	  "flame graph: font size in frames (default: 11)" },                                      \
	{ "bg-colors", 0, "COLOR", OPTION_TEXT, FLAME_LOOK_ROW(settings, member, bg_colors),       \
	  "flame graph: background (yellow, blue, green, grey or #rrggbb), in light and dark mode" }
/* clang-format on */

/* Sets the given options in look, leaves the rest. ERR_USAGE: invalid values. */
struct err *flame_look_make(const struct flame_look_options *options, struct flame_look *look);

/* Whether any of these options was given. */
bool flame_look_is_asked(const struct flame_look_options *options);

/* "2", "0.5" (pixels, of `width`) or "1%" -> parts of FLAME_SHARE. ERR_USAGE. */
struct err *flame_min_width_parse(const char *text, unsigned width, uint64_t *share_ret);

#endif
