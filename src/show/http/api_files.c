/*
 * /api/v1/files: the source files that functions on the tape are from, with what was allocated
 * there.
 */
#include "http/api_parts.h"
#include "sums/files.h"

enum { FILES_MAX = 5000 };

static void file_emit(struct call *call, const struct source_file *file, enum metric metric)
{
	emit_object(call->emit, NULL);
	json_hash(call->emit, "id", file->hash);
	emit_text(call->emit, "file", file->path);
	emit_u64(call->emit, "total", metric_value(metric, &file->total), EMIT_BYTES);
	emit_u64(call->emit, "self", metric_value(metric, &file->self), EMIT_BYTES);
	emit_u64(call->emit, "allocations", file->total.allocated.count, EMIT_COUNT);
	emit_end(call->emit);
}

static struct err *run(struct call *call)
{
	const enum metric metric = (enum metric)call_choice(call, "m");
	const struct selection *selection;
	struct source_files files;
	struct names *names;
	struct sums sums;
	uint64_t at_ns;
	struct err *err = api_select(call, &selection);

	if (!err)
		err = api_at(call, &at_ns);
	if (!err)
		err = call_names(call, &names);
	if (!err)
		err = measure_sums(selection, metric, at_ns, call->arena, &sums);
	if (!err)
		err = source_files_find(&sums, names, metric, &call->limits, call->arena, &files);
	if (err)
		return err;
	emit_text(call->emit, "m", metric_words_all[metric]);
	emit_u64(call->emit, "total", metric_value(metric, &sums.total), EMIT_BYTES);
	emit_u64(call->emit, "count", files.count, EMIT_COUNT);
	emit_list(call->emit, "rows");
	for (size_t i = 0; i < files.count && i < FILES_MAX; i++) {
		if (metric_value(metric, &files.items[i].total) > 0)
			file_emit(call, &files.items[i], metric);
	}
	emit_end(call->emit);
	return NULL;
}

static const struct param params[] = { API_PARAM_MEASURE, API_PARAM_AT };

const struct route route_api_files = {
	.path = "/api/v1/files",
	.summary = "source files with what was allocated in them, the most first",
	.answer = "Files",
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
