/*
 * info: what a tape is: its process, modules, threads, chunks, losses and what recording it cost.
 * The answer is written once, as an object, and comes out as text or JSON. Of several tapes it is a
 * table (overview.h).
 */
#include <time.h>

#include "answer/about.h"
#include "answer/speak.h"
#include "cli/command.h"
#include "cli/foreign.h"
#include "cli/overview.h"
#include "cli/reading.h"
#include "model/model.h"
#include "findings/allocators.h"
#include "findings/edits.h"

enum { NS_PER_S = 1000000000 };

struct info_options {
	bool json;
};

static const struct option_row rows[] = {
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct info_options, json), "print JSON" },
};

struct info {
	struct emit *emit;
	const struct capture *capture;
	const struct model *model;
};

static void emit_hex(struct emit *emit, const char *key, const uint8_t *bytes, size_t count)
{
	CLEAN(str_deinit) struct str text = { 0 };

	for (size_t i = 0; i < count; i++)
		str_printf(&text, "%02x", bytes[i]);
	emit_text(emit, key, count ? str_text(&text) : NULL);
}

/* ISO 8601 in UTC: the same words on every machine. */
static void emit_time(struct emit *emit, const char *key, uint64_t realtime_ns)
{
	const time_t seconds = (time_t)(realtime_ns / NS_PER_S);
	CLEAN(str_deinit) struct str text = { 0 };
	struct tm broken;

	if (realtime_ns == 0 || !gmtime_r(&seconds, &broken)) {
		emit_null(emit, key);
		return;
	}
	str_printf(&text, "%04d-%02d-%02dT%02d:%02d:%02dZ", broken.tm_year + 1900,
		   broken.tm_mon + 1, broken.tm_mday, broken.tm_hour, broken.tm_min, broken.tm_sec);
	emit_text(emit, key, str_text(&text));
}

static void emit_tape(const struct info *info)
{
	const struct tape_header *header = capture_header(info->capture);
	const struct capture_facts *facts = capture_facts(info->capture);
	struct emit *emit = info->emit;

	emit_object(emit, "tape");
	emit_u64(emit, "version", header->version, EMIT_PLAIN);
	emit_text(emit, "kind", header->kind == TAPE_KIND_PACKED ? "packed" : "raw");
	emit_u64(emit, "file_bytes", facts->file_bytes, EMIT_BYTES);
	emit_u64(emit, "chunks", facts->chunk_count, EMIT_COUNT);
	emit_u64(emit, "streams", facts->stream_count, EMIT_COUNT);
	emit_u64(emit, "events", model_totals(info->model)->event_count, EMIT_COUNT);
	emit_u64(emit, "record_bytes", facts->record_bytes, EMIT_BYTES);
	emit_u64(emit, "stack_nodes", facts->node_count, EMIT_COUNT);
	emit_u64(emit, "stacks", model_stack_count(info->model) - CAPTURE_STACK_FIRST, EMIT_COUNT);
	emit_text(emit, "clock", header->clock == TAPE_CLOCK_TSC ? "tsc" : "monotonic");
	emit_bool(emit, "alloc_stacks", header->flags & TAPE_FLAG_ALLOC_STACKS);
	emit_bool(emit, "free_stacks", header->flags & TAPE_FLAG_FREE_STACKS);
	emit_bool(emit, "forked", header->flags & TAPE_FLAG_FORKED);
	emit_bool(emit, "attached", header->flags & TAPE_FLAG_ATTACHED);
	emit_hex(emit, "uuid", header->uuid, TAPE_UUID_BYTES);
	emit_end(emit);
}

