/*
 * api_parts: what answers about allocations have in common.
 */
#ifndef MEMTAPE_HTTP_API_PARTS_H
#define MEMTAPE_HTTP_API_PARTS_H

#include "groups/groups.h"
#include "groups/measure.h"
#include "http/call.h"

/* The selection of q, from and until with names that are ready. */
struct err *api_select(struct call *call, const struct selection **selection_ret);

/* The parameters of what is measured: words for `m`, and its `at`; the peak when not given. */
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
#define API_PARAM_OFF                                                                              \
	{                                                                                          \
		.name = "off", .kind = PARAM_NUMBER, .doc = "rows to pass over", .missing = "0"    \
	}
#define API_PARAM_N                                                                                \
	{                                                                                          \
		.name = "n", .kind = PARAM_NUMBER, .min = 1, .max = 200, .fallback = 50,           \
		.doc = "rows at most", .missing = "50"                                             \
	}

/* The words of `order`. */
extern const char *const api_order_words[];

#define API_PARAM_ORDER                                                                            \
	{                                                                                          \
		.name = "order", .kind = PARAM_CHOICE, .words = api_order_words,                   \
		.doc = "ascending or descending", .missing = "what one wants to see first"         \
	}

struct err *api_at(struct call *call, uint64_t *at_ns_ret);

/* Where what is shown over time begins and ends; the end is later than the beginning. */
struct api_range {
	uint64_t from_ns;
	uint64_t until_ns; /* exclusive */
};

struct err *api_range(struct call *call, struct api_range *range_ret);

/* --- members of answers -------------------------------------------------------------------- */

void api_sum(struct emit *emit, const char *key, struct model_sum sum);
/* The same, left open for more. */
void api_sum_begin(struct emit *emit, const char *key, struct model_sum sum);

/* hash, function, module, file and line. */
void api_function(struct call *call, const struct names *names, const struct name_frame *frame);

/* The same without a hash: of a function that its lines tell apart. */
const char *api_module(const struct name *name);

/* A list of frames, innermost first, at most frame_max. */
void api_stack(struct call *call, struct names *names, const char *key, uint32_t stack,
	       size_t frame_max);

/* Decimal digits as a text: of numbers that are only names. */
void api_key(struct emit *emit, const char *key, uint64_t value);

#endif
