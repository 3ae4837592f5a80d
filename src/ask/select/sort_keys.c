#include "select/sort_keys.h"

#include <assert.h>

#include "base/sort.h"

static uint64_t key_of(const struct sort_keys *keys, uint64_t value)
{
	if (value == FIELD_NONE)
		return UINT64_MAX;
	if (keys->order->field->type == FIELD_TEXT)
		value = *map_find(&keys->ranks, value);
	return keys->order->is_descending ? UINT64_MAX - 1 - value : value;
}

static void read_values(struct sort_reading *reading, uint64_t first)
{
	const struct selection *selection = reading->keys->selection;

	reading->count = selection_batch(selection, first, reading->rows);
	if (reading->count == 0)
		return;
	batch_list(&reading->batch, selection->facts, reading->rows, reading->count);
	field_read(reading->keys->order->field, &reading->batch, reading->values);
}

void sort_reading_read(struct sort_reading *reading, uint64_t first)
{
	assert(first % MODEL_BATCH == 0);
	read_values(reading, first);
	for (size_t i = 0; i < reading->count; i++)
		reading->values[i] = key_of(reading->keys, reading->values[i]);
}

void sort_reading_list(struct sort_reading *reading, size_t count)
{
	assert(count <= MODEL_BATCH);
	reading->count = count;
	batch_list(&reading->batch, reading->keys->selection->facts, reading->rows, count);
	field_read(reading->keys->order->field, &reading->batch, reading->values);
	for (size_t i = 0; i < count; i++)
		reading->values[i] = key_of(reading->keys, reading->values[i]);
}

/* --- texts --------------------------------------------------------------------------------- */

struct text_rank {
	uint64_t value;
	const char *text;
};

VEC_DEFINE(text_ranks, struct text_rank);

static int text_compare(const void *context, const void *a, const void *b)
{
	(void)context;
	return strcmp(((const struct text_rank *)a)->text, ((const struct text_rank *)b)->text);
}

static struct err *texts_collect(struct sort_keys *keys, struct sort_reading *reading,
				 struct text_ranks *texts)
{
	const struct selection *selection = keys->selection;

	for (uint64_t first = 0; first < model_row_count(selection->model); first += MODEL_BATCH) {
		read_values(reading, first);
		for (size_t i = 0; i < reading->count; i++) {
			const uint64_t value = reading->values[i];
			bool is_new = false;

			if (value != FIELD_NONE && !map_put(&keys->ranks, value, &is_new))
				return err_nomem();
			if (is_new &&
			    !text_ranks_push(texts,
					     (struct text_rank) {
						     value, field_text(keys->order->field,
								       selection->facts, value) }))
				return err_nomem();
		}
	}
	return NULL;
}

/* Equal texts have equal ranks. */
static struct err *ranks_find(struct sort_keys *keys)
{
	CLEAN(free) struct sort_reading *reading = calloc(1, sizeof(*reading));
	CLEAN(text_ranks_deinit) struct text_ranks texts = { 0 };
	struct err *err;
	uint64_t rank = 0;

	if (!reading)
		return err_nomem();
	reading->keys = keys;
	err = texts_collect(keys, reading, &texts);
	if (err)
		return err;
	if (!sort_stable(texts.items, texts.count, sizeof(*texts.items), text_compare, NULL))
		return err_nomem();
	for (size_t i = 0; i < texts.count; i++) {
		rank += i > 0 && strcmp(texts.items[i].text, texts.items[i - 1].text) != 0;
		*map_find(&keys->ranks, texts.items[i].value) = rank;
	}
	return NULL;
}

struct err *sort_keys_init(struct sort_keys *keys, const struct selection *selection,
			   const struct selection_order *order)
{
	struct err *err = facts_prepare(selection->facts, order->field->facts);

	assert(order->field && order->field->type != FIELD_TEXTS);
	*keys = (struct sort_keys) { .selection = selection, .order = order };
	return err || order->field->type != FIELD_TEXT ? err : ranks_find(keys);
}

void sort_keys_deinit(struct sort_keys *keys)
{
	map_deinit(&keys->ranks);
}
