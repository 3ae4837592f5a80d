#include "sql/sql_sums.h"

#include <assert.h>

#include "select/fields.h"
#include "sql/sql_allocations.h"

enum {
	OWN = SQL_ALLOCATIONS_COLUMNS,
	FIELDS_MAX = 64,
	SUMMED_MAX = 32,
	KEYS_MAX = 16,
	GROUPS_MAX = 1 << 20,	    /* more take longer than SQLite itself */
	GROUPS_BYTES_MAX = 1 << 27, /* of all of them */
	ROWS_TRIED = 1 << 17	    /* then there must be fewer groups than half of the rows */
};

/* Real numbers up to this are exact, in whatever order they are added. */
static const uint64_t EXACT_MAX = UINT64_C(1) << 53;

const char *const sql_sum_words[SQL_SUM_KINDS] = { "count", "sum", "total", "min", "max" };

struct summed { /* a column of which sums are read */
	unsigned column;
	unsigned kinds; /* enum sql_sum, by bit */
};

struct sum { /* of one column in one group */
	uint64_t count;
	uint64_t low, high; /* 128 bits */
	double total;
	uint64_t min, max;
};

struct cursor {
	struct sql_cursor base;	 /* row: of the group */
	struct sql_cursor *rows; /* the allocations; NULL: not begun */
	const struct field *fields[FIELDS_MAX];
	unsigned column_count; /* of the allocations */
	unsigned keys[KEYS_MAX];
	size_t key_count;
	struct summed summed[SUMMED_MAX];
	size_t summed_count;
	/* By group, and then by key or by summed column: */
	uint64_t *key_values;
	uint64_t *row_counts;
	struct sum *sums;
	size_t count, room;
	uint32_t *slots; /* number of the group + 1, by hash; 0: empty */
	size_t slot_count;
	uint64_t row_count;
	/* Of the batch: */
	uint64_t values[KEYS_MAX][MODEL_BATCH];
	uint32_t groups[MODEL_BATCH];
};

/* --- columns ------------------------------------------------------------------------------- */

void sql_sums_declare(struct str *out)
{
	const struct field *fields[FIELDS_MAX];
	const size_t count = OWN + sql_fields_list(&sql_sums_table, fields, array_size(fields));

	assert(count * (1 + SQL_SUM_KINDS) < SQL_SUMS_COLUMNS_MAX);
	str_add(out, ", \"" SQL_SUMS_ROWS "\" HIDDEN");
	for (size_t i = 0; i < count; i++) {
		const char *name =
			i < OWN ? sql_allocations_columns[i].name : fields[i - OWN]->name;

		for (size_t kind = 0; kind < SQL_SUM_KINDS; kind++)
			str_printf(out, ", \"%s#%s\" HIDDEN", name, sql_sum_words[kind]);
	}
}

void sql_sums_read(struct sql_sums *sums, unsigned column)
{
	if (column < SQL_SUMS_COLUMNS_MAX)
		sums->columns[column / 64] |= UINT64_C(1) << column % 64;
}

static bool has_bit(const uint64_t *bits, unsigned at)
{
	return bits[at / 64] >> at % 64 & 1;
}

static bool is_text(const struct cursor *cursor, unsigned column)
{
	return column < OWN ? sql_allocations_columns[column].flags & SQL_TEXTUAL
			    : cursor->fields[column - OWN]->type == FIELD_TEXT;
}

/* --- giving up ----------------------------------------------------------------------------- */

static struct err *give_up(struct cursor *cursor)
{
	cursor->base.context->has_no_sums = true;
	return err_new(ERR_UNSUPPORTED, "the allocations cannot be merged");
}

/* Of the columns that are read, those that are keys, and those that are summed. */
static struct err *sort_columns(struct cursor *cursor)
{
	const struct sql_sums *sums = cursor->base.context->sums;
	const unsigned count = cursor->column_count;

