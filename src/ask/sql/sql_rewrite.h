/*
 * sql_rewrite: recognises statements about the allocations as a whole, and writes them anew for the
 * table of sums (sql_sums.h), which has few rows. Internal to sql.
 *
 * What is recognised, with S standing for any expression of constants, columns, operators and
 * functions whose result depends on nothing else:
 *
 *	SELECT [DISTINCT] S [AS name], ... FROM allocations[('filter')]
 *	[WHERE S] [GROUP BY S, ... [HAVING S]] [ORDER BY S, ...] [LIMIT n [OFFSET n]]
 *
 * where S may have count(), sum(), avg(), total(), min() and max() of a column, min() and max() of
 * an S, and any of them with DISTINCT; and where a column outside of these is one that is grouped
 * by. WHERE may have subqueries.
 *
 * Why the answer is the same: the table of sums stands for the same rows, equal ones merged. What
 * WHERE, GROUP BY, DISTINCT, min() and max() say about a row they say about all that equal it, and
 * the other functions are given the number or the sum of those merged. SQLite evaluates the rest of
 * the statement, which is copied as it stands.
 */
#ifndef MEMTAPE_SQL_SQL_REWRITE_H
#define MEMTAPE_SQL_SQL_REWRITE_H

#include "sql/sql_sums.h"

/*
 * Appends the statement for the table of sums to out, and says by what it groups. text is one
 * statement that SQLite accepts; false: not one of these, and out may have a part of one. Out of
 * memory is out->failed.
 */
bool sql_rewrite(const char *text, size_t len, struct str *out, struct sql_sums *sums_ret);

#endif
