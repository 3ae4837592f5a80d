/*
 * sql_sums: the allocations with equal rows merged. The table has the columns of the allocations,
 * and hidden ones behind them: the number of rows that were merged, and sums of each column over
 * them. Rows are merged if the columns that the statement reads are equal; those of which only sums
 * are read do not matter. Merged rows are in the order of the first row of each.
 *
 * Only statements of sql_rewrite.h read it. Where merging does not make few rows of many, or where
 * SQLite's own sum would depend on the order of the rows, it gives up: the cursor fails and sets
 * has_no_sums in the context, and the statement must be run on the allocations. Internal to sql.
 */
#ifndef MEMTAPE_SQL_SQL_SUMS_H
#define MEMTAPE_SQL_SQL_SUMS_H

#include "sql/sql_table.h"

#define SQL_SUMS_NAME "allocations#sums"

extern const struct sql_table sql_sums_table;

/* Sums of one column; the hidden columns "COLUMN#WORD", in this order. */
enum sql_sum {
	SQL_SUM_COUNT, /* of rows in which it is not NULL */
	SQL_SUM_SUM,   /* NULL if there are none, as the following but one */
	SQL_SUM_TOTAL, /* a real number: what SQLite's total() is; 0 if there are none */
	SQL_SUM_MIN,
	SQL_SUM_MAX,
	SQL_SUM_KINDS
};
extern const char *const sql_sum_words[SQL_SUM_KINDS];

/* The hidden column of the number of rows. */
#define SQL_SUMS_ROWS "#rows"

/* What a statement reads. All zero: nothing. */
enum { SQL_SUMS_COLUMNS_MAX = 1024 };
struct sql_sums {
	uint64_t columns[SQL_SUMS_COLUMNS_MAX / 64]; /* by number, by bit */
	uint64_t groups[SQL_SUMS_COLUMNS_MAX / 64];  /* columns that it groups by, by themselves */
	bool adds_in_order; /* SQLite adds real numbers one by one, and does nothing about rounding */
};

void sql_sums_read(struct sql_sums *sums, unsigned column);

/* Appends the declarations of the hidden columns. */
void sql_sums_declare(struct str *out);

#endif
