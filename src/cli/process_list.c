#include "cli/process_list.h"

#include <assert.h>

#include "answer/speak.h"
#include "cli/reading.h"
#include "collect/processes.h"

static struct err *row_fill(const struct process *process, struct arena *arena,
			    struct process_row *row)
{
	assert(process->refusal || process->obstacle == ATTACH_OBSTACLES);
	*row = (struct process_row) {
		.pid = (uint64_t)process->pid,
		.name = process->name,
		.command = process->command,
		.user = process->user,
		.rss_bytes = process->rss_bytes,
		.age_ns = process->age_ns,
		.start_realtime_ns =
			arena_printf(arena, "%llu", (unsigned long long)process->start_realtime_ns),
		.tape = process->tape,
		.obstacle = attach_obstacle_words[process->obstacle],
		.refusal = process->refusal,
	};
	return row->start_realtime_ns ? NULL : err_nomem();
}

struct err *process_list_find(struct arena *arena, struct process_list *list)
{
	CLEAN(process_vec_deinit) struct process_vec found = { 0 };
	struct err *err = processes_find(arena, &found);
	struct process_row *rows = err ? NULL : arena_array(arena, found.count, sizeof(*rows));

	if (!err && !rows)
		err = err_nomem();
	for (size_t i = 0; i < found.count && !err; i++)
		err = row_fill(&found.items[i], arena, &rows[i]);
	if (!err)
		list->processes = (struct shape_rows) { .items = rows, .count = found.count };
	return err;
}

struct err *process_list_print(bool is_json)
{
	const struct emit_settings settings = {
		.format = is_json ? EMIT_JSON : EMIT_TEXT,
		.colour = reading_wants_colour(stdout),
		.width = reading_width(stdout),
	};
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(emit_destroy) struct emit *emit = emit_create(stdout, &settings);
	const struct speaker speaker = { .emit = emit };
	struct process_list list = { 0 };
	struct err *err = emit ? process_list_find(&arena, &list) : err_nomem();

	if (!err)
		err = is_json ? speak_object(&speaker, &shape_process_list, &list)
			      : speak_table(&speaker, &shape_process_list, &list);
	return err ? err : emit_finish(emit);
}
