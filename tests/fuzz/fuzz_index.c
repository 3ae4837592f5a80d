/*
 * Any bytes as an index: reading it, and asking a model that comes out of it, ends in an error or
 * in answers that may be wrong but are within what the model says there is.
 */
#include "index_input.h"

enum { STACKS_MAX = 1 << 12, POINTS = 50 };

static void check(bool holds)
{
	if (!holds)
		abort();
}

static uint64_t column_end(const struct model *model, enum model_column column)
{
	switch (column) {
	case MODEL_STACK:
	case MODEL_FREE_STACK:
		return model_stack_count(model);
	case MODEL_THREAD:
		return model_thread_count(model);
	case MODEL_REALLOC_OF:
		return model_row_count(model);
	case MODEL_CHAIN:
		return model_chain_count(model);
	default:
		return UINT64_MAX;
	}
}

static void ask_rows(const struct model *model)
{
	uint64_t values[MODEL_BATCH], rows[MODEL_BATCH];

	for (int column = 0; column < MODEL_COLUMNS; column++)
		for (uint64_t at = 0; at < model_row_count(model); at += MODEL_BATCH) {
			size_t count = u64_min(MODEL_BATCH, model_row_count(model) - at);
			uint64_t end = column_end(model, (enum model_column)column);

			model_rows_read(model, (enum model_column)column, at, count, values);
			for (size_t i = 0; i < count; i++)
				check(values[i] < end || values[i] == UINT64_MAX ||
				      end == UINT64_MAX);
		}
	for (uint64_t at = 0; at < model_free_count(model); at += MODEL_BATCH) {
		size_t count = u64_min(MODEL_BATCH, model_free_count(model) - at);

		model_frees_read(model, at, count, rows);
		model_rows_gather(model, MODEL_FLAGS, rows, count, values);
		model_rows_gather(model, MODEL_CHAIN, rows, count, values);
	}
	for (uint64_t i = 0; i < model_chain_count(model); i++)
		check(model_chain_get(model, i).last_row < model_row_count(model));
}

static void ask(const struct model *model)
{
	static struct model_stack_moment moments[STACKS_MAX];
	struct model_timeline_span spans[POINTS];
	const struct capture_stack *stacks = model_stacks(model);
	size_t texts = 0;

	for (size_t i = 0; i < model_stack_count(model); i++) {
		check(i < CAPTURE_STACK_FIRST || stacks[i].parent < i);
		check(stacks[i].module == CAPTURE_MODULE_NONE ||
		      stacks[i].module < model_module_count(model));
		model_stack_first_ns(model, (uint32_t)i);
	}
	for (size_t i = 0; i < model_thread_count(model); i++)
		texts += strlen(model_thread(model, i)->name);
	for (size_t i = 0; i < model_note_count(model); i++)
		texts += strlen(model_notes(model)[i].text);
	for (size_t i = 0; i < model_module_count(model); i++)
		texts += strlen(model_module(model, i)->path) +
			 model_module(model, i)->build_id_bytes;
	for (uint32_t i = 0; i < model_process(model)->argc; i++)
		texts += strlen(model_process(model)->argv[i]);
	check(texts <= SIZE_MAX / 2);
	ask_rows(model);
	if (model_stack_count(model) <= STACKS_MAX)
		model_stack_moments(model, model_process(model)->duration_ns / 2, moments);
	model_timeline_window(model, 0, model_process(model)->duration_ns, POINTS, spans);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model *model = index_input_read(0, data, size);

	if (model)
		ask(model);
	model_destroy(model);
	return 0;
}
