/*
 * api_boxes: what answers that are flame graphs have in common: how large they may be, and the
 * parameters that say which part is drawn, and how wide.
 */
#ifndef MEMTAPE_HTTP_API_BOXES_H
#define MEMTAPE_HTTP_API_BOXES_H

enum {
	API_BOXES_MAX = 40000,
	API_BOXES_DEPTH_MAX = 2000,
	API_BOXES_PIXELS = 2000,
	API_BOXES_PIXELS_MAX = 8192,
	API_BOXES_PER_PIXEL = 2 /* a box that is narrower is joined */
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

#endif
