/*
 * api_boxes: shared by answers that are flame graphs: limits of size, the parameters for the part
 * drawn and its width, and boxes as columns of equal length, parents before children, siblings from
 * left to right; box 0 is the root.
 */
#ifndef MEMTAPE_HTTP_API_BOXES_H
#define MEMTAPE_HTTP_API_BOXES_H

#include "http/api_parts.h"

enum {
	API_BOXES_MAX = 40000,
	API_BOXES_DEPTH_MAX = 2000,
	API_BOXES_PIXELS = 2000,
	API_BOXES_PIXELS_MAX = 8192,
	API_BOXES_PER_PIXEL = 2 /* narrower boxes are merged */
};

#define API_PARAM_ROOT                                                                             \
	{                                                                                          \
		.name = "root", .kind = PARAM_PATH,                                                \
		.doc = "what is enlarged: the hashes of functions from the outermost box to it"    \
	}

#define API_PARAM_PIXELS                                                                           \
	{                                                                                          \
		.name = "px", .kind = PARAM_NUMBER, .min = 1, .max = API_BOXES_PIXELS_MAX,         \
		.fallback = API_BOXES_PIXELS,                                                      \
		.doc = "how wide it is drawn: what is under half a pixel is joined",               \
		.missing = "2000"                                                                  \
	}

/* A box without its values. */
struct api_box {
	const struct name *name; /* of its function; NULL: merged small boxes */
	uint32_t parent;	 /* index; UINT32_MAX for the first */
	uint32_t depth;
	uint64_t count;
	const char *file; /* NULL: unknown */
	uint32_t line;
};

/* The name of the box that is not a function. */
extern const struct name api_boxes_all;

/* Common to all flame graphs. */
struct api_boxes {
	uint64_t boxes, of;
	struct shape_numbers root;
	struct shape_texts root_names, root_briefs;
	struct shape_texts names, briefs, modules;
	struct shape_numbers hashes;
	struct shape_indexes name_module, role;
	struct shape_indexes name, parent, depth;
	struct shape_texts file;
	struct shape_indexes line;
	struct shape_numbers count;
};

extern const struct shape api_shape_boxes;

/* The hash of a box's function. */
typedef uint64_t api_box_hash(const void *context, size_t box);

/* Fills everything but `of` and the root's. Lives in the arena. */
struct err *api_boxes_fill(const struct api_box *boxes, size_t count, api_box_hash *hash,
			   const void *context, struct arena *arena, struct api_boxes *filled);

#endif
