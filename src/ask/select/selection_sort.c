/* Selected rows ordered by a field: the first ones are found without sorting all. */
#include <assert.h>
#include <stdlib.h>

#include "base/sort.h"
#include "base/vec.h"
#include "select/selection.h"

struct entry {
	uint64_t value;
	uint64_t row;
};

VEC_DEFINE(entry_vec, struct entry);

/* --- the order ----------------------------------------------------------------------------- */

struct err *selection_order_parse(const char *text, struct selection_order *order_ret)
{
	const char *name = text + (*text == '-');
	const char *colon = strchr(name, ':');
	const size_t len = colon ? (size_t)(colon - name) : strlen(name);
	const struct field *field = field_find(name, len);
	const struct field *near;
	struct selection_order order = { .field = field };

	if (!field) {
		near = field_guess(name, len);
		return err_new(ERR_USAGE, "unknown sort field '%.*s'%s%s%s", (int)u64_min(len, 60),
			       name, near ? "; did you mean " : "", near ? near->name : "",
			       near ? "?" : "");
	}
	if (field->type == FIELD_TEXTS)
		return err_new(ERR_USAGE, "%s has a value for every frame and cannot be sorted by",
			       field->name);
	order.is_descending = field->type == FIELD_BYTES || field->type == FIELD_COUNT ||
			      field->type == FIELD_DURATION || field->type == FIELD_BOOL ||
			      *text == '-';
	if (colon && strcmp(colon, ":asc") == 0)
		order.is_descending = false;
	else if (colon && (strcmp(colon, ":desc") == 0 || strcmp(colon, ":dsc") == 0))
		order.is_descending = true;
	else if (colon)
		return err_new(ERR_USAGE, "'%s' is not a direction; expected asc or desc",
			       colon + 1);
	*order_ret = order;
	return NULL;
}

struct sorter {
	const struct selection *selection;
	const struct selection_order *order;
	struct batch *batch;
	uint64_t count; /* entries wanted */
	/* The best so far; once full, a heap with the worst at the top. */
	struct entry_vec entries;
};

/* < 0: a comes first. */
static int entry_compare(const void *context, const void *left, const void *right)
{
	const struct sorter *sorter = context;
	const struct entry *a = left, *b = right;
	const struct field *field = sorter->order->field;
	int order = 0;

	if (a->value == FIELD_NONE || b->value == FIELD_NONE)
		order = (a->value == FIELD_NONE) - (b->value == FIELD_NONE);
	else if (field->type == FIELD_TEXT)
		order = strcmp(field_text(field, sorter->selection->facts, a->value),
			       field_text(field, sorter->selection->facts, b->value));
	else
		order = sort_compare_u64(a->value, b->value);
	if (sorter->order->is_descending && a->value != FIELD_NONE && b->value != FIELD_NONE)
		order = -order;
	return order ? order : sort_compare_u64(a->row, b->row);
}

/* --- the best ------------------------------------------------------------------------------ */

static void heap_down(struct sorter *sorter, size_t at)
{
	struct entry *items = sorter->entries.items;
	const size_t count = sorter->entries.count;

	for (;;) {
		size_t worst = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
			if (entry_compare(sorter, &items[child], &items[worst]) > 0)
				worst = child;
		}
		if (worst == at)
			return;
		struct entry moved = items[at];
		items[at] = items[worst];
		items[worst] = moved;
		at = worst;
	}
}

static bool sorter_add(struct sorter *sorter, struct entry entry)
{
	if (sorter->entries.count < sorter->count) {
		if (!entry_vec_push(&sorter->entries, entry))
			return false;
		if (sorter->entries.count == sorter->count) {
			for (size_t i = sorter->entries.count / 2; i-- > 0;)
				heap_down(sorter, i);
		}
		return true;
	}
	if (entry_compare(sorter, &entry, &sorter->entries.items[0]) < 0) {
		sorter->entries.items[0] = entry;
		heap_down(sorter, 0);
	}
	return true;
}

