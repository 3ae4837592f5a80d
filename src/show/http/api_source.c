/*
 * /api/v1/source: a source file with allocations per line. The file is identified by the id from
 * /api/v1/files: paths are never accepted from outside.
 */
#include "groups/lines.h"
#include "http/api_parts.h"
#include "http/server.h"
#include "http/source_text.h"
#include "sums/files.h"
#include "sums/name_hash.h"

struct line_value {
	uint64_t line, total, self, allocations, leaked, temporary;
	const char *function, *brief;
	uint64_t hash;
	struct shape_texts inlined_into;
};

struct source_answer {
	const char *m, *unit, *file;
	uint64_t total;
	struct shape_rows lines;
	const char *missing;
	bool is_newer;
	uint64_t first, line_count;
	struct shape_texts text;
};

static const struct member line_members[] = {
	MEMBER(struct line_value, line, PLAIN, NULL),
	MEMBER(struct line_value, total, PLAIN, "of the metric, while the line was on the stack"),
	MEMBER(struct line_value, self, PLAIN, "of the metric, allocated by the line itself"),
	MEMBER(struct line_value, allocations, COUNT, NULL),
	MEMBER(struct line_value, leaked, BYTES, NULL),
	MEMBER(struct line_value, temporary, COUNT, "allocations"),
	MEMBER(struct line_value, function, TEXT, "one that the line is in"),
	MEMBER(struct line_value, brief, TEXT, "the same, shortened for people"),
	MEMBER(struct line_value, hash, HASH, "of that function"),
	MEMBER(struct line_value, inlined_into, TEXTS,
	       "functions, innermost first, shortened for people"),
};
static const struct shape shape_line = SHAPE("SourceLine", struct line_value, line_members);

static const struct member source_members[] = {
	MEMBER(struct source_answer, m, TEXT, "the metric"),
	MEMBER(struct source_answer, unit, TEXT, NULL, .words = api_unit_words),
	MEMBER(struct source_answer, file, TEXT, "as the debug information has it"),
	MEMBER(struct source_answer, total, PLAIN, "of the metric, of the whole selection"),
	MEMBER(struct source_answer, lines, ROWS, "those with something", .shape = &shape_line),
	MEMBER(struct source_answer, missing, TEXT, "why there is no source text",
	       .nullable = true),
	MEMBER(struct source_answer, is_newer, FLAG, "than the recording: lines may have moved"),
	MEMBER(struct source_answer, first, PLAIN, "line of the text"),
	MEMBER(struct source_answer, line_count, COUNT, "lines of the whole file"),
	MEMBER(struct source_answer, text, TEXTS, "its lines"),
};
static const struct shape shape_source = SHAPE("Source", struct source_answer, source_members);

static struct err *inlined_fill(struct arena *arena, const struct names *names,
				const struct line *line, struct shape_texts *texts)
{
	const char **items;
	size_t count = 0;

	while (line->frame[count].is_inlined)
		count++;
	items = arena_array(arena, count, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		items[i] = names_get(names, line->frame[i + 1].name)->brief;
	*texts = (struct shape_texts) { items, count };
	return NULL;
}

static struct err *line_fill(struct call *call, const struct names *names, const struct line *line,
			     struct line_value *value)
{
	const enum metric metric = (enum metric)call_choice(call, "m");
	const struct name *name = names_get(names, line->name);

	*value = (struct line_value) {
		.line = line->line,
		.total = metric_value(metric, &line->total),
		.self = metric_value(metric, &line->self),
		.allocations = line->total.allocated.count,
		.leaked = line->total.leaked.bytes,
		.temporary = line->total.temporary.count,
		.function = name->function,
		.brief = name->brief,
		.hash = name_hash(call->model, name),
	};
	return inlined_fill(call->arena, names, line, &value->inlined_into);
}

static struct err *text_fill(struct call *call, const char *path, struct source_answer *answer)
{
	const uint64_t start_ns = model_process(call->model)->start_realtime_ns;
	struct source_text text;
	struct err *err = source_text_read(&call->server->settings.source_roots, path,
					   call_number(call, "l0"), call->arena, &text);

	if (err)
		return err;
	answer->missing = text.reason;
	answer->is_newer = !text.reason && text.modified_ns > start_ns;
	answer->first = text.first;
	answer->line_count = text.line_count;
	answer->text = (struct shape_texts) { text.lines, text.count };
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
	struct measure measure;
	uint64_t hash = 0;
	struct err *err = api_select(call, &parts->selection);

	if (!err)
		err = api_measure(call, &measure);
	if (!err)
		err = call_names(call, &parts->names);
	if (!err)
		err = measure_sums(parts->selection, &measure, call->arena, &parts->sums);
	if (err)
		return err;
	call_hash(call, "file", &hash);
	parts->path = source_file_path(&parts->sums, parts->names, hash);
	if (!parts->path)
		return call_blame(call, "file",
				  err_new(ERR_NOT_FOUND, "no function of this tape in that file"));
	return lines_find(&parts->sums, parts->selection, parts->names, WALK_MY, parts->path,
			  call->arena, &parts->lines);
}

static struct err *find(struct call *call, void *value)
{
	const enum metric metric = (enum metric)call_choice(call, "m");
	struct answer_parts parts = { 0 };
	struct source_answer *answer = value;
	struct line_value *lines;
	struct err *err = parts_find(call, &parts);

	if (err)
		return err;
	lines = arena_array(call->arena, parts.lines.count, sizeof(*lines));
	if (!lines)
		return err_nomem();
	for (size_t i = 0; i < parts.lines.count && !err; i++)
		err = line_fill(call, parts.names, &parts.lines.items[i], &lines[i]);
	if (err)
		return err;
	answer->m = metric_words_all[metric];
	answer->unit = api_unit(metric);
	answer->file = parts.path;
	answer->total = metric_value(metric, &parts.sums.total);
	answer->lines = (struct shape_rows) { .items = lines, .count = parts.lines.count };
	return text_fill(call, parts.path, answer);
}

static const struct param params[] = {
	{ .name = "file", .kind = PARAM_HASH, .is_required = true, .doc = "the file's id" },
	API_PARAM_MEASURE,
	API_PARAM_AT,
	API_PARAM_SCAN,
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
	.shape = &shape_source,
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
