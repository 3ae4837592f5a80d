/* The table of samples of the system. */
#include "sql/sql_table.h"

static const struct sql_column columns[] = {
	{ "id", SQL_KEY, 0, "number of the sample" },
	{ "ns", 0, 0, "when it was taken" },
	{ "memory_bytes", 0, 0, "all memory of the machine" },
	{ "available_bytes", 0, 0, "to be had without swapping" },
	{ "swap_bytes", 0, 0, "all swap of the machine" },
	{ "swap_free_bytes", 0, 0, "of it, free" },
	{ "swapped_in_bytes", 0, 0, "since the machine was started" },
	{ "swapped_out_bytes", 0, 0, "since the machine was started" },
	{ "major_faults", 0, 0, "of all processes, since the machine was started" },
	{ "oom_kills", 0, 0, "processes killed since the machine was started" },
	{ "some_avg10", 0, 0, "hundredths of a percent of the last 10 s: something waited" },
	{ "full_avg10", 0, 0, "the same: everything waited" },
	{ "some_us", 0, 0, "microseconds in which something waited" },
	{ "full_us", 0, 0, "microseconds in which everything waited" },
	{ "cgroup_bytes", 0, 0, "used by the control group" },
	{ "cgroup_inactive_bytes", 0, 0, "of these, cache that is freed first" },
	{ "cgroup_limit_bytes", 0, 0, "allowed to the control group; NULL: no limit" },
	{ "cgroup_high_bytes", 0, 0, "above it, it is slowed down; NULL: no limit" },
	{ "cgroup_limit_hits", 0, 0, "times at its limit, since it was made" },
	{ "cgroup_high_hits", 0, 0, "times that it was slowed down" },
	{ "cgroup_ooms", 0, 0, "times that nothing could be freed" },
	{ "cgroup_oom_kills", 0, 0, "processes of it that were killed" },
	{ "cgroup_some_avg10", 0, 0, "as some_avg10, of the control group" },
	{ "cgroup_full_avg10", 0, 0, "as full_avg10, of the control group" },
	{ "cgroup_some_us", 0, 0, "as some_us, of the control group" },
	{ "cgroup_full_us", 0, 0, "as full_us, of the control group" },
};

enum { COLUMNS_BEFORE = 2 };

/* The columns are the members, in their order. */
static_assert(array_size(columns) == COLUMNS_BEFORE + sizeof(struct tape_system) / sizeof(uint64_t),
	      "each has its value");

static void system_value(struct sql_context *context, uint64_t row, unsigned column,
			 struct sql_value *value)
{
	const struct model_system *sample = &model_systems(context->model)[row];
	uint64_t values[array_size(columns)] = { row, sample->ns };

	memcpy(values + COLUMNS_BEFORE, &sample->system, sizeof(sample->system));
	for (size_t i = COLUMNS_BEFORE; i < array_size(columns); i++)
		values[i] = arch_little_u64(values[i]); /* as on the tape */
	sql_value_unless(value, values[column], UINT64_MAX);
}

static uint64_t system_count(const struct sql_context *context)
{
	return model_system_count(context->model);
}

const struct sql_table sql_system = {
	.name = "system",
	.about = "samples of the machine's memory and of the control group; NULL: not known",
	.columns = columns,
	.column_count = array_size(columns),
	.rows_per_key = 1,
	.row_count = system_count,
	.row_value = system_value,
};