static void emit_process(const struct info *info)
{
	const struct model_process *process = model_process(info->model);
	struct emit *emit = info->emit;

	emit_object(emit, "process");
	emit_u64(emit, "pid", process->pid, EMIT_PLAIN);
	emit_u64(emit, "parent_pid", process->parent_pid, EMIT_PLAIN);
	emit_text(emit, "exe", process->exe);
	emit_text(emit, "cwd", process->cwd);
	emit_list(emit, "argv");
	for (uint32_t i = 0; i < process->argc; i++)
		emit_text(emit, NULL, process->argv[i]);
	emit_end(emit);
	emit_time(emit, "started", process->start_realtime_ns);
	emit_u64(emit, "duration_ns", process->duration_ns, EMIT_DURATION);
	emit_text(emit, "end", overview_end_word(process->end_kind));
	if (overview_has_status(process->end_kind, process->end_status))
		emit_i64(emit, "end_status", process->end_status);
	else
		emit_null(emit, "end_status");
	emit_u64(emit, "page_bytes", process->page_bytes, EMIT_BYTES);
	emit_u64(emit, "pointer_bytes", process->pointer_bytes, EMIT_PLAIN);
	emit_end(emit);
}

/* What the process was before an exec. */
static void emit_before(const struct info *info)
{
	static const struct emit_column columns[] = {
		{ .key = "allocations" },
		{ .key = "peak_bytes" },
		{ .key = "program", .left = true },
	};
	const struct model_note *notes = model_notes(info->model);
	struct emit *emit = info->emit;

	emit_heading(emit, "Programs before it");
	emit_table(emit, "before", columns, array_size(columns));
	for (size_t i = 0; i < model_note_count(info->model); i++) {
		if (notes[i].type != TAPE_EXT_BEFORE)
			continue;
		emit_row(emit);
		emit_u64(emit, "allocations", notes[i].before.allocation_count, EMIT_COUNT);
		emit_u64(emit, "peak_bytes", notes[i].before.peak_bytes, EMIT_BYTES);
		emit_text(emit, "program", notes[i].text);
		emit_end(emit);
	}
	emit_end(emit);
}

static bool has_before(const struct model *model)
{
	const struct model_note *notes = model_notes(model);

	for (size_t i = 0; i < model_note_count(model); i++)
		if (notes[i].type == TAPE_EXT_BEFORE)
			return true;
	return false;
}

static void emit_losses(const struct info *info)
{
	static const char *const keys[8] = {
		[TAPE_LOST_NO_SPACE] = "no_space",	    [TAPE_LOST_NESTED] = "nested",
		[TAPE_LOST_NO_THREAD] = "no_thread",	    [TAPE_LOST_STARTUP] = "startup",
		[TAPE_LOST_TRUNCATED] = "truncated_stacks", [TAPE_LOST_STOPPED] = "stopped",
	};
	const struct model_quality *quality = model_quality(info->model);
	struct emit *emit = info->emit;

	emit_object(emit, "losses");
	emit_u64(emit, "lost_events", quality->lost_events, EMIT_COUNT);
	for (size_t i = 0; i < array_size(keys); i++) {
		if (keys[i])
			emit_u64(emit, keys[i], quality->lost[i], EMIT_COUNT);
	}
	emit_u64(emit, "missing_chunks", quality->missing_chunk_count, EMIT_COUNT);
	emit_u64(emit, "damaged_places", quality->damage_count, EMIT_COUNT);
	emit_text(emit, "fault", quality->fault == TAPE_FAULT_NONE ? NULL : quality->fault_text);
	emit_end(emit);
}

/* Of a tape that was made of another tool's file. */
static struct err *emit_import(const struct info *info)
{
	const struct speaker speaker = { .emit = info->emit, .model = info->model };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct import *import;
	struct err *err = import_find(info->model, &arena, &import);

	if (err || !import)
		return err;
	emit_object(info->emit, "import");
	err = speak_members(&speaker, &shape_import, import);
	emit_end(info->emit);
	return err;
}

