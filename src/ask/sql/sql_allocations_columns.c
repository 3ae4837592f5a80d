/* The columns of the table of allocations: what they are, and what their numbers stand for. */
#include "select/fields.h"
#include "sql/sql_allocations.h"

const struct sql_column sql_allocations_columns[] = {
	[COLUMN_ID] = { "id", SQL_KEY, 0, "number of the allocation, from 0 in the order of time" },
	[COLUMN_ADDRESS] = { "address", SQL_TESTED, 0, "of the block" },
	[COLUMN_SIZE] = { "size", SQL_TESTED, 0, "requested bytes" },
	[COLUMN_USABLE] = { "usable_size", SQL_TESTED, 0, "bytes the allocator gave" },
	[COLUMN_ALLOC_NS] = { "alloc_ns", SQL_SORTED, 0,
			      "when it was allocated, since recording began" },
	[COLUMN_FREE_NS] = { "free_ns", SQL_TESTED | SQL_NULLABLE, UINT64_MAX,
			     "when it was freed; NULL: never" },
	[COLUMN_LIFETIME_NS] = { "lifetime_ns", SQL_TESTED | SQL_NULLABLE, UINT64_MAX,
				 "from alloc_ns to free_ns" },
	[COLUMN_THREAD] = { "thread", SQL_TESTED | SQL_NULLABLE, MODEL_NO_THREAD,
			    "that allocated it: threads.id" },
	[COLUMN_FREE_THREAD] = { "free_thread", SQL_TESTED | SQL_NULLABLE, MODEL_NO_THREAD,
				 "that freed it" },
	[COLUMN_STACK] = { "stack", SQL_TESTED, 0, "of the allocation: stacks.id" },
	[COLUMN_FREE_STACK] = { "free_stack", SQL_TESTED | SQL_NULL_AMID, CAPTURE_STACK_NONE,
				"of the free; NULL: never freed, or no stack was taken" },
	[COLUMN_CALL] = { "call", SQL_TEXTUAL, 0, "what was called: malloc, operator new ..." },
	[COLUMN_FREE_CALL] = { "free_call", SQL_TEXTUAL, 0, "what freed it" },
	[COLUMN_REALLOC_OF] = { "realloc_of", SQL_TESTED | SQL_NULLABLE, UINT64_MAX,
				"the allocation that it continues: allocations.id" },
	[COLUMN_CHAIN] = { "chain", SQL_TESTED | SQL_NULLABLE, UINT64_MAX,
			   "number of the chain of reallocs it is in" },
	[COLUMN_LEAKED] = { "leaked", SQL_TESTED | SQL_LEAKS, 0,
			    "1: never freed, and not suppressed" },
	[COLUMN_SUPPRESSED] = { "suppressed", SQL_TESTED | SQL_LEAKS, 0,
				"1: never freed, as a suppression says" },
	[COLUMN_TEMPORARY] = { "temporary", SQL_TESTED, 0,
			       "1: freed before its thread's next allocation" },
	[COLUMN_AT_PEAK] = { "at_peak", SQL_TESTED, 0, "1: alive when live bytes were highest" },
	[COLUMN_REALLOCED] = { "reallocated", SQL_TESTED, 0, "1: ended by a realloc" },
	[COLUMN_LOST_FREE] = { "lost_free", SQL_TESTED, 0, "1: its free was not seen" },
	[COLUMN_FILTER] = { "filter", SQL_PARAMETER | SQL_TEXTUAL, 0,
			    "the argument, if any: an expression of memtape-filter(7)" },
};

static_assert(array_size(sql_allocations_columns) == SQL_ALLOCATIONS_COLUMNS, "each has its row");

int sql_allocations_model_column(unsigned column)
{
	static const signed char of[SQL_ALLOCATIONS_COLUMNS] = {
		[COLUMN_ID] = -1,
		[COLUMN_ADDRESS] = MODEL_ADDRESS,
		[COLUMN_SIZE] = MODEL_SIZE,
		[COLUMN_USABLE] = MODEL_USABLE,
		[COLUMN_ALLOC_NS] = MODEL_ALLOC_NS,
		[COLUMN_FREE_NS] = MODEL_FREE_NS,
		[COLUMN_LIFETIME_NS] = -1,
		[COLUMN_THREAD] = MODEL_THREAD,
		[COLUMN_FREE_THREAD] = MODEL_FREE_THREAD,
		[COLUMN_STACK] = MODEL_STACK,
		[COLUMN_FREE_STACK] = MODEL_FREE_STACK,
		[COLUMN_CALL] = MODEL_FN,
		[COLUMN_FREE_CALL] = MODEL_FREE_FN,
		[COLUMN_REALLOC_OF] = MODEL_REALLOC_OF,
		[COLUMN_CHAIN] = MODEL_CHAIN,
		[COLUMN_LEAKED] = -1,
		[COLUMN_SUPPRESSED] = -1,
		[COLUMN_TEMPORARY] = -1,
		[COLUMN_AT_PEAK] = -1,
		[COLUMN_REALLOCED] = -1,
		[COLUMN_LOST_FREE] = -1,
		[COLUMN_FILTER] = -1,
	};

	return of[column];
}

unsigned sql_allocations_flag(unsigned column)
{
	switch (column) {
	case COLUMN_TEMPORARY:
		return MODEL_ALLOCATION_TEMPORARY;
	case COLUMN_AT_PEAK:
		return MODEL_ALLOCATION_PEAK;
	case COLUMN_REALLOCED:
		return MODEL_ALLOCATION_REALLOCED;
	default:
		return MODEL_ALLOCATION_LOST_FREE;
	}
}

static bool is_null(unsigned column, uint64_t number)
{
	const struct sql_column *about = &sql_allocations_columns[column];

	return about->flags & (SQL_NULLABLE | SQL_NULL_AMID) && number == about->null_value;
}

void sql_allocations_show_own(unsigned column, uint64_t number, struct sql_value *value_ret)
{
	if (sql_allocations_columns[column].flags & SQL_TEXTUAL)
		sql_value_text(value_ret, tape_fn_name((enum tape_fn)number));
	else if (!is_null(column, number))
		sql_value_u64(value_ret, number);
}

bool sql_allocations_null(unsigned column, uint64_t *null_ret)
{
	const struct sql_column *about;

	if (column >= SQL_ALLOCATIONS_COLUMNS) { /* a field */
		*null_ret = FIELD_NONE;
		return true;
	}
	about = &sql_allocations_columns[column];
	*null_ret = about->null_value;
	return about->flags & (SQL_NULLABLE | SQL_NULL_AMID);
}
