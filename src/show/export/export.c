#include "export/export.h"

#include <assert.h>

const char *export_kind_word(enum export_kind kind)
{
	static const char *const words[] = {
		[EXPORT_SUMS] = "sums",
		[EXPORT_COURSE] = "course",
		[EXPORT_EVENTS] = "events",
	};

	assert((unsigned)kind < array_size(words));
	return words[kind];
}

const struct export_format *export_find(const char *name)
{
	for (const struct export_format *const *at = export_table; *at; at++) {
		if (strcmp((*at)->name, name) == 0)
			return *at;
	}
	return NULL;
}

struct err *export_at_check(const struct export_format *format)
{
	assert((unsigned)format->kind <= EXPORT_EVENTS);
	if (format->kind == EXPORT_SUMS)
		return NULL;
	return err_new(ERR_USAGE, "a %s file does not show a single moment but %s", format->name,
		       format->kind == EXPORT_COURSE ? "what went on over time"
						     : "single allocations and frees");
}

struct err *export_metric_check(const struct export_format *format, enum metric metric,
				bool is_moment)
{
	if (metric != METRIC_RETAINED && !metric_is_seen(metric))
		return NULL;
	if (!format->has_metric)
		return err_new(ERR_USAGE,
			       "a %s file has sums of its own choice; the metric %s is for "
			       "dot, flamegraph and folded",
			       format->name, metric_words_all[metric]);
	if (is_moment && metric == METRIC_STALE)
		return err_new(ERR_USAGE, "a moment does not go with the metric stale, which is of "
					  "the last look before the end");
	if (is_moment && (metric == METRIC_OWNED_FAULTS || metric_is_of_kernel(metric)))
		return err_new(
			ERR_USAGE,
			"a moment does not go with the metric %s, which is of a span of time",
			metric_words_all[metric]);
	if (is_moment)
		return err_new(
			ERR_USAGE,
			"a moment does not go with the metric retained, which is of the time "
			"of a leak scan");
	return NULL;
}
