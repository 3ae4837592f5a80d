/* Tables over time: the timeline, samples of memory use, and rare events. */
#include "sql/sql_table.h"

/* --- timeline ------------------------------------------------------------------------------ */

static const struct sql_column timeline_columns[] = {
	{ "id", SQL_KEY, 0, "number of the span; all are equally long" },
	{ "begin_ns", 0, 0, "since recording began" },
	{ "live_bytes_max", 0, 0, "most bytes alive in the span" },
	{ "live_bytes_end", 0, 0, "bytes alive at its end" },
	{ "live_count_end", 0, 0, "blocks alive at its end" },
	{ "allocated_count", 0, 0, "allocations in the span" },
	{ "allocated_bytes", 0, 0, "requested by them" },
	{ "free_count", 0, 0, "frees in the span" },
};

static void timeline_value(struct sql_context *context, uint64_t row, unsigned column,
			   struct sql_value *value)
{
	const struct model_timeline_span *span = &model_timeline(context->model)[row];
	const uint64_t values[] = {
		row,
		span->begin_ns,
		span->live_bytes_max,
		span->live_bytes_end,
		span->live_count_end,
		span->allocated.count,
		span->allocated.bytes,
		span->free_count,
	};

	static_assert(array_size(values) == array_size(timeline_columns), "each has its value");
	sql_value_u64(value, values[column]);
}

static uint64_t timeline_count(const struct sql_context *context)
{
	return model_timeline_count(context->model);
}

const struct sql_table sql_timeline = {
	.name = "timeline",
	.about = "the run in equal spans of time",
	.columns = timeline_columns,
	.column_count = array_size(timeline_columns),
	.rows_per_key = 1,
	.row_count = timeline_count,
	.row_value = timeline_value,
};

/* --- usage --------------------------------------------------------------------------------- */

static const struct sql_column usage_columns[] = {
	{ "id", SQL_KEY, 0, "number of the sample" },
	{ "ns", 0, 0, "when it was taken" },
	{ "rss_bytes", 0, 0, "resident memory" },
	{ "pss_bytes", 0, 0, "the same, with what is shared divided by its users" },
	{ "swap_bytes", 0, 0, "swapped out" },
	{ "virtual_bytes", 0, 0, "mapped" },
	{ "shared_bytes", 0, 0, "resident and shared" },
	{ "cgroup_bytes", 0, 0, "used by the control group" },
	{ "cgroup_limit_bytes", 0, 0, "allowed to the control group; NULL: no limit" },
	{ "minor_faults", 0, 0, "page faults so far that needed no disk" },
	{ "major_faults", 0, 0, "page faults so far that did" },
};

static void usage_value(struct sql_context *context, uint64_t row, unsigned column,
			struct sql_value *value)
{
	const struct model_usage *sample = &model_usages(context->model)[row];
	const struct tape_usage *usage = &sample->usage;
	const uint64_t values[] = {
		row,
		sample->ns,
		usage->rss_bytes,
		usage->pss_bytes,
		usage->swap_bytes,
		usage->virtual_bytes,
		usage->shared_bytes,
		usage->cgroup_bytes,
		usage->cgroup_limit_bytes >> 60 > 0 ? UINT64_MAX : usage->cgroup_limit_bytes,
		usage->minor_faults,
		usage->major_faults,
	};

	static_assert(array_size(values) == array_size(usage_columns), "each has its value");
	sql_value_unless(value, values[column], UINT64_MAX);
}

static uint64_t usage_count(const struct sql_context *context)
{
	return model_usage_count(context->model);
}

const struct sql_table sql_usage = {
	.name = "usage",
	.about = "samples of the process's memory, as the kernel told; NULL: not known",
	.columns = usage_columns,
	.column_count = array_size(usage_columns),
	.rows_per_key = 1,
	.row_count = usage_count,
	.row_value = usage_value,
};

/* --- notes --------------------------------------------------------------------------------- */

