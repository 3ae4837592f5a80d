/*
 * sql_plan: which constraints of a statement a table takes upon itself, what that costs, and what
 * they leave of its columns. Internal to sql.
 */
#ifndef MEMTAPE_SQL_SQL_PLAN_H
#define MEMTAPE_SQL_SQL_PLAN_H

#include "sql/sql_table.h"

enum sql_op { SQL_EQ, SQL_LT, SQL_LE, SQL_GT, SQL_GE, SQL_IS, SQL_IS_NULL, SQL_NOT_NULL, SQL_IN };

enum { SQL_NO_COLUMN = -2 };

struct sql_constraint {
	int column; /* -1: the row's number */
	enum sql_op op;
	bool is_usable; /* its value is known when the table is asked */
	bool is_list;	/* EQ from an IN list which could be had as a whole */
	/* out: */
	unsigned argument; /* from 1: where its value comes; 0: not wanted */
	bool takes_list;   /* as SQL_IN */
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
	bool is_ordered; /* rows come as the orders say */
	bool is_unique;	 /* one row at most */
	double cost;
	uint64_t rows_expected;
	struct str text; /* for the scan: what comes as which argument */
};

/* Constraints and orders are zeroed. False: no memory. */
bool sql_plan_init(struct sql_plan *plan, uint64_t row_count, size_t constraint_count,
		   size_t order_count);
void sql_plan_deinit(struct sql_plan *plan);
CLEAN_DEFINE_DEINIT(sql_plan_deinit, struct sql_plan);

void sql_plan_make(const struct sql_table *table, struct sql_plan *plan);

/* One argument of a scan, from the plan's text. False: the end. */
struct sql_argument {
	unsigned column;
	enum sql_op op;
};
bool sql_plan_next(const char **text, struct sql_argument *argument_ret);
bool sql_plan_is_descending(const char *text);

/* What is left when the column is compared so with the value (SQL_IN: with the set, see below). */
void sql_limits_narrow(struct sql_limits *limits, const struct sql_column *column, enum sql_op op,
		       const struct sql_value *value);

/* Takes one value of an IN list. False: no memory. */
bool sql_set_add(struct vec_u64 *values, const struct sql_value *value);

/*
 * Takes the values (leaves none) and makes them the limits' set; no memory: limits are left as they
 * are, which is only slower.
 */
void sql_limits_take_set(struct sql_limits *limits, struct vec_u64 *values);

#endif
