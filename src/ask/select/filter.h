/*
 * filter: a filter expression compiled for one model, and evaluated over its rows.
 *
 * Compilation computes everything that does not depend on the row: tests of stacks, functions,
 * modules, threads and groups become bitmaps over stacks and threads; regular expressions are
 * matched once per name. The rest is evaluated over batches of rows; whole segments are decided by
 * their bounds where possible.
 *
 * A compiled filter is immutable: any number of threads may evaluate rows with it.
 */
#ifndef MEMTAPE_SELECT_FILTER_H
#define MEMTAPE_SELECT_FILTER_H

#include "select/expr.h"
#include "sums/sweep.h"

struct filter;

/*
 * text is what expr was parsed from, for error messages. The filter lives in the facts' arena.
 * ERR_USAGE: invalid for this tape (no such mark, a pattern that is wrong or too slow); ERR_LIMIT:
 * the deadline passed; ERR_STATE: cancelled.
 */
struct err *filter_compile(const char *text, const struct expr *expr, struct facts *facts,
			   const struct sweep_limits *limits, struct filter **filter_ret);

/* Nanoseconds of a moment parsed by expr_parse_moment. ERR_USAGE: no such mark. */
struct err *filter_moment(const char *text, const struct expr_value *value,
			  const struct facts *facts, uint64_t *ns_ret);

/*
 * Sets a bit for every row that passes: row i is bit i % 64 of bits[i / 64]; the array has room for
 * whole segments. ERR_LIMIT: the deadline passed; ERR_STATE: cancelled.
 */
struct err *filter_rows(const struct filter *filter, const struct sweep_limits *limits,
			uint64_t *bits);

#endif
