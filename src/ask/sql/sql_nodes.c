/* The table of looks at NUMA nodes: a row for each node of each look. */
#include "space/node_use.h"
#include "sql/sql_table.h"

enum { NODE_ID, NODE_NS, NODE_NODE, NODE_BYTES, NODE_CPU_NS };

static const struct sql_column columns[] = {
	[NODE_ID] = { "id", SQL_KEY, 0, "number of the row" },
	[NODE_NS] = { "ns", 0, 0, "when it was looked at" },
	[NODE_NODE] = { "node", 0, 0, "number of the node" },
	[NODE_BYTES] = { "bytes", 0, 0, "of the process's memory on it, without files" },
	[NODE_CPU_NS] = { "cpu_ns", 0, 0, "processor time spent on it so far, about" },
};

struct row {
	uint64_t ns, node, bytes, cpu_ns;
};

static struct err *prepare(struct sql_context *context)
{
	CLEAN(node_look_vec_deinit) struct node_look_vec looks = { 0 };
	struct err *err = context->nodes ? NULL : node_looks_find(context->model, &looks);
	struct row *rows;
	uint64_t count = 0;

	if (err || context->nodes)
		return err;
	for (size_t i = 0; i < looks.count; i++)
		count += (uint64_t)__builtin_popcountll(looks.items[i].set);
	rows = arena_array(&context->arena, count + 1, sizeof(*rows));
	if (!rows)
		return err_nomem();
	context->nodes = rows;
	for (size_t i = 0; i < looks.count; i++)
		for (unsigned node = 0; node < NODE_USE_MAX; node++)
			if (looks.items[i].set >> node & 1)
				rows[context->node_count++] =
					(struct row) { looks.items[i].ns, node,
						       looks.items[i].bytes[node],
						       looks.items[i].cpu_ns[node] };
	return NULL;
}

/* Estimate before they are known. */
static uint64_t row_count(const struct sql_context *context)
{
	return context->nodes ? context->node_count : model_note_count(context->model);
}

static void row_value(struct sql_context *context, uint64_t row, unsigned column,
		      struct sql_value *value)
{
	const struct row *of = &((const struct row *)context->nodes)[row];
	const uint64_t values[] = {
		[NODE_ID] = row,	  [NODE_NS] = of->ns,	      [NODE_NODE] = of->node,
		[NODE_BYTES] = of->bytes, [NODE_CPU_NS] = of->cpu_ns,
	};

	static_assert(array_size(values) == array_size(columns), "each has its value");
	sql_value_unless(value, values[column], UINT64_MAX);
}

const struct sql_table sql_nodes = {
	.name = "nodes",
	.about = "looks at NUMA nodes: where memory was and threads ran; empty with one node",
	.columns = columns,
	.column_count = array_size(columns),
	.rows_per_key = 1,
	.prepare = prepare,
	.row_count = row_count,
	.row_value = row_value,
};
