/*
 * diff: compares two sums: of two tapes, or of two moments of one.
 *
 * Rows are matched by name alone: functions by their name and the short name of their module,
 * stacks as sequences of functions, modules by their short name. So load addresses, folders, lines,
 * library versions, the program's name and the suffixes of split or cloned functions do not matter.
 */
#ifndef MEMTAPE_COMPARE_DIFF_H
#define MEMTAPE_COMPARE_DIFF_H

#include "sums/sums.h"
#include "sums/walk.h"

enum diff_by { DIFF_BY_FUNCTION, DIFF_BY_STACK, DIFF_BY_MODULE };

/* The words of the enum, NULL at the end. */
extern const char *const diff_by_words[];

struct diff_side {
	const struct sums *sums;
	struct names *names;
	uint64_t units; /* units of work done: values are divided by it; at least 1 */
};

/* diff_status_words: the words of the enum, NULL at the end. */
enum diff_status { DIFF_NEW, DIFF_GONE, DIFF_GROWN, DIFF_SHRUNK, DIFF_SAME };

extern const char *const diff_status_words[];

enum { DIFF_A, DIFF_B, DIFF_SIDES };

struct diff_row {
	const char *function;	     /* innermost function; NULL: the row is a module */
	const char *brief;	     /* the same as people read it: struct name */
	const char *module;	     /* short name; "" outside all objects */
	uint32_t stacks[DIFF_SIDES]; /* a stack with much of it; UINT32_MAX: not on this side */
	struct model_stack_sums sums[DIFF_SIDES];
};

struct diff {
	const struct diff_side *sides; /* DIFF_SIDES of them, owned by the caller */
	enum metric metric;
	struct diff_row *rows; /* largest difference in the metric first */
	size_t count;
};

/* Lives in the arena. */
struct err *diff_find(const struct diff_side *sides, enum diff_by by, enum walk_mode mode,
		      enum metric metric, struct arena *arena, struct diff *diff_ret);

/* "same" means that all four sums are equal. */
enum diff_status diff_row_status(const struct diff *diff, const struct diff_row *row);

/* The metric's value per unit of work; and B minus A. */
double diff_value(const struct diff_side *side, enum metric metric,
		  const struct model_stack_sums *sums);
double diff_change(const struct diff_side *sides, enum metric metric,
		   const struct model_stack_sums *sums);

#endif
