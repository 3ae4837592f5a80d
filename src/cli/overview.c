#include "cli/overview.h"

#include <assert.h>

#include "answer/program.h"
#include "base/sort.h"
#include "base/str.h"
#include "cli/foreign.h"

enum { COMMAND_BYTES = 48 }; /* of a command line in a text table */

static const char *behind_slash(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *command_of(const struct model_process *process, struct arena *arena)
{
	CLEAN(str_deinit) struct str command = { 0 };

	if (process->argc == 0)
		str_add(&command, process->exe);
	for (uint32_t i = 0; i < process->argc; i++) {
		str_add(&command, i > 0 ? " " : "");
		str_add(&command, i > 0 ? process->argv[i] : behind_slash(process->argv[i]));
	}
	return command.failed ? NULL : arena_strdup(arena, str_text(&command));
}

struct err *overview_add(struct overview_vec *rows, const char *path, struct arena *arena)
{
	CLEAN(model_destroy) struct model *model = NULL;
	struct err *err = foreign_explain(model_load(path, MODEL_SUMMARY, &model), path);
	const struct model_process *process;
	const struct model_totals *totals;
	struct overview_row row;

	assert(path);
	if (err)
		return err;
	process = model_process(model);
	totals = model_totals(model);
	row = (struct overview_row) {
		.path = path,
		.program = arena_strdup(
			arena, behind_slash(process->argc > 0 ? process->argv[0] : process->exe)),
		.command = command_of(process, arena),
		.pid = process->pid,
		.parent_pid = process->parent_pid,
		.is_forked = process->flags & TAPE_FLAG_FORKED,
		.event_count = totals->event_count,
		.allocation_count = totals->allocated.count,
		.peak_bytes = totals->peak.bytes,
		.live_bytes = totals->leaked.bytes,
		.start_realtime_ns = process->start_realtime_ns,
		.duration_ns = process->duration_ns,
		.end_kind = process->end_kind,
		.end_status = process->end_status,
		.has_status = program_has_status(process),
	};
	if (!row.program || !row.command || !overview_vec_push(rows, row))
		return err_nomem();
	return NULL;
}

static int compare(const void *context, const void *a, const void *b)
{
	const struct overview_row *left = a, *right = b;

	(void)context;
	if (left->peak_bytes != right->peak_bytes)
		return sort_compare_u64(right->peak_bytes, left->peak_bytes);
	return sort_compare_u64(left->start_realtime_ns, right->start_realtime_ns);
}

/* Text has "exit 1" in one cell; other formats have the word and the number separately. */
static void emit_row_end(struct emit *emit, const struct overview_row *row)
{
	const char *word = program_end_words[row->end_kind];
	const bool has_status = row->has_status;
	CLEAN(str_deinit) struct str text = { 0 };

	str_add(&text, word);
	if (has_status && emit_format_of(emit) == EMIT_TEXT)
		str_printf(&text, " %d", row->end_status);
	emit_text(emit, "end", str_text(&text));
	if (has_status)
		emit_i64(emit, "end_status", row->end_status);
	else
		emit_null(emit, "end_status");
}

static void emit_command(struct emit *emit, const char *command)
{
	CLEAN(str_deinit) struct str text = { 0 };
	size_t len = strlen(command);
	const bool is_cut = len > COMMAND_BYTES;

	if (emit_format_of(emit) != EMIT_TEXT) {
		emit_text(emit, "command", command);
		return;
	}
	if (is_cut)
		for (len = COMMAND_BYTES; len > 0 && ((unsigned char)command[len] & 0xc0) == 0x80;)
			len--;		 /* do not split a character */
	for (size_t i = 0; i < len; i++) /* join a script's lines */
		str_add_char(&text, command[i] == '\n' || command[i] == '\t' ? ' ' : command[i]);
	str_add(&text, is_cut ? "..." : "");
	emit_text(emit, "command", str_text(&text));
}

static void emit_process(struct emit *emit, const struct overview_row *row)
{
	emit_row(emit);
	emit_u64(emit, "pid", row->pid, EMIT_PLAIN);
	emit_u64(emit, "parent_pid", row->parent_pid, EMIT_PLAIN);
	emit_bool(emit, "forked", row->is_forked);
	emit_text(emit, "program", row->program);
	emit_command(emit, row->command);
	emit_u64(emit, "events", row->event_count, EMIT_COUNT);
	emit_u64(emit, "allocations", row->allocation_count, EMIT_COUNT);
	emit_u64(emit, "peak_bytes", row->peak_bytes, EMIT_BYTES);
	emit_u64(emit, "live_bytes", row->live_bytes, EMIT_BYTES);
	emit_u64(emit, "duration_ns", row->duration_ns, EMIT_DURATION);
	emit_row_end(emit, row);
	emit_text(emit, "tape", row->path);
	emit_end(emit);
}

static void emit_rest(struct emit *emit, const struct overview_vec *rows, size_t shown)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_grouped(&text, rows->count - shown);
	str_add(&text, " more, with a peak of ");
	str_add_iec(&text, rows->items[shown].peak_bytes);
	str_add(&text, " at most; `memtape info TAPE TAPE ...` shows all that are named");
	emit_prose(emit, str_text(&text));
}

struct err *overview_write(struct overview_vec *rows, size_t most,
			   const struct emit_settings *settings, FILE *out)
{
	static const struct emit_column columns[] = {
		{ .key = "pid" },
		{ .key = "parent_pid", .title = "Parent" },
		{ .key = "command", .left = true, .elastic = true },
		{ .key = "allocations" },
		{ .key = "peak_bytes", .title = "Peak" },
		{ .key = "live_bytes", .title = "At the end" },
		{ .key = "end", .left = true },
		{ .key = "tape", .left = true },
	};
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, settings);
	size_t shown = rows->count;

	assert(rows->items || rows->count == 0);
	if (!emit || !sort_stable(rows->items, rows->count, sizeof(*rows->items), compare, NULL))
		return err_nomem();
	if (settings->format == EMIT_TEXT && most > 0 && rows->count > most + 1)
		shown = most;
	emit_object(emit, NULL);
	emit_heading(emit, "Processes");
	emit_table(emit, "tapes", columns, array_size(columns));
	for (size_t i = 0; i < shown; i++)
		emit_process(emit, &rows->items[i]);
	emit_end(emit);
	if (shown < rows->count)
		emit_rest(emit, rows, shown);
	emit_end(emit);
	return emit_finish(emit);
}