static void emit_edits(const struct info *info)
{
	const struct emit_column columns[] = {
		{ .key = "words", .title = "What was done", .left = true }
	};
	const struct model_note *edit;
	struct emit *emit = info->emit;
	size_t at = 0;

	if (!edits_next(info->model, &at))
		return;
	at = 0;
	emit_heading(emit, "Edited after it was recorded");
	emit_table(emit, "edits", columns, array_size(columns));
	while ((edit = edits_next(info->model, &at))) {
		CLEAN(str_deinit) struct str words = { 0 };

		edit_words(edit, &words);
		emit_row(emit);
		emit_text(emit, "words", str_text(&words));
		emit_u64(emit, "stripped_allocations", edit->edit.stripped_count, EMIT_COUNT);
		emit_u64(emit, "stripped_bytes", edit->edit.stripped_bytes, EMIT_BYTES);
		emit_u64(emit, "hidden_bytes", edit->edit.hidden_bytes, EMIT_BYTES);
		emit_bool(emit, "anonymised", edit->edit.what & TAPE_EDIT_ANONYMISED);
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_allocators(const struct info *info)
{
	static const struct emit_column columns[] = {
		{ .key = "name", .left = true }, { .key = "prefix", .left = true },
		{ .key = "functions" },		 { .key = "objects", .title = "Called by objects" },
		{ .key = "path", .left = true },
	};
	struct emit *emit = info->emit;
	struct allocator_seen seen;
	size_t at = 0;

	if (!allocators_next(info->model, &at, &seen))
		return;
	at = 0;
	emit_heading(emit, "Other allocators");
	emit_table(emit, "allocators", columns, array_size(columns));
	while (allocators_next(info->model, &at, &seen)) {
		const struct tape_allocator *allocator = &seen.note->allocator;
		CLEAN(str_deinit) struct str words = { 0 };

		emit_row(emit);
		emit_text(emit, "name", seen.name);
		emit_text(emit, "prefix", seen.prefix);
		emit_u64(emit, "functions", allocator->functions, EMIT_COUNT);
		emit_u64(emit, "objects", allocator->objects, EMIT_COUNT);
		emit_u64(emit, "places", allocator->places, EMIT_COUNT);
		emit_bool(emit, "asked", allocator->flags & TAPE_ALLOCATOR_ASKED);
		emit_text(emit, "path", seen.path);
		emit_text(emit, "warning",
			  allocator_complaint(&seen, &words) ? str_text(&words) : NULL);
		emit_end(emit);
	}
	emit_end(emit);
}

/* What recording cost the process, as the recorder measured it; a raw tape knows a part of it. */
static void emit_recorder(const struct info *info)
{
	const struct model_quality *quality = model_quality(info->model);
	const struct tape_recorder *recorder = &quality->recorder;
	const struct tape_live *live = capture_live(info->capture);
	struct emit *emit = info->emit;

	emit_object(emit, "recorder");
	emit_u64(emit, "selfchecks", quality->lost[TAPE_SELFCHECKS], EMIT_COUNT);
	emit_u64(emit, "selfcheck_differences", quality->lost[TAPE_SELFCHECK_DIFFERENCES],
		 EMIT_COUNT);
	emit_u64(emit, "private_bytes",
		 quality->has_recorder ? recorder->private_bytes : live->recorder_bytes,
		 EMIT_BYTES);
	if (quality->has_recorder) {
		emit_u64(emit, "chunk_bytes", recorder->chunk_bytes, EMIT_BYTES);
		emit_u64(emit, "slow_ns", recorder->slow_ns, EMIT_DURATION);
		emit_u64(emit, "collector_cpu_ns", recorder->collector_cpu_ns, EMIT_DURATION);
	} else {
		emit_null(emit, "chunk_bytes");
		emit_null(emit, "slow_ns");
		emit_null(emit, "collector_cpu_ns");
	}
	emit_end(emit);
}

static void emit_threads(const struct info *info)
{
	static const struct emit_column columns[] = {
		{ .key = "tid" },
		{ .key = "name", .left = true },
		{ .key = "begin_ns", .title = "Began" },
		{ .key = "end_ns", .title = "Ended" },
	};
	struct emit *emit = info->emit;

	emit_heading(emit, "Threads");
	emit_table(emit, "threads", columns, array_size(columns));
	for (size_t i = 0; i < model_thread_count(info->model); i++) {
		const struct model_thread *thread = model_thread(info->model, i);

		emit_row(emit);
		emit_u64(emit, "tid", thread->tid, EMIT_PLAIN);
		emit_text(emit, "name", thread->name);
		emit_u64(emit, "begin_ns", thread->begin_ns, EMIT_DURATION);
		if (thread->end_ns == MODEL_NEVER)
			emit_null(emit, "end_ns");
		else
			emit_u64(emit, "end_ns", thread->end_ns, EMIT_DURATION);
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_modules(const struct info *info)
{
	static const struct emit_column columns[] = {
		{ .key = "begin" },
		{ .key = "bytes" },
		{ .key = "build_id", .left = true },
		{ .key = "path", .left = true },
	};
	struct emit *emit = info->emit;

	emit_heading(emit, "Modules");
	emit_table(emit, "modules", columns, array_size(columns));
	for (size_t i = 0; i < model_module_count(info->model); i++) {
		const struct capture_module *module = model_module(info->model, i);

		emit_row(emit);
		emit_address(emit, "begin", module->begin);
		emit_address(emit, "end", module->end);
		emit_address(emit, "bias", module->bias);
		emit_u64(emit, "bytes", module->end - module->begin, EMIT_BYTES);
		emit_hex(emit, "build_id", module->build_id, module->build_id_bytes);
		emit_text(emit, "path", module->path);
		emit_u64(emit, "load_ns", model_ns(info->model, module->load_ticks), EMIT_DURATION);
		if (module->unload_ticks == UINT64_MAX)
			emit_null(emit, "unload_ns");
		else
			emit_u64(emit, "unload_ns", model_ns(info->model, module->unload_ticks),
				 EMIT_DURATION);
		emit_end(emit);
	}
	emit_end(emit);
}

static struct emit_settings settings_of(const struct info_options *options, FILE *out)
{
	return (struct emit_settings) {
		.format = options->json ? EMIT_JSON : EMIT_TEXT,
		.colour = reading_wants_colour(out),
		.width = reading_width(out),
	};
}

static struct err *info_write_all(char **paths, size_t count, const struct emit_settings *settings)
{
	CLEAN(overview_vec_deinit) struct overview_vec processes = { 0 };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct err *err = NULL;

	for (size_t i = 0; i < count && !err; i++)
		err = overview_add(&processes, paths[i], &arena);
	return err ? err : overview_write(&processes, 0, settings, stdout);
}

static struct err *info_write(const char *path, const struct emit_settings *settings)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(emit_destroy) struct emit *emit = NULL;
	struct info info;
	struct err *err = foreign_explain(capture_open(path, &capture), path);

	if (!err)
		err = model_load_capture(capture, MODEL_SUMMARY, &model);
	if (err)
		return err;
	emit = emit_create(stdout, settings);
	if (!emit)
		return err_nomem();
	info = (struct info) { emit, capture, model };
	emit_object(emit, NULL);
	emit_tape(&info);
	emit_process(&info);
	if (has_before(model))
		emit_before(&info);
	err = emit_import(&info);
	emit_edits(&info);
	emit_allocators(&info);
	emit_losses(&info);
	emit_recorder(&info);
	emit_threads(&info);
	emit_modules(&info);
	emit_end(emit);
	return err ? err : emit_finish(emit);
}

static struct err *info_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct info_options options = { 0 };
	struct emit_settings settings;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (err)
		return err;
	if (operand_count == 0)
		return err_new(ERR_USAGE, "expected a tape");
	settings = settings_of(&options, stdout);
	if (operand_count > 1)
		return info_write_all(argv + 1, (size_t)operand_count, &settings);
	return info_write(argv[1], &settings);
}

const struct command cmd_info = {
	.name = "info",
	.summary = "tell what a tape is: process, modules, threads, losses, costs",
	.options = {
		.usage = "memtape info TAPE ... [--json]",
		.about = "Tells about a tape itself: how it was written, of which process, with "
			 "which modules and threads, what was lost, and what recording it cost. Of "
			 "several tapes there is one table, the process with the largest peak first.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = info_run,
};
