/*
 * sql_allocations: the columns of the table of allocations, and its rows in batches, for the table
 * of sums. Internal to sql.
 */
#ifndef MEMTAPE_SQL_SQL_ALLOCATIONS_H
#define MEMTAPE_SQL_SQL_ALLOCATIONS_H

#include "sql/sql_table.h"

enum sql_allocations_column {
	COLUMN_ID,
	COLUMN_ADDRESS,
	COLUMN_SIZE,
	COLUMN_USABLE,
	COLUMN_ALLOC_NS,
	COLUMN_FREE_NS,
	COLUMN_LIFETIME_NS,
	COLUMN_THREAD,
	COLUMN_FREE_THREAD,
	COLUMN_STACK,
	COLUMN_FREE_STACK,
	COLUMN_CALL,
	COLUMN_FREE_CALL,
	COLUMN_REALLOC_OF,
	COLUMN_CHAIN,
	COLUMN_LEAKED,
	COLUMN_SUPPRESSED,
	COLUMN_TEMPORARY,
	COLUMN_AT_PEAK,
	COLUMN_REALLOCED,
	COLUMN_LOST_FREE,
	COLUMN_FILTER,
	SQL_ALLOCATIONS_COLUMNS /* fields follow */
};

extern const struct sql_table sql_allocations;
extern const struct sql_column sql_allocations_columns[SQL_ALLOCATIONS_COLUMNS];

/* The model's column; -1: computed from others. And the flag of the model's that a column shows. */
int sql_allocations_model_column(unsigned column);
unsigned sql_allocations_flag(unsigned column);

/* Not for fields: what a number of the column stands for. value is NULL on entry. */
void sql_allocations_show_own(unsigned column, uint64_t number, struct sql_value *value);

/* The rows of a batch that are within the limits, ascending if the scan is; not empty. */
struct sql_batch {
	const uint16_t *chosen; /* indices of values */
	uint32_t count;
};

/* The cursor must have begun. The next batch is one with such rows, or is_ended is set. */
struct sql_batch sql_allocations_batch(const struct sql_cursor *cursor);
struct err *sql_allocations_next_batch(struct sql_cursor *cursor);

/*
 * The values of a column or field in the batch, as numbers; those of rows that are not chosen mean
 * nothing. Valid until the next batch.
 */
struct err *sql_allocations_values(struct sql_cursor *cursor, unsigned column,
				   const uint64_t **values_ret);

/* What such a number stands for. value is NULL on entry. */
void sql_allocations_show(const struct sql_cursor *cursor, unsigned column, uint64_t number,
			  struct sql_value *value);

/* The number that stands for NULL; false: there is none. Not for texts. */
bool sql_allocations_null(unsigned column, uint64_t *null_ret);

#endif
