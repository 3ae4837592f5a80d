/*
 * flame: a tree as a flame graph in one SVG file that needs nothing else. Without script it is a
 * picture; in a browser it zooms, searches and tells. Every text in it is escaped.
 */
#ifndef MEMTAPE_PLOT_FLAME_H
#define MEMTAPE_PLOT_FLAME_H

#include "base/str.h"
#include "query/tree.h"

struct flame_settings {
	const char *title;
	const char *subtitle;
	bool is_icicle;	  /* root on top */
	bool is_inverted; /* the tree is bottom-up: a child is a caller */
	bool is_time;	  /* bytes are nanoseconds, of calls */
};

enum {
	FLAME_WIDTH = 1200,	  /* pixels, where nobody says how wide the window is */
	FLAME_FRAMES_MAX = 16384, /* smaller frames are left out, and the picture says so */
	FLAME_DEPTH_MAX = 512
};

/* A subtree this small is not worth a node of the tree: for tree_settings.value_min. */
uint64_t flame_value_min(uint64_t total);

struct err *flame_svg(const struct tree *tree, const struct names *names,
		      const struct flame_settings *settings, struct str *out);

/* The same of two tapes: blue has less, orange has more. */
struct diff_tree;
struct err *flame_diff_svg(const struct diff_tree *tree, const struct flame_settings *settings,
			   struct str *out);

#endif
