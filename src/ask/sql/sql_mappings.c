/* The address space over time: all mappings. */
#include "space/space.h"
#include "sql/sql_table.h"

enum {
	MAPPING_ID,
	MAPPING_ADDRESS,
	MAPPING_BYTES,
	MAPPING_KIND,
	MAPPING_NAME,
	MAPPING_FROM_NS,
	MAPPING_TO_NS,
	MAPPING_MAPPED,
	MAPPING_MAPPED_MAX,
	MAPPING_RESIDENT,
	MAPPING_RESIDENT_MAX,
	MAPPING_THREAD,
	MAPPING_STACK_ID,
	MAPPING_PROT,
	MAPPING_FLAGS,
	MAPPING_OFFSET,
	MAPPING_SEEN
};

static const struct sql_column columns[] = {
	[MAPPING_ID] = { "id", SQL_KEY, 0, "number of the mapping" },
	[MAPPING_ADDRESS] = { "address", 0, 0, "of its first page when it came" },
	[MAPPING_BYTES] = { "bytes", 0, 0, "its length when it came" },
	[MAPPING_KIND] = { "kind", SQL_TEXTUAL, 0,
			   "what it is for: heap, file, module, stack ..." },
	[MAPPING_NAME] = { "name", SQL_TEXTUAL, 0, "path, or a name in brackets" },
	[MAPPING_FROM_NS] = { "from_ns", 0, 0, "when it came" },
	[MAPPING_TO_NS] = { "to_ns", 0, 0, "when its last page went; NULL: never" },
	[MAPPING_MAPPED] = { "mapped_bytes", 0, 0, "of it mapped at the end" },
	[MAPPING_MAPPED_MAX] = { "mapped_bytes_max", 0, 0, "most that ever was" },
	[MAPPING_RESIDENT] = { "resident_bytes", 0, 0, "of it resident when last asked" },
	[MAPPING_RESIDENT_MAX] = { "resident_bytes_max", 0, 0, "most that was whenever asked" },
	[MAPPING_THREAD] = { "thread", 0, 0, "that made it: threads.id; NULL: not seen" },
	[MAPPING_STACK_ID] = { "stack", 0, 0, "that made it: stacks.id; NULL: not seen" },
	[MAPPING_PROT] = { "prot", 0, 0, "PROT_READ ... as a number, when it came" },
	[MAPPING_FLAGS] = { "flags", 0, 0, "MAP_PRIVATE ... as a number; NULL: not seen" },
	[MAPPING_OFFSET] = { "offset", 0, 0, "in the file" },
	[MAPPING_SEEN] = { "seen", 0, 0, "1: the kernel showed it, no call is on the tape" },
};

/* The purpose of a mapping is known best at the end. */
static struct err *prepare(struct sql_context *context)
{
	CLEAN(space_destroy) struct space *space = NULL;
	struct err *err = context->space ? NULL : space_create(context->model, &space);

	if (context->space)
		return NULL;
	if (!err)
		err = space_advance(space, UINT64_MAX - 1);
	if (!err)
		context->space = steal(space);
	return err;
}

/* Estimate before they are known: calls and samples of mappings are at most as many as notes. */
static uint64_t row_count(const struct sql_context *context)
{
	return context->space ? mappings_all(space_mappings(context->space))->count
			      : model_note_count(context->model);
}

static void text_value(const struct mapping *mapping, unsigned column, struct sql_value *value)
{
	if (column == MAPPING_KIND)
		sql_value_text(value, mapping_kind_words[mapping_kind(mapping)]);
	else
		sql_value_text(value, mapping->name[0] ? mapping->name : NULL);
}

static void row_value(struct sql_context *context, uint64_t row, unsigned column,
		      struct sql_value *value)
{
	const struct mapping *mapping = &mappings_all(space_mappings(context->space))->items[row];
	const uint64_t none = UINT64_MAX;
	const uint64_t values[] = {
		[MAPPING_ID] = row,
		[MAPPING_ADDRESS] = mapping->address,
		[MAPPING_BYTES] = mapping->bytes,
		[MAPPING_FROM_NS] = mapping->begin_ns,
		[MAPPING_TO_NS] = mapping->end_ns,
		[MAPPING_MAPPED] = mapping->mapped_bytes,
		[MAPPING_MAPPED_MAX] = mapping->mapped_bytes_max,
		[MAPPING_RESIDENT] = mapping->resident_bytes,
		[MAPPING_RESIDENT_MAX] = mapping->resident_bytes_max,
		[MAPPING_THREAD] = mapping->thread == MODEL_NO_THREAD ? none : mapping->thread,
		[MAPPING_STACK_ID] = mapping->stack == CAPTURE_STACK_NONE ? none : mapping->stack,
		[MAPPING_PROT] = mapping->prot,
		[MAPPING_FLAGS] = mapping->flags < 0 ? none : (uint64_t)mapping->flags,
		[MAPPING_OFFSET] = mapping->offset,
		[MAPPING_SEEN] = mapping->is_seen,
	};

	static_assert(array_size(values) == array_size(columns), "each has its value");
	if (columns[column].flags & SQL_TEXTUAL)
		text_value(mapping, column, value);
	else
		sql_value_unless(value, values[column], none);
}

const struct sql_table sql_mappings = {
	.name = "mappings",
	.about = "the address space over time: every mapping there was",
	.columns = columns,
	.column_count = array_size(columns),
	.rows_per_key = 1,
	.row_count = row_count,
	.prepare = prepare,
	.row_value = row_value,
};