	cursor->key_count = cursor->summed_count = 0;
	for (unsigned i = 0; i < count; i++) {
		const unsigned first = count + 1 + i * SQL_SUM_KINDS;
		struct summed summed = { i, 0 };

		for (unsigned kind = 0; kind < SQL_SUM_KINDS; kind++)
			summed.kinds |= (unsigned)has_bit(sums->columns, first + kind) << kind;
		if ((summed.kinds && cursor->summed_count == SUMMED_MAX) ||
		    (has_bit(sums->columns, i) && cursor->key_count == KEYS_MAX))
			return give_up(cursor);
		if (summed.kinds)
			cursor->summed[cursor->summed_count++] = summed;
		if (!has_bit(sums->columns, i))
			continue;
		/* No two rows have the same number, and few the same time. */
		if (i < OWN && sql_allocations_columns[i].flags & (SQL_KEY | SQL_SORTED))
			return give_up(cursor);
		cursor->keys[cursor->key_count++] = i;
	}
	return NULL;
}

/* --- groups -------------------------------------------------------------------------------- */

static bool grow_groups(struct cursor *cursor)
{
	const size_t room = cursor->room ? cursor->room * 4 : 1024;
	uint64_t *keys, *counts;
	struct sum *sums;

	keys = realloc(cursor->key_values, (room * cursor->key_count + 1) * sizeof(*keys));
	if (!keys)
		return false;
	cursor->key_values = keys;
	counts = realloc(cursor->row_counts, room * sizeof(*counts));
	if (!counts)
		return false;
	cursor->row_counts = counts;
	sums = realloc(cursor->sums, (room * cursor->summed_count + 1) * sizeof(*sums));
	if (!sums)
		return false;
	cursor->sums = sums;
	cursor->room = room;
	return true;
}

static uint64_t hash_of(const uint64_t *keys, size_t count)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < count; i++)
		hash = hash_mix(hash ^ keys[i]);
	return hash;
}

static bool grow_slots(struct cursor *cursor)
{
	const size_t count = cursor->room * 2;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t group = 0; group < cursor->count; group++) {
		const uint64_t *keys = &cursor->key_values[group * cursor->key_count];
		size_t at = hash_of(keys, cursor->key_count) & (count - 1);

		while (slots[at])
			at = (at + 1) & (count - 1);
		slots[at] = group + 1;
	}
	free(cursor->slots);
	cursor->slots = slots;
	cursor->slot_count = count;
	return true;
}

static size_t group_bytes(const struct cursor *cursor)
{
	return (cursor->key_count + 2) * sizeof(uint64_t) +
	       cursor->summed_count * sizeof(struct sum);
}

static struct err *add_group(struct cursor *cursor, const uint64_t *keys)
{
	const size_t group = cursor->count;

	if (group >= GROUPS_MAX || group * group_bytes(cursor) > GROUPS_BYTES_MAX)
		return give_up(cursor);
	if (group == cursor->room && !(grow_groups(cursor) && grow_slots(cursor)))
		return err_nomem();
	memcpy(&cursor->key_values[group * cursor->key_count], keys,
	       cursor->key_count * sizeof(*keys));
	cursor->row_counts[group] = 0;
	for (size_t i = 0; i < cursor->summed_count; i++)
		cursor->sums[group * cursor->summed_count + i] = (struct sum) { .min = UINT64_MAX };
	cursor->count++;
	return NULL;
}

/* The group with these keys, made if there is none. */
static struct err *find_group(struct cursor *cursor, const uint64_t *keys, uint32_t *group_ret)
{
	const size_t key_count = cursor->key_count;
	const uint64_t hash = hash_of(keys, key_count);
	size_t at = hash & (cursor->slot_count - 1);
	struct err *err;

	for (; cursor->slots[at]; at = (at + 1) & (cursor->slot_count - 1)) {
		const uint32_t group = cursor->slots[at] - 1;
		const uint64_t *those = &cursor->key_values[group * key_count];
		size_t i = 0;

		while (i < key_count && those[i] == keys[i])
			i++;
		if (i == key_count) {
			*group_ret = group;
			return NULL;
		}
	}
	err = add_group(cursor, keys);
	if (err)
		return err;
	for (at = hash & (cursor->slot_count - 1);
	     cursor->slots[at] && cursor->slots[at] != cursor->count;)
		at = (at + 1) & (cursor->slot_count - 1);
	cursor->slots[at] = (uint32_t)cursor->count;
	*group_ret = (uint32_t)cursor->count - 1;
	return NULL;
}

/* --- batches ------------------------------------------------------------------------------- */

