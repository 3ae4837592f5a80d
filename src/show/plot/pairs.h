/*
 * pairs: text of two columns of numbers, a time and a value, as tracers print it.
 *
 * Columns are separated by blanks; further ones are ignored, and so are empty lines, lines that
 * begin with #, and a first line of words: a heading. Foreign bytes: anything else is an error
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
	PAIRS_DELTA /* one column: a time; the value is what passed since the line before */
};

/*
 * Appends the numbers of a text of len bytes, all finite, in the order of its lines. name: what
 * errors call it.
 */
struct err *pairs_parse(const char *text, size_t len, enum pairs_columns columns, const char *name,
			struct pair_vec *pairs);

/* All of a file. path "-": standard input. */
struct err *pairs_read(const char *path, enum pairs_columns columns, struct pair_vec *pairs);

#endif
