/*
 * api_trees: the tree of functions requested by a call.
 */
#ifndef MEMTAPE_HTTP_API_TREES_H
#define MEMTAPE_HTTP_API_TREES_H

#include "http/api_parts.h"
#include "trees/tree.h"

/* The words of `dir`. */
extern const char *const api_direction_words[];

#define API_PARAM_DIRECTION                                                                        \
	{                                                                                          \
		.name = "dir", .kind = PARAM_CHOICE, .words = api_direction_words,                 \
		.doc = "down: from main to those who allocate; up: from them to main",             \
		.missing = "down"                                                                  \
	}

struct api_tree_settings {
	const char *path; /* the parameter with the path from the root */
	uint32_t share_min;
	uint32_t depth_max; /* below the end of the path */
	enum walk_mode mode;
	bool merges_recursion;
	bool has_hidden; /* parameters `hide` and `hide_modules` exist */
	bool has_focus;	 /* parameter `focus` exists */
};

struct api_tree {
	struct names *names;
	struct sums sums;     /* with totals */
	const uint64_t *path; /* hashes from the root on, that of the focus first */
	size_t path_count;
	struct tree tree;
	const struct model_scan *scan; /* of METRIC_RETAINED; else NULL */
	bool is_part;		       /* incomplete: only some of all nodes were visited */
};

/* From the parameters m, at, scan, dir and those of a selection. */
struct err *api_tree_find(struct call *call, const struct api_tree_settings *settings,
			  struct api_tree *tree_ret);

#endif