enum {
	NOTE_ID,
	NOTE_NS,
	NOTE_KIND,
	NOTE_THREAD,
	NOTE_STACK,
	NOTE_ADDRESS,
	NOTE_BYTES,
	NOTE_OLD_ADDRESS,
	NOTE_OLD_BYTES,
	NOTE_OFFSET,
	NOTE_PROT,
	NOTE_FLAGS,
	NOTE_FD,
	NOTE_KEY,
	NOTE_VALUE,
	NOTE_RESULT,
	NOTE_PID,
	NOTE_TEXT
};

static const struct sql_column note_columns[] = {
	[NOTE_ID] = { "id", SQL_KEY, 0, "number of the note" },
	[NOTE_NS] = { "ns", 0, 0, "when it happened" },
	[NOTE_KIND] = { "kind", SQL_TEXTUAL, 0,
			"mmap, munmap, mremap, mprotect, madvise, brk, mallopt, malloc_trim, fork, "
			"exec, dlopen, fault, recorder, end, mark, allocator" },
	[NOTE_THREAD] = { "thread", 0, 0, "threads.id; NULL: none of the program's" },
	[NOTE_STACK] = { "stack", 0, 0, "stacks.id" },
	[NOTE_ADDRESS] = { "address", 0, 0, "mappings: NULL if the call failed" },
	[NOTE_BYTES] = { "bytes", 0, 0, "mappings: length" },
	[NOTE_OLD_ADDRESS] = { "old_address", 0, 0, "mremap, brk: where it was before" },
	[NOTE_OLD_BYTES] = { "old_bytes", 0, 0, "mremap: its length before" },
	[NOTE_OFFSET] = { "offset", 0, 0, "mmap: in the file" },
	[NOTE_PROT] = { "prot", 0, 0, "mappings: PROT_READ ... as a number" },
	[NOTE_FLAGS] = { "flags", 0, 0, "mappings: MAP_PRIVATE ... or advice, as a number" },
	[NOTE_FD] = { "fd", 0, 0, "mmap: descriptor of the file" },
	[NOTE_KEY] = { "key", 0, 0, "mallopt: M_MMAP_THRESHOLD ... as a number" },
	[NOTE_VALUE] = { "value", 0, 0, "mallopt: the value; malloc_trim: the pad" },
	[NOTE_RESULT] = { "result", 0, 0, "mallopt, malloc_trim: what it returned" },
	[NOTE_PID] = { "pid", 0, 0, "fork: of the child" },
	[NOTE_TEXT] = { "text", SQL_TEXTUAL, 0, "text of a mark, path of exec and dlopen" },
};

static const char *kind_text(enum tape_extended type)
{
	static const char *const texts[] = {
		[TAPE_EXT_MMAP] = "mmap",	  [TAPE_EXT_MUNMAP] = "munmap",
		[TAPE_EXT_MREMAP] = "mremap",	  [TAPE_EXT_MPROTECT] = "mprotect",
		[TAPE_EXT_MADVISE] = "madvise",	  [TAPE_EXT_BRK] = "brk",
		[TAPE_EXT_MALLOPT] = "mallopt",	  [TAPE_EXT_MALLOC_TRIM] = "malloc_trim",
		[TAPE_EXT_FORK] = "fork",	  [TAPE_EXT_EXEC] = "exec",
		[TAPE_EXT_DLOPEN] = "dlopen",	  [TAPE_EXT_FAULT] = "fault",
		[TAPE_EXT_RECORDER] = "recorder", [TAPE_EXT_END] = "end",
		[TAPE_EXT_MARK] = "mark",	  [TAPE_EXT_ALLOCATOR] = "allocator",
	};

	return (size_t)type < array_size(texts) ? texts[type] : NULL;
}

static bool is_mapping(enum tape_extended type)
{
	return type >= TAPE_EXT_MMAP && type <= TAPE_EXT_BRK;
}

static void map_value(const struct tape_map *map, unsigned column, struct sql_value *value)
{
	switch (column) {
	case NOTE_ADDRESS:
		sql_value_unless(value, map->address, UINT64_MAX);
		break;
	case NOTE_BYTES:
		sql_value_u64(value, map->bytes);
		break;
	case NOTE_OLD_ADDRESS:
		sql_value_u64(value, map->old_address);
		break;
	case NOTE_OLD_BYTES:
		sql_value_u64(value, map->old_bytes);
		break;
	case NOTE_OFFSET:
		sql_value_u64(value, map->offset);
		break;
	case NOTE_PROT:
		sql_value_i64(value, map->prot);
		break;
	case NOTE_FLAGS:
		sql_value_i64(value, map->flags);
		break;
	case NOTE_FD:
		sql_value_i64(value, map->fd);
		break;
	default:
		break;
	}
}

