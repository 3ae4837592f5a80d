/*
 * pairs: text with two columns of numbers, a time and a value, as printed by tracers.
 *
 * Columns are separated by blanks; further ones are ignored, and so are empty lines, lines that
 * begin with #, and a first line of words: a heading. Untrusted input: anything else is an error
 * that names the line.
 */
#ifndef MEMTAPE_PLOT_PAIRS_H
#define MEMTAPE_PLOT_PAIRS_H

#include "base/err.h"
#include "base/vec.h"

struct pair {
	double time;
	double value;
};

VEC_DEFINE(pair_vec, struct pair);

enum pairs_columns {
	PAIRS_TWO,
	PAIRS_DELTA /* one column: a time; the value is the time since the previous line */
};

/*
 * Appends the numbers of a text of len bytes, all finite, in line order. name: for error messages.
 */
struct err *pairs_parse(const char *text, size_t len, enum pairs_columns columns, const char *name,
			struct pair_vec *pairs);

/* All of a file. path "-": standard input. */
struct err *pairs_read(const char *path, enum pairs_columns columns, struct pair_vec *pairs);

#endif
