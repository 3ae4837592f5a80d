/*
 * flame: a tree as a flame graph in one self-contained SVG file. Without script it is a static
 * picture; in a browser it zooms, searches and has tooltips. All strings in it are escaped.
 */
#ifndef MEMTAPE_PLOT_FLAME_H
#define MEMTAPE_PLOT_FLAME_H

#include "base/str.h"
#include "plot/flame_palette.h"
#include "trees/tree.h"

enum {
	FLAME_WIDTH = 1200, /* pixels, if the window's width is unknown */
	FLAME_WIDTH_MIN = 640,
	FLAME_WIDTH_MAX = 1 << 15,
	FLAME_ROW = 20, /* of a frame, including the gap */
	FLAME_ROW_MIN = 8,
	FLAME_ROW_MAX = 200,
	FLAME_FONT = 11, /* of labels */
	FLAME_FONT_MIN = 4,
	FLAME_FONT_MAX = 72,
	FLAME_FRAMES_MAX = 16384, /* smaller frames are left out, and the picture says so */
	FLAME_DEPTH_MAX = 512
};

/* Background: the browser's light or dark one, or a fixed vertical gradient. */
struct flame_ground {
	bool is_set;
	uint32_t top, bottom; /* 0xrrggbb */
};

/* Appearance: all zeros is the default. */
struct flame_look {
	enum flame_palette palette;
	unsigned width, row, font; /* pixels; 0: FLAME_WIDTH (or the window's), _ROW, _FONT */
	const char *font_family;   /* flame_font_is_plain; NULL: the system's */
	struct flame_ground ground;
	const char *count_name; /* meaning of widths; NULL: the metric's name */
	const char *name_type;	/* before a function's name, "Function:"; NULL: nothing */
	const char *notes;	/* kept in the file, not displayed; NULL: none */
	bool is_negated;	/* for differences: colours swapped */
};

struct flame_settings {
	const char *title;
	const char *subtitle;
	bool is_icicle;	   /* root at the top */
	bool is_inverted;  /* the tree is bottom-up: a child is a caller */
	bool is_time;	   /* bytes are nanoseconds of calls */
	bool is_moment;	   /* for sums_at: live bytes are stored as peak and as leaked */
	bool is_part;	   /* part of a page, whose width it takes */
	size_t frames_max; /* 0: FLAME_FRAMES_MAX */
	bool goes_on;	   /* the tape ends before its program: model_goes_on() */
	struct flame_look look;
};

/* Hashes of the styles and script of an embedded picture, for the page's content policy. */
extern const char *const flame_style_hash;
extern const char *const flame_script_hash;

/* Letters, digits, blanks, commas, - and _: a font list that needs no quoting in CSS. */
bool flame_font_is_plain(const char *family);

/* "yellow", "blue", "green", "grey" or "#rrggbb"; false: not one of these. */
bool flame_ground_parse(const char *text, struct flame_ground *ground_ret);

/* Smaller subtrees need no node in the tree: for tree_settings.value_min. */
uint64_t flame_value_min(uint64_t total);

struct err *flame_svg(const struct tree *tree, const struct names *names,
		      const struct flame_settings *settings, struct str *out);

/* The same for two tapes: blue means less, orange more. */
struct diff_tree;
struct err *flame_diff_svg(const struct diff_tree *tree, const struct flame_settings *settings,
			   struct str *out);

#endif
