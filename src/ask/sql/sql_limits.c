/* Applies constraints to the limits of a column. */
#include <assert.h>

#include "base/sort.h"
#include "sql/sql_plan.h"

/* --- narrowing ----------------------------------------------------------------------------- */

static void allow_nothing(struct sql_limits *limits)
{
	limits->min = 1;
	limits->max = 0;
}

static void at_least(struct sql_limits *limits, uint64_t min)
{
	limits->min = u64_max(limits->min, min);
}

static void at_most(struct sql_limits *limits, uint64_t max)
{
	limits->max = u64_min(limits->max, max);
}

/* Larger numbers are returned as the largest integer, and so compare equal to it. */
static uint64_t top_of(int64_t value)
{
	return value == INT64_MAX ? UINT64_MAX : (uint64_t)value;
}

static void narrow_by_integer(struct sql_limits *limits, enum sql_op op, int64_t value)
{
	if (op == SQL_GT && value == INT64_MAX) {
		allow_nothing(limits);
	} else if (op == SQL_GT || op == SQL_GE) {
		if (value >= 0)
			at_least(limits, (uint64_t)value + (op == SQL_GT));
	} else if (value < (op == SQL_LT)) {
		allow_nothing(limits);
	} else if (op == SQL_LT) {
		at_most(limits, (uint64_t)value - 1);
	} else {
		at_most(limits, top_of(value));
		if (op == SQL_EQ || op == SQL_IS)
			at_least(limits, (uint64_t)value);
	}
}

/* The nearest integer in this direction; the largest or smallest if out of range. */
static int64_t integer_near(double value, bool upwards)
{
	int64_t whole;

	if (value >= 0x1p62 || value <= -0x1p62)
		return value > 0 ? INT64_MAX : INT64_MIN;
	whole = (int64_t)value;
	if (upwards && (double)whole < value)
		return whole + 1;
	return !upwards && (double)whole > value ? whole - 1 : whole;
}

static void narrow_by_real(struct sql_limits *limits, enum sql_op op, double value)
{
	if (value >= 0x1p62) /* too close to the largest integer to be sure */
		return;
	if (op != SQL_LT && op != SQL_LE)
		narrow_by_integer(limits, SQL_GE, integer_near(value, false));
	if (op != SQL_GT && op != SQL_GE)
		narrow_by_integer(limits, SQL_LE, integer_near(value, true));
}

static void only_null(struct sql_limits *limits, const struct sql_column *column)
{
	if (!(column->flags & (SQL_NULLABLE | SQL_NULL_AMID))) {
		allow_nothing(limits);
		return;
	}
	at_least(limits, column->null_value);
	at_most(limits, column->null_value);
}

void sql_limits_narrow(struct sql_limits *limits, const struct sql_column *column, enum sql_op op,
		       const struct sql_value *value)
{
	assert((unsigned)op <= SQL_IN);
	if (op == SQL_IS_NULL || (op == SQL_IS && value->kind == SQL_NULL)) {
		only_null(limits, column);
		return;
	}
	if (column->flags & SQL_NULLABLE)
		at_most(limits, column->null_value - 1);
	if (op == SQL_NOT_NULL || op == SQL_IN)
		return;
	if (value->kind == SQL_NULL)
		allow_nothing(limits);
	else if (value->kind == SQL_INTEGER)
		narrow_by_integer(limits, op, value->integer);
	else if (value->kind == SQL_REAL)
		narrow_by_real(limits, op, value->real);
	/* SQLite may treat texts as numbers, or as greater than all numbers: leave it to SQLite. */
}

/* --- sets ---------------------------------------------------------------------------------- */

enum { SET_BITS_MAX = 1 << 27 };

bool sql_set_add(struct vec_u64 *values, const struct sql_value *value)
{
	struct sql_limits one = sql_limits_all();
	static const struct sql_column plain = { 0 };

	sql_limits_narrow(&one, &plain, SQL_EQ, value);
	if (one.min > one.max)
		return true;
	/* Not a single number (a text, a fraction, the largest integer): could match several. */
	if (one.max - one.min > 1)
		return false;
	return vec_u64_push(values, one.min) &&
	       (one.max == one.min || vec_u64_push(values, one.max));
}

static int compare_values(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

static size_t without_doubles(uint64_t *values, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || values[kept - 1] != values[i])
			values[kept++] = values[i];
	}
	return kept;
}

static uint64_t *bits_of(const uint64_t *values, size_t count)
{
	const uint64_t span = values[count - 1] - values[0];
	uint64_t *bits = span < SET_BITS_MAX ? calloc(span / 64 + 1, sizeof(*bits)) : NULL;

	for (size_t i = 0; i < count && bits; i++) {
		const uint64_t at = values[i] - values[0];

		bits[at / 64] |= UINT64_C(1) << at % 64;
	}
	return bits;
}

void sql_limits_take_set(struct sql_limits *limits, struct vec_u64 *values)
{
	CLEAN(vec_u64_deinit) struct vec_u64 mine = *values;

	*values = (struct vec_u64) { 0 };
	if (mine.count == 0) {
		allow_nothing(limits);
		return;
	}
	if (limits->set.count > 0 ||
	    !sort_stable(mine.items, mine.count, sizeof(*mine.items), compare_values, NULL))
		return;
	mine.count = without_doubles(mine.items, mine.count);
	at_least(limits, mine.items[0]);
	at_most(limits, mine.items[mine.count - 1]);
	limits->set.bits = bits_of(mine.items, mine.count);
	limits->set.count = mine.count;
	limits->set.values = steal(mine.items);
}

void sql_limits_deinit(struct sql_limits *limits)
{
	free(limits->set.values);
	free(limits->set.bits);
	limits->set = (struct sql_set) { 0 };
}

bool sql_limits_allow_in_set(const struct sql_limits *limits, uint64_t value)
{
	const struct sql_set *set = &limits->set;
	size_t low = 0, high = set->count;

	assert(set->count > 0);
	if (value < set->values[0] || value > set->values[set->count - 1])
		return false;
	if (set->bits) {
		const uint64_t at = value - set->values[0];

		return set->bits[at / 64] >> at % 64 & 1;
	}
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (set->values[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low < set->count && set->values[low] == value;
}
