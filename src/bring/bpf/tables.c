#include "bpf/tables.h"

#include "base/sort.h"
#include "scan/stack_frames.h"
#include "unwind/rule.h"

/* A row with its key for sorting. */
struct raw_row {
	uint64_t
		key; /* address << 1 | there is a rule: a function's beginning is behind another's end */
	uint32_t rule;
};

VEC_DEFINE(raw_rows, struct raw_row);

struct reading {
	struct raw_rows rows;
	uint64_t bias;
	bool is_too_large;
	bool has_failed;
};

static bool take_rule(void *context, uint64_t pc, uint32_t rule)
{
	struct reading *reading = context;
	const uint64_t address = pc - reading->bias;
	const struct raw_row row = { address << 1 | (rule != UNWIND_NONE), rule };

	if (address > UINT32_MAX) {
		reading->is_too_large = true;
		return true;
	}
	reading->has_failed = !raw_rows_push(&reading->rows, row);
	return !reading->has_failed;
}

/* Of rows with the same address the last one holds; those that change nothing are left out. */
static bool add_rows(const struct raw_rows *raw, struct tables_rows *rows)
{
	const size_t first = rows->count;

	for (size_t i = 0; i < raw->count; i++) {
		const struct probes_row row = { (uint32_t)(raw->items[i].key >> 1),
						raw->items[i].rule };
		const bool is_last =
			i + 1 == raw->count || raw->items[i + 1].key >> 1 != raw->items[i].key >> 1;
		const uint32_t before =
			rows->count > first ? rows->items[rows->count - 1].rule : UNWIND_NONE;

		if (is_last && row.rule != before && !tables_rows_push(rows, row))
			return false;
	}
	return true;
}

static void reading_deinit(struct reading *reading)
{
	raw_rows_deinit(&reading->rows);
}
CLEAN_DEFINE_DEINIT(reading_deinit, struct reading);

struct err *tables_read(const struct elf_file *file, struct tables_rows *rows)
{
	CLEAN(reading_deinit) struct reading reading = { 0 };
	struct unwind_object object;

	if (!stack_frames_section(file, &object, &reading.bias) &&
	    !stack_frames_tables(file, &object, &reading.bias))
		return NULL;
	unwind_rules_each(&object, take_rule, &reading);
	if (reading.has_failed ||
	    !sort_by_u64(reading.rows.items, reading.rows.count, sizeof(*reading.rows.items),
			 offsetof(struct raw_row, key)))
		return err_nomem();
	if (reading.is_too_large)
		return err_new(ERR_LIMIT, "code beyond 4 GiB");
	return add_rows(&reading.rows, rows) ? NULL : err_nomem();
}
