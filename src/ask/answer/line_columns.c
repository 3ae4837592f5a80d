#include "answer/line_columns.h"

#include <assert.h>

#include "base/str.h"

/* The last six are those of Valgrind's execution trees, named as kcachegrind shows them. */
static const struct line_column columns[] = {
	{ "allocated", OF_TOTAL, METRIC_ALLOCATED }, { "calls", OF_TOTAL, METRIC_COUNT },
	{ "peak", OF_TOTAL, METRIC_PEAK },	     { "blocks", OF_TOTAL, METRIC_PEAK_COUNT },
	{ "leaked", OF_TOTAL, METRIC_LEAKED },	     { "left", OF_TOTAL, METRIC_LEAKED_COUNT },
	{ "temporary", OF_TOTAL, METRIC_TEMPORARY }, { "freed", OF_FREED, METRIC_ALLOCATED },
	{ "frees", OF_FREED, METRIC_COUNT },	     { "self", OF_SELF, METRIC_ALLOCATED },
	{ "selfcalls", OF_SELF, METRIC_COUNT },	     { "curB", OF_TOTAL, METRIC_LEAKED },
	{ "curBk", OF_TOTAL, METRIC_LEAKED_COUNT },  { "totB", OF_TOTAL, METRIC_ALLOCATED },
	{ "totBk", OF_TOTAL, METRIC_COUNT },	     { "totFdB", OF_FREED, METRIC_ALLOCATED },
	{ "totFdBk", OF_FREED, METRIC_COUNT },
};

uint64_t line_column_value(const struct line *line, const struct line_column *column)
{
	const struct model_stack_sums freed = { .allocated = line->freed };
	const struct model_stack_sums *const sums[] = {
		[OF_TOTAL] = &line->total,
		[OF_FREED] = &freed,
		[OF_SELF] = &line->self,
	};

	assert((unsigned)column->of < array_size(sums));
	assert((unsigned)column->metric < METRICS_KEYED);
	return metric_value(column->metric, sums[column->of]);
}

static const char usual[] = "allocated,calls,peak,leaked";

static const struct line_column *column_find(const char *name, size_t len)
{
	for (size_t i = 0; i < array_size(columns); i++) {
		if (strlen(columns[i].name) == len && memcmp(columns[i].name, name, len) == 0)
			return &columns[i];
	}
	return NULL;
}

static struct err *column_unknown(const char *name, size_t len)
{
	CLEAN(str_deinit) struct str known = { 0 };

	for (size_t i = 0; i < array_size(columns); i++)
		str_printf(&known, "%s%s", i ? ", " : "", columns[i].name);
	return err_new(ERR_USAGE, "--columns: '%.*s': expected one of %s", (int)u64_min(len, 32),
		       name, str_text(&known));
}

struct err *line_columns_choose(const char *list, struct line_columns *chosen)
{
	*chosen = (struct line_columns) { 0 };
	for (list = list ? list : usual;; list++) {
		const size_t len = strcspn(list, ",");
		const struct line_column *column = column_find(list, len);

		if (!column)
			return column_unknown(list, len);
		if (chosen->count == LINE_COLUMNS_MAX)
			return err_new(ERR_USAGE, "--columns: at most %d", (int)LINE_COLUMNS_MAX);
		chosen->items[chosen->count++] = column;
		list += len;
		if (!*list)
			return NULL;
	}
}
