/*
 * flame: a tree as a flame graph in one SVG file that needs nothing else. Without script it is a
 * picture; in a browser it zooms, searches and has tooltips. Every text in it is escaped.
 */
#ifndef MEMTAPE_PLOT_FLAME_H
#define MEMTAPE_PLOT_FLAME_H

#include "base/str.h"
#include "plot/flame_palette.h"
#include "trees/tree.h"

enum {
	FLAME_WIDTH = 1200, /* pixels, where nobody says how wide the window is */
	FLAME_WIDTH_MIN = 640,
	FLAME_WIDTH_MAX = 1 << 15,
	FLAME_ROW = 20, /* of a frame, with the gap */
	FLAME_ROW_MIN = 8,
	FLAME_ROW_MAX = 200,
	FLAME_FONT = 11, /* of labels */
	FLAME_FONT_MIN = 4,
	FLAME_FONT_MAX = 72,
	FLAME_FRAMES_MAX = 16384, /* smaller frames are left out, and the picture says so */
	FLAME_DEPTH_MAX = 512
};

/* Behind the frames: the browser's light or dark paper, or always the same from top to bottom. */
struct flame_ground {
	bool is_set;
	uint32_t top, bottom; /* 0xrrggbb */
};

/* How it looks: all zeros is the usual. */
struct flame_look {
	enum flame_palette palette;
	unsigned width, row, font; /* pixels; 0: FLAME_WIDTH (or the window's), _ROW, _FONT */
	const char *font_family;   /* flame_font_is_plain; NULL: the system's */
	struct flame_ground ground;
	const char *count_name; /* what widths mean; NULL: the metric's name */
	const char *name_type;	/* before a function's name, "Function:"; NULL: nothing */
	const char *notes;	/* to be kept in the file, not shown; NULL: none */
	bool is_negated;	/* of differences: colours the other way round */
};

struct flame_settings {
	const char *title;
	const char *subtitle;
	bool is_icicle;	   /* root on top */
	bool is_inverted;  /* the tree is bottom-up: a child is a caller */
	bool is_time;	   /* bytes are nanoseconds, of calls */
	bool is_moment;	   /* of sums_at: what was alive stands for the peak and for leaked */
	bool is_part;	   /* goes into a page, of which it takes the width */
	size_t frames_max; /* 0: FLAME_FRAMES_MAX */
	struct flame_look look;
};

/* What a page's policy calls the styles and the script of a picture that is a part of it. */
extern const char *const flame_style_hash;
extern const char *const flame_script_hash;

/* Letters, digits, blanks, commas, - and _: a list of fonts that needs no quoting in CSS. */
bool flame_font_is_plain(const char *family);

/* "yellow", "blue", "green", "grey" or "#rrggbb"; false: it is none. */
bool flame_ground_parse(const char *text, struct flame_ground *ground_ret);

/* A subtree this small is not worth a node of the tree: for tree_settings.value_min. */
uint64_t flame_value_min(uint64_t total);

struct err *flame_svg(const struct tree *tree, const struct names *names,
		      const struct flame_settings *settings, struct str *out);

/* The same of two tapes: blue has less, orange has more. */
struct diff_tree;
struct err *flame_diff_svg(const struct diff_tree *tree, const struct flame_settings *settings,
			   struct str *out);

#endif
