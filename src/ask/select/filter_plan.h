/*
 * filter_plan: a compiled filter. Internal to select.
 *
 * Tests of anything but the row itself are bitmaps over stacks or over the ids of a text field;
 * tests of the row are ranges of its values.
 */
#ifndef MEMTAPE_SELECT_FILTER_PLAN_H
#define MEMTAPE_SELECT_FILTER_PLAN_H

#include "select/filter.h"
#include "select/regex.h"

enum plan_kind {
	PLAN_AND,
	PLAN_OR,
	PLAN_NOT,
	PLAN_ALL,
	PLAN_NOTHING,
	PLAN_RANGES,  /* the field's value is in one of the ranges */
	PLAN_COMPARE, /* the field's value is between those of two others */
	PLAN_IDS,     /* the field's value, an id, has its bit set */
	PLAN_STACKS   /* the stack in the column has its bit set */
};

struct plan_range {
	uint64_t low;
	uint64_t high; /* inclusive; less than FIELD_NONE */
};

struct plan {
	enum plan_kind kind;
	unsigned cost; /* nanoseconds per row, roughly: cheap parts are evaluated first */
	struct plan **parts;
	size_t part_count;
	const struct field *field; /* RANGES, IDS */
	/* COMPARE; NULL: the bound is in ranges[0] */
	const struct field *low, *high;
	bool low_is_open, high_is_open;
	struct plan_range *ranges; /* ascending, disjoint */
	size_t range_count;
	bool takes_none;	  /* RANGES, IDS: matches rows without a value */
	enum model_column column; /* STACKS */
	uint64_t *bits;		  /* STACKS: by stack; IDS: by id */
	size_t bit_count;
};

struct filter {
	const struct facts *facts;
	const struct plan *plan;
};

/* The compiler's state. */
struct compiler {
	const char *text;
	struct facts *facts;
	const struct sweep_limits *limits;
};

/* A node in the arena; NULL: no memory. */
struct plan *plan_new(const struct compiler *compiler, enum plan_kind kind);

/* A plan for a text test: STACKS for fields of frames, IDS or STACKS for text fields. */
struct err *compile_text(struct compiler *compiler, const struct expr *expr,
			 struct plan **plan_ret);

/*
 * The value in its field's unit; a percentage of whole that is between two values is rounded up
 * (is_up) or down.
 */
struct err *value_resolve(const struct compiler *compiler, const struct expr_value *value,
			  uint64_t whole, bool is_up, uint64_t *number_ret);

/* The same for both ends; *is_empty_ret: the range is empty. */
struct err *item_resolve(const struct compiler *compiler, const struct expr_item *item,
			 uint64_t whole, struct plan_range *range, bool *is_empty_ret);

/* Number ranges in a field's unit; whole: 100 % for percentages. */
struct err *compile_ranges(const struct compiler *compiler, const struct expr *expr, uint64_t whole,
			   struct plan *plan);

/* Whether a value is in the plan's ranges. */
bool plan_ranges_have(const struct plan *plan, uint64_t value);

#endif
