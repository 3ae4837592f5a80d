#include "report/table.h"

#include "report/quality.h"
#include "report/suppressed.h"

struct err *table_begin(struct table *table, const struct report_context *context, FILE *out,
			const char *key, const struct emit_column *columns, size_t column_count)
{
	const struct report_settings *settings = context->settings;
	const bool is_json = settings->format == EMIT_JSON;

	*table = (struct table) { .context = context, .out = out };
	table->emit = emit_create(out, &(struct emit_settings) { .format = settings->format,
								 .colour = settings->colour,
								 .width = settings->width });
	if (!table->emit)
		return err_nomem();
	if (is_json)
		emit_object(table->emit, NULL);
	emit_table(table->emit, is_json ? key : NULL, columns, column_count);
	return NULL;
}

struct err *table_end(struct table *table)
{
	CLEAN(emit_destroy) struct emit *emit = steal(table->emit);
	CLEAN(text_deinit) struct text text = text_begin(table->context->settings);
	const enum emit_format format = table->context->settings->format;
	struct err *err;

	emit_end(emit);
	if (format == EMIT_JSON) {
		suppressed_emit(emit, table->context);
		quality_emit(emit, table->context);
		emit_end(emit);
	}
	err = emit_finish(emit);
	if (err || format != EMIT_TEXT)
		return err;
	if (table->remark) {
		text_add(&text, TEXT_DIM, table->remark);
		str_add_char(&text.out, '\n');
	}
	suppressed_line(&text, table->context);
	quality_text(&text, table->context);
	return text_write(&text, table->out);
}

const enum metric table_sums[TABLE_SUMS] = {
	METRIC_PEAK,	  METRIC_PEAK_COUNT, METRIC_LEAKED,	     METRIC_LEAKED_COUNT,
	METRIC_ALLOCATED, METRIC_COUNT,	     METRIC_TEMPORARY_BYTES, METRIC_TEMPORARY,
};

void table_metric_columns(struct emit_column *columns, const enum metric *which, size_t count)
{
	for (size_t i = 0; i < count; i++)
		columns[i] = (struct emit_column) { .key = metric_key(which[i]) };
}

void table_metrics(struct emit *emit, const enum metric *which, size_t count,
		   const struct model_stack_sums *sums)
{
	for (size_t i = 0; i < count; i++)
		emit_u64(emit, metric_key(which[i]), metric_value(which[i], sums),
			 metric_is_bytes(which[i]) ? EMIT_BYTES : EMIT_COUNT);
}
