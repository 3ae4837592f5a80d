#include "report/table.h"

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
