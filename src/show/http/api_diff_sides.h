/*
 * api_diff_sides: the two sums to compare: of two tapes, or of two moments or spans of time of one.
 */
#ifndef MEMTAPE_HTTP_API_DIFF_SIDES_H
#define MEMTAPE_HTTP_API_DIFF_SIDES_H

#include "answer/diff.h"
#include "http/api_parts.h"

/* The parameters that define the sides; c is A. */
#define API_PARAMS_DIFF                                                                            \
	{ .name = "b",                                                                             \
	  .kind = PARAM_TEXT,                                                                      \
	  .doc = "the tape to compare with: its id, or last",                                      \
	  .missing = "the same tape at another moment" },                                          \
		{ .name = "m",                                                                     \
		  .kind = PARAM_CHOICE,                                                            \
		  .words = metric_words_all,                                                       \
		  .doc = "what is compared",                                                       \
		  .missing = "peak; live when there are moments" },                                \
		{ .name = "a_at",                                                                  \
		  .kind = PARAM_MOMENT,                                                            \
		  .doc = "the moment of A of m=live",                                              \
		  .missing = "the peak; neither, and no b: the pair of /api/v1/tape" },            \
		{ .name = "b_at",                                                                  \
		  .kind = PARAM_MOMENT,                                                            \
		  .doc = "the moment of B of m=live",                                              \
		  .missing = "the peak" },                                                         \
		{ .name = "a_from",                                                                \
		  .kind = PARAM_MOMENT,                                                            \
		  .doc = "where the time begins that is looked at of A",                           \
		  .missing = "from" },                                                             \
		{ .name = "a_until",                                                               \
		  .kind = PARAM_MOMENT,                                                            \
		  .doc = "where it ends",                                                          \
		  .missing = "until" },                                                            \
		{ .name = "b_from",                                                                \
		  .kind = PARAM_MOMENT,                                                            \
		  .doc = "where the time begins that is looked at of B",                           \
		  .missing = "from" },                                                             \
		{ .name = "b_until",                                                               \
		  .kind = PARAM_MOMENT,                                                            \
		  .doc = "where it ends",                                                          \
		  .missing = "until" },                                                            \
		{ .name = "a_per",                                                                 \
		  .kind = PARAM_NUMBER,                                                            \
		  .min = 1,                                                                        \
		  .max = GATE_UNITS_MAX,                                                           \
		  .fallback = 1,                                                                   \
		  .doc = "units of work that A did: values are divided by it",                     \
		  .missing = "1" },                                                                \
		{ .name = "b_per",                                                                 \
		  .kind = PARAM_NUMBER,                                                            \
		  .min = 1,                                                                        \
		  .max = GATE_UNITS_MAX,                                                           \
		  .fallback = 1,                                                                   \
		  .doc = "units of work that B did",                                               \
		  .missing = "1" },                                                                \
		API_PARAM_FRAMES

/* The other tape, and what must be released when the answer is written. */
struct api_diff_sides {
	struct call calls[DIFF_SIDES]; /* one per tape, each with what it keeps */
	bool is_other_held;	       /* B's tape must be released */
	enum metric asked;	       /* as given in the parameter */
	struct diff_pair pair;	       /* if settings.pair is set */
	struct parameters with[DIFF_SIDES];
	struct diff_settings settings;
	struct diff_subject subjects[DIFF_SIDES];
};

/* Both sides, summed, valid until the call ends; the caller sets settings->by. */
struct err *api_diff_sides_find(struct call *call, struct api_diff_sides **sides_ret);

#endif
