/*
 * /api/v1/source: a source file line by line, with what its lines allocated. The file is named by
 * the id that /api/v1/files gives: no path comes from outside.
 */
#include "groups/lines.h"
#include "http/api_parts.h"
#include "http/server.h"
#include "http/source_text.h"
#include "sums/files.h"
#include "sums/name_hash.h"

static void line_emit(struct call *call, const struct names *names, const struct line *line,
		      enum metric metric)
{
	const struct name *name = names_get(names, line->name);

	emit_object(call->emit, NULL);
	emit_u64(call->emit, "line", line->line, EMIT_PLAIN);
	emit_u64(call->emit, "total", metric_value(metric, &line->total), EMIT_BYTES);
	emit_u64(call->emit, "self", metric_value(metric, &line->self), EMIT_BYTES);
	emit_u64(call->emit, "allocations", line->total.allocated.count, EMIT_COUNT);
	emit_u64(call->emit, "leaked", line->total.leaked.bytes, EMIT_BYTES);
	emit_u64(call->emit, "temporary", line->total.temporary.count, EMIT_COUNT);
	emit_text(call->emit, "function", name->function);
	json_hash(call->emit, "hash", name_hash(call->model, name));
	emit_list(call->emit, "inlined_into");
	for (const struct name_frame *frame = line->frame; frame->is_inlined; frame++)
		emit_text(call->emit, NULL, names_get(names, frame[1].name)->function);
	emit_end(call->emit);
	emit_end(call->emit);
}

static struct err *text_emit(struct call *call, const char *path)
{
	const uint64_t start_ns = model_process(call->model)->start_realtime_ns;
	struct source_text text;
	struct err *err = source_text_read(&call->server->settings.source_roots, path,
					   call_number(call, "l0"), call->arena, &text);

	if (err)
		return err;
	emit_text(call->emit, "missing", text.reason);
	emit_bool(call->emit, "is_newer", !text.reason && text.modified_ns > start_ns);
	emit_u64(call->emit, "first", text.first, EMIT_PLAIN);
	emit_u64(call->emit, "line_count", text.line_count, EMIT_COUNT);
	json_texts(call->emit, "text", text.lines, text.count);
	return NULL;
}

struct answer_parts {
	const struct selection *selection;
	struct names *names;
	struct sums sums;
	const char *path;
	struct lines lines;
};

static struct err *parts_find(struct call *call, struct answer_parts *parts)
{
	const enum metric metric = (enum metric)call_choice(call, "m");
	uint64_t hash = 0, at_ns;
	struct err *err = api_select(call, &parts->selection);

	if (!err)
		err = api_at(call, &at_ns);
	if (!err)
		err = call_names(call, &parts->names);
	if (!err)
		err = measure_sums(parts->selection, metric, at_ns, call->arena, &parts->sums);
	if (err)
		return err;
	call_hash(call, "file", &hash);
	parts->path = source_file_path(&parts->sums, parts->names, hash);
	if (!parts->path)
		return call_blame(
			call, "file",
			err_new(ERR_NOT_FOUND, "no function of this tape is in that file"));
	return lines_find(&parts->sums, parts->selection, parts->names, WALK_FOLD, parts->path,
			  call->arena, &parts->lines);
}

static struct err *run(struct call *call)
{
	const enum metric metric = (enum metric)call_choice(call, "m");
	struct answer_parts parts = { 0 };
	struct err *err = parts_find(call, &parts);

	if (err)
		return err;
	emit_text(call->emit, "m", metric_words_all[metric]);
	emit_text(call->emit, "unit", metric_is_bytes(metric) ? "bytes" : "count");
	emit_text(call->emit, "file", parts.path);
	emit_u64(call->emit, "total", metric_value(metric, &parts.sums.total), EMIT_BYTES);
	emit_list(call->emit, "lines");
	for (size_t i = 0; i < parts.lines.count; i++)
		line_emit(call, parts.names, &parts.lines.items[i], metric);
	emit_end(call->emit);
	return text_emit(call, parts.path);
}

static const struct param params[] = {
	{ .name = "file", .kind = PARAM_HASH, .is_required = true, .doc = "the file's id" },
	API_PARAM_MEASURE,
	API_PARAM_AT,
	{ .name = "l0",
	  .kind = PARAM_NUMBER,
	  .min = 1,
	  .fallback = 1,
	  .doc = "the first line of the text; 2,000 follow at most",
	  .missing = "1" },
};

const struct route route_api_source = {
	.path = "/api/v1/source",
	.summary = "a source file with what its lines allocated",
	.answer = "Source",
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
