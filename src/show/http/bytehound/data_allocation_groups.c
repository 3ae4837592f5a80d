/*
 * /data/<id>/allocation_groups: one entry per call stack, with sums of the allocations matching the
 * filter (only_matched) and of all of the stack (all).
 */
#include "groups/groups.h"
#include "http/bytehound/data.h"
#include "http/bytehound/data_filter.h"
#include "select/fields.h"

static void sums_emit(struct data *data, const struct group *group, bool is_of_all)
{
	const struct group_sums *sums = is_of_all ? &group->all : &group->matched;

	emit_object(data->emit, is_of_all ? "all" : "only_matched");
	emit_u64(data->emit, "size", sums->sums.allocated.bytes, EMIT_PLAIN);
	emit_u64(data->emit, "min_size", sums->size_min, EMIT_PLAIN);
	emit_u64(data->emit, "max_size", sums->size_max, EMIT_PLAIN);
	data_moment(data, "min_timestamp", sums->first_ns);
	data_moment(data, "max_timestamp", sums->last_ns);
	data_timeval(data, "interval", sums->last_ns - sums->first_ns);
	emit_u64(data->emit, "leaked_count", sums->sums.leaked.count, EMIT_PLAIN);
	emit_u64(data->emit, "allocated_count", sums->sums.allocated.count, EMIT_PLAIN);
	emit_null(data->emit, "graph_preview_url");
	emit_null(data->emit, "graph_url");
	if (is_of_all && group->usage_max != FIELD_NONE)
		data_moment(data, "max_total_usage_first_seen_at", group->usage_max_ns);
	else
		data_no_moment(data, "max_total_usage_first_seen_at");
	emit_end(data->emit);
}

static void groups_emit(struct data *data, const struct groups *groups)
{
	emit_object(data->emit, NULL);
	emit_list(data->emit, "allocations");
	for (size_t i = 0; i < groups->count && !emit_has_failed(data->emit); i++) {
		const struct group *group = &groups->items[i];

		emit_object(data->emit, NULL);
		sums_emit(data, group, true);
		sums_emit(data, group, false);
		data_backtrace(data, group->stack);
		emit_end(data->emit);
	}
	emit_end(data->emit);
	emit_u64(data->emit, "total_count", groups->total_count, EMIT_PLAIN);
	emit_end(data->emit);
}

/* memory-profiler's keys are memtape's, except one; its default order is by time, ascending. */
static struct err *order_parse(struct call *call, struct group_order *order_ret)
{
	const char *key = call_text(call, "sort_by");
	const char *direction = call_text(call, "order");
	struct err *err;

	if (!key)
		key = "only_matched.min_timestamp";
	if (strcmp(key, "all.max_total_usage_first_seen_at") == 0)
		key = "all.usage_max_time";
	err = group_order_parse(key, direction ? direction : "asc", order_ret);
	return err ? call_blame(call, direction && call_text(call, "sort_by") ? NULL : "sort_by",
				err)
		   : NULL;
}

static struct err *run(struct call *call)
{
	struct group_settings settings = {
		.by = GROUP_BY_STACK,
		.mode = WALK_EXACT,
		.skip = call_number(call, "skip"),
		.count = call_number(call, "count"),
		.wants_usage_max = true,
	};
	const struct selection *selection;
	struct groups groups;
	struct data data;
	struct err *err = order_parse(call, &settings.order);

	if (!err)
		err = data_select(call, &selection);
	if (!err)
		err = data_begin(call, &data);
	if (err)
		return err;
	err = groups_find(selection, &settings, call->arena, &groups);
	if (!err)
		groups_emit(&data, &groups);
	return data_end(&data, err);
}

static const struct param params[] = {
	DATA_FILTER_PARAMS,
	{ .name = "sort_by",
	  .kind = PARAM_TEXT,
	  .doc = "only_matched or all, a dot, and min_timestamp, max_timestamp, interval, "
		 "allocated_count, leaked_count or size" },
	{ .name = "order", .kind = PARAM_TEXT, .doc = "asc, or dsc" },
	{ .name = "count", .kind = PARAM_NUMBER, .doc = "so many at most", .missing = "all" },
	{ .name = "skip", .kind = PARAM_NUMBER, .doc = "without the first so many" },
};

const struct route route_data_allocation_groups = {
	.path = "/data/{c}/allocation_groups",
	.summary = "sums of each call stack, as memory-profiler has them",
	.type = "application/json; charset=utf-8",
	.flags = ROUTE_TAPE | ROUTE_RAW | ROUTE_FILE | ROUTE_LENIENT,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