/* Larger numbers are shown as the largest integer. */
static uint64_t shown(uint64_t number, bool has_null, uint64_t null)
{
	return (has_null && number == null) || number < INT64_MAX ? number : INT64_MAX;
}

static struct err *read_keys(struct cursor *cursor, struct sql_batch batch)
{
	for (size_t key = 0; key < cursor->key_count; key++) {
		const bool keeps = is_text(cursor, cursor->keys[key]); /* numbers of texts */
		const uint64_t *values;
		uint64_t null;
		const bool has_null = sql_allocations_null(cursor->keys[key], &null);
		struct err *err = sql_allocations_values(cursor->rows, cursor->keys[key], &values);

		if (err)
			return err;
		for (uint32_t i = 0; i < batch.count; i++) {
			const uint64_t value = values[batch.chosen[i]];

			cursor->values[key][i] = keeps ? value : shown(value, has_null, null);
		}
	}
	return NULL;
}

static struct err *find_groups(struct cursor *cursor, uint32_t count)
{
	uint64_t keys[KEYS_MAX];
	struct err *err = NULL;

	for (uint32_t i = 0; i < count && !err; i++) {
		for (size_t key = 0; key < cursor->key_count; key++)
			keys[key] = cursor->values[key][i];
		err = find_group(cursor, keys, &cursor->groups[i]);
	}
	for (uint32_t i = 0; i < count && !err; i++)
		cursor->row_counts[cursor->groups[i]]++;
	return err;
}

static void add_value(struct sum *sum, uint64_t value, unsigned kinds)
{
	sum->count++;
	sum->low += value;
	sum->high += sum->low < value;
	if (kinds & 1 << SQL_SUM_TOTAL)
		sum->total += (double)value;
	sum->min = u64_min(sum->min, value);
	sum->max = u64_max(sum->max, value);
}

static struct err *add_values(struct cursor *cursor, struct sql_batch batch, size_t index)
{
	const struct summed *summed = &cursor->summed[index];
	const uint64_t *values;
	uint64_t null;
	const bool has_null = sql_allocations_null(summed->column, &null);
	struct err *err = sql_allocations_values(cursor->rows, summed->column, &values);

	for (uint32_t i = 0; i < batch.count && !err; i++) {
		const uint64_t value = values[batch.chosen[i]];

		if (!has_null || value != null)
			add_value(&cursor->sums[cursor->groups[i] * cursor->summed_count + index],
				  u64_min(value, INT64_MAX), summed->kinds);
	}
	return err;
}

static struct err *add_batch(struct cursor *cursor, struct sql_batch batch)
{
	struct err *err = read_keys(cursor, batch);

	if (!err)
		err = find_groups(cursor, batch.count);
	for (size_t i = 0; i < cursor->summed_count && !err; i++)
		err = add_values(cursor, batch, i);
	cursor->row_count += batch.count;
	if (!err && cursor->row_count >= ROWS_TRIED && cursor->count > cursor->row_count / 2)
		err = give_up(cursor);
	return err;
}

/* --- results ------------------------------------------------------------------------------- */

/* Whether SQLite makes a group of each of ours, of the same rows in the same order. */
static bool is_final(const struct cursor *cursor)
{
	const struct sql_sums *sums = cursor->base.context->sums;

	if (!sums->adds_in_order)
		return false;
	for (size_t i = 0; i < cursor->key_count; i++) {
		/* Texts can be equal though their numbers are not. */
		if (is_text(cursor, cursor->keys[i]) || !has_bit(sums->groups, cursor->keys[i]))
			return false;
	}
	return true;
}

/*
 * Whether the sums are those that SQLite computes. Integers: it reports an overflow. Real numbers:
 * beyond 2^53 they depend on the order of additions.
 */
static bool are_exact(const struct cursor *cursor)
{
	const bool is_ordered = is_final(cursor);

	for (size_t i = 0; i < cursor->summed_count; i++) {
		uint64_t whole = 0;

		for (size_t group = 0; group < cursor->count; group++) {
			const struct sum *sum = &cursor->sums[group * cursor->summed_count + i];

			if (cursor->summed[i].kinds & 1 << SQL_SUM_SUM &&
			    (sum->high > 0 || sum->low > INT64_MAX))
				return false;
			if (!(cursor->summed[i].kinds & 1 << SQL_SUM_TOTAL) || is_ordered)
				continue;
			if (sum->high > 0 || sum->low > EXACT_MAX - whole)
				return false;
			whole += sum->low;
		}
	}
	return true;
}