static struct err *sort_segment(void *context, uint64_t segment)
{
	struct sorter *sorter = context;
	const struct selection *selection = sorter->selection;
	const uint64_t first = segment * MODEL_SEGMENT;
	const uint64_t end = u64_min(first + MODEL_SEGMENT, model_row_count(selection->model));
	uint64_t rows[MODEL_BATCH], values[MODEL_BATCH];

	for (uint64_t at = first; at < end; at += MODEL_BATCH) {
		const size_t count = selection_batch(selection, at, rows);

		if (count == 0)
			continue;
		batch_list(sorter->batch, selection->facts, rows, count);
		field_read(sorter->order->field, sorter->batch, values);
		for (size_t i = 0; i < count; i++) {
			if (!sorter_add(sorter, (struct entry) { values[i], rows[i] }))
				return err_nomem();
		}
	}
	return NULL;
}

/* Merges all workers' entries into the first worker's, sorted. */
static struct err *gather(struct sorter *sorters, size_t count)
{
	struct entry_vec *all = &sorters[0].entries;

	for (size_t i = 1; i < count; i++) {
		for (size_t j = 0; j < sorters[i].entries.count; j++) {
			if (!entry_vec_push(all, sorters[i].entries.items[j]))
				return err_nomem();
		}
	}
	return sort_stable(all->items, all->count, sizeof(*all->items), entry_compare, &sorters[0])
		       ? NULL
		       : err_nomem();
}

/* --- answers ------------------------------------------------------------------------------- */

/* Time order needs no sorting. */
static struct err *rows_by_time(const struct selection *selection, bool is_descending,
				uint64_t skip, uint64_t count, uint64_t *rows)
{
	(void)rows;
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t index = skip + i;

		rows[i] = selection_row(selection,
					is_descending ? selection->count - 1 - index : index);
	}
	return NULL;
}

static struct err *rows_by_field(const struct selection *selection,
				 const struct selection_order *order, uint64_t skip, uint64_t count,
				 uint64_t *rows)
{
	const struct sweep_limits *limits = &selection->limits;
	const uint64_t segment_count = div_up(model_row_count(selection->model), MODEL_SEGMENT);
	const size_t worker_count = sweep_workers(limits, segment_count);
	CLEAN(free) struct batch *batches = calloc(worker_count, sizeof(*batches));
	struct sorter sorters[SWEEP_WORKERS_MAX];
	struct err *err = facts_prepare(selection->facts, order->field->facts);

	if (err || !batches)
		return err ? err : err_nomem();
	for (size_t i = 0; i < worker_count; i++)
		sorters[i] = (struct sorter) { .selection = selection,
					       .order = order,
					       .batch = &batches[i],
					       .count = skip + count };
	err = sweep_run(limits, segment_count, sort_segment, sorters, sizeof(*sorters),
			worker_count);
	if (!err)
		err = gather(sorters, worker_count);
	for (uint64_t i = 0; !err && i < count; i++)
		rows[i] = sorters[0].entries.items[skip + i].row;
	for (size_t i = 0; i < worker_count; i++)
		entry_vec_deinit(&sorters[i].entries);
	return err;
}

struct err *selection_sorted(const struct selection *selection, const struct selection_order *order,
			     uint64_t skip, uint64_t count, struct arena *arena,
			     const uint64_t **rows_ret, uint64_t *count_ret)
{
	const uint64_t rest = selection->count - u64_min(skip, selection->count);
	const bool is_by_time = !order->field || strcmp(order->field->name, "time") == 0;
	struct err *err = NULL;
	uint64_t *rows;

	assert(!order->field || order->field->type != FIELD_TEXTS);
	count = count == 0 ? rest : u64_min(count, rest);
	rows = arena_array(arena, count, sizeof(*rows));
	if (!rows)
		return err_nomem();
	if (count > 0)
		err = is_by_time ? rows_by_time(selection, order->is_descending, skip, count, rows)
				 : rows_by_field(selection, order, skip, count, rows);
	if (err)
		return err;
	assert(count <= selection->count);
	*rows_ret = rows;
	*count_ret = count;
	return NULL;
}
