#include "report/xtree.h"

#include "export/call_costs.h"

enum { BYTES = 0, INDIRECT_BYTES = 4, BLOCKS = 5 };

/* Names, words and order of Valgrind's, without increase and decrease: of one scan there are none. */
static const struct call_costs_event events[] = {
	{ "RB", "Reachable Bytes" },
	{ "PB", "Possibly lost Bytes" },
	{ "IB", "Indirectly lost Bytes" },
	{ "DB", "Definitely lost Bytes (direct plus indirect)" },
	{ "DIB", "Definitely Indirectly lost Bytes (subset of DB)" },
	{ "RBk", "reachable Blocks" },
	{ "PBk", "Possibly lost Blocks" },
	{ "IBk", "Indirectly lost Blocks" },
	{ "DBk", "Definitely lost Blocks" },
};

static void record_add(struct call_costs *costs, const struct loss_record *record)
{
	static const unsigned columns[] = {
		[LOSS_REACHABLE] = 0, [LOSS_POSSIBLE] = 1, [LOSS_INDIRECT] = 2, [LOSS_DEFINITE] = 3
	};
	const unsigned column = columns[record->kind];

	costs->values[BYTES + column] += record->bytes + record->indirect_bytes;
	costs->values[BLOCKS + column] += record->blocks;
	costs->values[INDIRECT_BYTES] += record->indirect_bytes;
}

struct err *xtree_write(const struct report_context *context,
			const struct leak_classes_answer *answer, FILE *out)
{
	const struct loss_record *records = answer->records.items;
	CLEAN(free)
	struct call_costs *costs = calloc(model_stack_count(context->model) + 1, sizeof(*costs));
	const struct call_costs_file file = {
		.model = context->model,
		.names = context->names,
		.mode = context->mode,
		.events = events,
		.event_count = array_size(events),
		.costs = costs,
	};

	if (!costs)
		return err_nomem();
	for (size_t i = 0; i < answer->records.count; i++)
		record_add(&costs[records[i].stack], &records[i]);
	return call_costs_write(&file, out);
}