static struct err *add_all(struct cursor *cursor)
{
	struct err *err = NULL;

	while (!err && !cursor->rows->is_ended) {
		err = add_batch(cursor, sql_allocations_batch(cursor->rows));
		if (!err)
			err = sql_allocations_next_batch(cursor->rows);
	}
	return !err && !are_exact(cursor) ? give_up(cursor) : err;
}

static struct err *begin(struct sql_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	struct err *err;

	/* A second scan would have rows of the first once more. */
	if (!base->context->sums || cursor->rows)
		return give_up(cursor);
	cursor->column_count =
		OWN + (unsigned)sql_fields_list(base->table, cursor->fields, FIELDS_MAX);
	err = sort_columns(cursor);
	if (err)
		return err;
	cursor->rows = sql_cursor_create(&sql_allocations, base->context);
	if (!cursor->rows || !grow_groups(cursor) || !grow_slots(cursor))
		return err_nomem();
	for (size_t i = 0; i < OWN; i++) {
		cursor->rows->limits[i] = base->limits[i];
		base->limits[i] = sql_limits_all();
	}
	cursor->rows->parameter = base->parameter;
	err = sql_cursor_begin(cursor->rows, false);
	if (!err)
		err = add_all(cursor);
	base->row = 0;
	base->row_end = cursor->count;
	base->is_ended = cursor->count == 0;
	return err;
}

static struct err *next(struct sql_cursor *base)
{
	sql_cursor_step(base);
	return NULL;
}

static void show_sum(const struct sum *sum, enum sql_sum kind, struct sql_value *value)
{
	switch (kind) {
	case SQL_SUM_COUNT:
		sql_value_u64(value, sum->count);
		break;
	case SQL_SUM_TOTAL:
		value->kind = SQL_REAL;
		value->real = sum->total;
		break;
	case SQL_SUM_SUM:
		if (sum->count > 0)
			sql_value_u64(value, sum->low);
		break;
	case SQL_SUM_MIN:
	case SQL_SUM_MAX:
		if (sum->count > 0)
			sql_value_u64(value, kind == SQL_SUM_MIN ? sum->min : sum->max);
		break;
	case SQL_SUM_KINDS:
		break;
	}
}

static struct err *value(struct sql_cursor *base, unsigned column, struct sql_value *value_ret)
{
	struct cursor *cursor = (struct cursor *)base;
	const unsigned count = cursor->column_count;

	if (column == count) {
		sql_value_u64(value_ret, cursor->row_counts[base->row]);
		return NULL;
	}
	for (size_t i = 0; i < cursor->key_count && column < count; i++) {
		if (cursor->keys[i] != column)
			continue;
		sql_allocations_show(cursor->rows, column,
				     cursor->key_values[base->row * cursor->key_count + i],
				     value_ret);
		return NULL;
	}
	for (size_t i = 0; i < cursor->summed_count && column > count; i++) {
		const unsigned at = column - count - 1;

		if (cursor->summed[i].column != at / SQL_SUM_KINDS)
			continue;
		show_sum(&cursor->sums[base->row * cursor->summed_count + i],
			 (enum sql_sum)(at % SQL_SUM_KINDS), value_ret);
		return NULL;
	}
	return give_up(cursor);
}

static void finish(struct sql_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	sql_cursor_destroy(cursor->rows);
	free(cursor->key_values);
	free(cursor->row_counts);
	free(cursor->sums);
	free(cursor->slots);
}

static uint64_t row_count(const struct sql_context *context)
{
	return model_row_count(context->model);
}

const struct sql_table sql_sums_table = {
	.name = SQL_SUMS_NAME,
	.about = "allocations, of which equal ones are merged",
	.columns = sql_allocations_columns,
	.column_count = SQL_ALLOCATIONS_COLUMNS,
	.has_fields = true,
	.has_sums = true,
	.is_exact = true,
	.rows_per_key = 1,
	.row_count = row_count,
	.cursor_bytes = sizeof(struct cursor),
	.begin = begin,
	.next = next,
	.value = value,
	.end = finish,
};
