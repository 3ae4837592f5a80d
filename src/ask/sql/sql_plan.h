/*
 * sql_plan: which constraints of a statement a table evaluates itself, their cost, and the
 * resulting limits of its columns. Internal to sql.
 */
#ifndef MEMTAPE_SQL_SQL_PLAN_H
#define MEMTAPE_SQL_SQL_PLAN_H

#include "sql/sql_table.h"

enum sql_op { SQL_EQ, SQL_LT, SQL_LE, SQL_GT, SQL_GE, SQL_IS, SQL_IS_NULL, SQL_NOT_NULL, SQL_IN };

enum { SQL_NO_COLUMN = -2 };

struct sql_constraint {
	int column; /* -1: the row number */
	enum sql_op op;
	bool is_usable;	 /* its value is known when the table is scanned */
	bool is_list;	 /* EQ from an IN list that is available as a whole */
	bool is_integer; /* its value is an integer, known now */
	/* out: */
	unsigned argument; /* position of its value, from 1; 0: not needed */
	bool takes_list;   /* the value is passed as SQL_IN */
	bool is_exact;	   /* need not be tested again */
};

struct sql_order {
	int column;
	bool is_descending;
};

struct sql_plan {
	uint64_t row_count; /* in: of the whole table */
	struct sql_constraint *constraints;
	size_t constraint_count;
	struct sql_order *orders;
	size_t order_count;
	/* out: */
	bool is_possible; /* false: a parameter is missing */
	bool is_descending;
	bool is_ordered; /* rows come in the requested order */
	bool is_unique;	 /* at most one row */
	double cost;
	uint64_t rows_expected;
	struct str text; /* for the scan: the meaning of each argument */
};

/* Constraints and orders are zeroed. False: out of memory. */
bool sql_plan_init(struct sql_plan *plan, uint64_t row_count, size_t constraint_count,
		   size_t order_count);
void sql_plan_deinit(struct sql_plan *plan);
CLEAN_DEFINE_DEINIT(sql_plan_deinit, struct sql_plan);

void sql_plan_make(const struct sql_table *table, struct sql_plan *plan);

/* One argument of a scan, from the plan's text. False: no more. */
struct sql_argument {
	unsigned column;
	enum sql_op op;
};
bool sql_plan_next(const char **text, struct sql_argument *argument_ret);
bool sql_plan_is_descending(const char *text);

/* Narrows the limits to values for which `column op value` can hold (SQL_IN: use a set, below). */
void sql_limits_narrow(struct sql_limits *limits, const struct sql_column *column, enum sql_op op,
		       const struct sql_value *value);

/* Adds one value of an IN list. False: out of memory. */
bool sql_set_add(struct vec_u64 *values, const struct sql_value *value);

/*
 * Makes the values (taken, leaves none) the set of the limits; if out of memory the limits are
 * unchanged, which is only slower.
 */
void sql_limits_take_set(struct sql_limits *limits, struct vec_u64 *values);

#endif
