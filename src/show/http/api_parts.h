/*
 * api_parts: shared by answers about allocations.
 */
#ifndef MEMTAPE_HTTP_API_PARTS_H
#define MEMTAPE_HTTP_API_PARTS_H

#include "answer/shape.h"
#include "groups/groups.h"
#include "groups/measure.h"
#include "http/call.h"

/* The selection of q, from and until, with names ready. */
struct err *api_select(struct call *call, const struct selection **selection_ret);

/* The measure's parameters: words for `m`, its `at` and its `scan`; defaults to the peak. */
#define API_PARAM_MEASURE                                                                          \
	{                                                                                          \
		.name = "m", .kind = PARAM_CHOICE, .words = metric_words_all,                      \
		.doc = "what is measured: bytes alive at the peak, alive at `at`, allocated ...",  \
		.missing = "peak"                                                                  \
	}
#define API_PARAM_AT                                                                               \
	{                                                                                          \
		.name = "at", .kind = PARAM_MOMENT, .doc = "the moment of m=live",                 \
		.missing = "the peak"                                                              \
	}
#define API_PARAM_SCAN                                                                             \
	{                                                                                          \
		.name = "scan", .kind = PARAM_NUMBER, .min = 1, .max = UINT32_MAX,                 \
		.doc = "number of the leak scan of m=retained", .missing = "the last one"          \
	}
#define API_PARAM_OFF                                                                              \
	{                                                                                          \
		.name = "off", .kind = PARAM_NUMBER, .doc = "rows to pass over", .missing = "0"    \
	}
#define API_PARAM_N                                                                                \
	{                                                                                          \
		.name = "n", .kind = PARAM_NUMBER, .min = 1, .max = 200, .fallback = 50,           \
		.doc = "rows at most", .missing = "50"                                             \
	}

#define API_PARAM_FRAMES                                                                           \
	{                                                                                          \
		.name = "frames", .kind = PARAM_CHOICE, .words = walk_mode_words,                  \
		.doc = "my: the user's own code allocates; exact: libraries too; all: allocators " \
		       "and program start too",                                                    \
		.missing = "my"                                                                    \
	}

/* By `frames`. */
enum walk_mode api_frames(struct call *call);

/* The words of `order`. */
extern const char *const api_order_words[];

#define API_PARAM_ORDER                                                                            \
	{                                                                                          \
		.name = "order", .kind = PARAM_CHOICE, .words = api_order_words,                   \
		.doc = "ascending or descending", .missing = "what one wants to see first"         \
	}

struct err *api_at(struct call *call, uint64_t *at_ns_ret);

/* By m, at and scan. ERR_NOT_FOUND: the tape has no such scan. */
struct err *api_measure(struct call *call, struct measure *measure_ret);

/* Beginning and end of a time range; the end is later than the beginning. */
struct api_range {
	uint64_t from_ns;
	uint64_t until_ns; /* exclusive */
};

struct err *api_range(struct call *call, struct api_range *range_ret);

/* --- members of answers -------------------------------------------------------------------- */

/* "bytes" or "count" */
extern const char *const api_unit_words[];
const char *api_unit(enum metric metric);

/* A function and the location in it; for clients that use short module names. */
struct api_function {
	uint64_t hash;
	const char *function, *brief, *module, *file;
	uint64_t line;
};

extern const struct shape api_shape_function;

/* Borrows from names. */
struct api_function api_function_of(const struct model *model, const struct names *names,
				    const struct name_frame *frame);

/* NULL: outside of every module. */
const char *api_module(const struct name *name);

/* "memtape.sort.1234.folded" of the call's tape: needs no quoting. In the arena; NULL: out of memory. */
char *api_file_name(struct call *call, const char *suffix);

#endif