static void setting_value(const struct tape_setting *setting, unsigned column,
			  struct sql_value *value)
{
	if (column == NOTE_KEY)
		sql_value_i64(value, setting->key);
	else if (column == NOTE_VALUE)
		sql_value_i64(value, setting->value);
	else if (column == NOTE_RESULT)
		sql_value_i64(value, setting->result);
}

/* Columns that only notes of some kinds have. */
static void special_value(const struct model_note *note, unsigned column, struct sql_value *value)
{
	if (is_mapping(note->type))
		map_value(&note->map, column, value);
	else if (note->type == TAPE_EXT_MALLOPT || note->type == TAPE_EXT_MALLOC_TRIM)
		setting_value(&note->setting, column, value);
	else if (note->type == TAPE_EXT_FORK && column == NOTE_PID)
		sql_value_u64(value, note->fork.pid);
}

static void note_value(struct sql_context *context, uint64_t row, unsigned column,
		       struct sql_value *value)
{
	const struct model_note *note = &model_notes(context->model)[row];

	switch (column) {
	case NOTE_ID:
		sql_value_u64(value, row);
		break;
	case NOTE_NS:
		sql_value_u64(value, note->ns);
		break;
	case NOTE_KIND:
		sql_value_text(value, kind_text(note->type));
		break;
	case NOTE_THREAD:
		sql_value_unless(value, note->thread, MODEL_NO_THREAD);
		break;
	case NOTE_STACK:
		sql_value_unless(value, note->stack, CAPTURE_STACK_NONE);
		break;
	case NOTE_TEXT:
		sql_value_text(value, note->text[0] ? note->text : NULL);
		break;
	default:
		special_value(note, column, value);
		break;
	}
}

static uint64_t note_count(const struct sql_context *context)
{
	return model_note_count(context->model);
}

const struct sql_table sql_notes = {
	.name = "notes",
	.about = "calls of mmap and the like, mallopt, fork, dlopen, marks: everything rare",
	.columns = note_columns,
	.column_count = array_size(note_columns),
	.rows_per_key = 1,
	.row_count = note_count,
	.row_value = note_value,
};

/* --- marks --------------------------------------------------------------------------------- */

enum { MARK_ID, MARK_NS, MARK_THREAD, MARK_KIND, MARK_TEXT };

static const struct sql_column mark_columns[] = {
	[MARK_ID] = { "id", SQL_KEY, 0, "notes.id" },
	[MARK_NS] = { "ns", 0, 0, "when the program set it" },
	[MARK_THREAD] = { "thread", 0, 0, "that set it: threads.id" },
	[MARK_KIND] = { "kind", 0, 0, "a number of the program's" },
	[MARK_TEXT] = { "text", SQL_TEXTUAL, 0, "what it says" },
};

static bool mark_is_row(const struct sql_context *context, uint64_t row)
{
	return model_notes(context->model)[row].type == TAPE_EXT_MARK;
}

static void mark_value(struct sql_context *context, uint64_t row, unsigned column,
		       struct sql_value *value)
{
	const struct model_note *note = &model_notes(context->model)[row];

	if (column == MARK_ID)
		sql_value_u64(value, row);
	else if (column == MARK_NS)
		sql_value_u64(value, note->ns);
	else if (column == MARK_THREAD)
		sql_value_unless(value, note->thread, MODEL_NO_THREAD);
	else if (column == MARK_KIND)
		sql_value_u64(value, note->mark.kind);
	else
		sql_value_text(value, note->text);
}

const struct sql_table sql_marks = {
	.name = "marks",
	.about = "marks that the program set",
	.columns = mark_columns,
	.column_count = array_size(mark_columns),
	.rows_per_key = 1,
	.row_count = note_count,
	.is_row = mark_is_row,
	.row_value = mark_value,
};
