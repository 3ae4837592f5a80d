/*
 * JSON: the allocations of a tape for scripts, as described in docs/json-export.md. Stacks are written once,
 * as a tree, and allocations are rows of numbers, so that a tape with millions of them remains a
 * file that a script can read. Memory is needed for one batch of rows.
 */
#include "base/arena.h"
#include "export/export.h"

enum { FLUSH_BYTES = 1 << 16, FORMAT_VERSION = 1 };

struct json_out {
	const struct export_context *context;
	FILE *out;
	struct str text; /* not yet written */
	struct err *err; /* sticks */
};

static void json_flush(struct json_out *json, size_t at_least)
{
	struct str *text = &json->text;

	if (json->err || text->len < at_least)
		return;
	if (text->failed)
		json->err = err_nomem();
	else if (text->len > 0 && fwrite(text->ptr, 1, text->len, json->out) != text->len)
		json->err = err_errno("write");
	text->len = 0;
}

static void add_key_text(struct str *text, const char *key, const char *value)
{
	str_add(text, key);
	str_add_json(text, value);
}

static void add_key_u64(struct str *text, const char *key, uint64_t value)
{
	str_add(text, key);
	str_add_u64(text, value);
}

static void add_u64_or_null(struct str *text, uint64_t value, uint64_t none)
{
	if (value == none)
		str_add(text, "null");
	else
		str_add_u64(text, value);
}

static void add_hex_text(struct str *text, const uint8_t *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";

	str_add_char(text, '"');
	for (size_t i = 0; i < count; i++) {
		str_add_char(text, digits[bytes[i] >> 4]);
		str_add_char(text, digits[bytes[i] & 15]);
	}
	str_add_char(text, '"');
}

static void process_write(struct json_out *json)
{
	const struct model_process *process = model_process(json->context->model);
	const struct model_quality *quality = model_quality(json->context->model);
	struct str *text = &json->text;

	add_key_u64(text, "{\"format\":\"memtape\",\"version\":", FORMAT_VERSION);
	add_key_u64(text, ",\n\"process\":{\"pid\":", process->pid);
	add_key_text(text, ",\"exe\":", process->exe);
	str_add(text, ",\"argv\":[");
	for (uint32_t i = 0; i < process->argc; i++) {
		str_add(text, i ? "," : "");
		str_add_json(text, process->argv[i]);
	}
	add_key_u64(text, "],\"start_realtime_ns\":", process->start_realtime_ns);
	add_key_u64(text, ",\"duration_ns\":", process->duration_ns);
	add_key_u64(text, ",\"page_bytes\":", process->page_bytes);
	add_key_u64(text, ",\"lost_events\":", quality->lost_events);
	str_add(text, "},\n\"threads\":[");
	for (size_t i = 0; i < model_thread_count(json->context->model); i++) {
		const struct model_thread *thread = model_thread(json->context->model, i);

		add_key_u64(text, i ? ",\n{\"tid\":" : "{\"tid\":", thread->tid);
		add_key_text(text, ",\"name\":", thread->name);
		str_add_char(text, '}');
	}
	str_add_char(text, ']');
}

static void modules_write(struct json_out *json)
{
	const struct model *model = json->context->model;
	struct str *text = &json->text;

	str_add(text, ",\n\"modules\":[");
	for (size_t i = 0; i < model_module_count(model); i++) {
		const struct capture_module *module = model_module(model, i);

		add_key_text(text, i ? ",\n{\"path\":" : "{\"path\":", module->path);
		str_add(text, ",\"build_id\":");
		add_hex_text(text, module->build_id, module->build_id_bytes);
		str_add(text, ",\"begin\":\"");
		str_add_hex(text, module->begin);
		str_add(text, "\",\"end\":\"");
		str_add_hex(text, module->end);
		str_add(text, "\",\"bias\":\"");
		str_add_hex(text, module->bias);
		str_add(text, "\"}");
	}
	str_add_char(text, ']');
}

static void frame_write(struct json_out *json, const struct name_frame *frame)
{
	const struct name *name = names_get(json->context->names, frame->name);
	struct str *text = &json->text;

	add_key_text(text, "{\"function\":", name->function);
	if (frame->file)
		add_key_text(text, ",\"file\":", frame->file);
	if (frame->line)
		add_key_u64(text, ",\"line\":", frame->line);
	add_key_text(text, ",\"module\":", name->module);
	str_add(text, frame->is_inlined ? ",\"inlined\":true}" : "}");
}

/* Special stacks have a kind and no frames; all others a parent, and the frames of one address. */
static void stacks_write(struct json_out *json)
{
	static const char *const kinds[] = { "root", "truncated", "none" };
	const struct capture_stack *stacks = model_stacks(json->context->model);
	const size_t count = model_stack_count(json->context->model);
	struct str *text = &json->text;

	static_assert(CAPTURE_STACK_ROOT == 0 && CAPTURE_STACK_TRUNCATED == 1 &&
			      CAPTURE_STACK_NONE == 2 && CAPTURE_STACK_FIRST == 3,
		      "the order of kinds[]");
	str_add(text, ",\n\"stacks\":[");
	for (uint32_t stack = 0; stack < count && !json->err; stack++) {
		struct name_frames frames = { 0 };

		if (stack < CAPTURE_STACK_FIRST) {
			add_key_text(text, stack ? ",\n{\"kind\":" : "{\"kind\":", kinds[stack]);
			str_add_char(text, '}');
			continue;
		}
		add_key_u64(text, ",\n{\"parent\":", stacks[stack].parent);
		str_add(text, ",\"pc\":\"");
		str_add_hex(text, stacks[stack].pc);
		str_add(text, "\",\"frames\":[");
		frames = names_frames(json->context->names, stack);
		for (size_t i = 0; i < frames.count; i++) {
			str_add(text, i ? "," : "");
			frame_write(json, &frames.frames[i]);
		}
		str_add(text, "]}");
		json_flush(json, FLUSH_BYTES);
	}
	str_add_char(text, ']');
}

/* The columns in order; fn and flags are strings. */
static const char columns[] = "[\"address\",\"size\",\"usable_size\",\"alloc_ns\",\"free_ns\","
			      "\"thread\",\"free_thread\",\"stack\",\"free_stack\",\"call\","
			      "\"free_call\",\"temporary\",\"at_peak\",\"lost_free\","
			      "\"realloc_of\"";
/* Further columns of tapes with latencies. */
static const char latency_columns[] = ",\"latency_ns\",\"free_latency_ns\"";

static void add_call(struct str *text, uint64_t fn)
{
	const char *name = tape_fn_name((enum tape_fn)fn);

	if (name)
		add_key_text(text, ",", name);
	else
		str_add(text, ",null");
}

static void row_write(struct str *text, const uint64_t *row, bool has_latencies)
{
	static const struct {
		enum model_column column;
		uint64_t none;
	} numbers[] = {
		{ MODEL_SIZE, UINT64_MAX },	   { MODEL_USABLE, UINT64_MAX },
		{ MODEL_ALLOC_NS, UINT64_MAX },	   { MODEL_FREE_NS, MODEL_NEVER },
		{ MODEL_THREAD, MODEL_NO_THREAD }, { MODEL_FREE_THREAD, MODEL_NO_THREAD },
		{ MODEL_STACK, UINT64_MAX },	   { MODEL_FREE_STACK, CAPTURE_STACK_NONE },
	};
	const uint64_t flags = row[MODEL_FLAGS];

	str_add(text, "[\"");
	str_add_hex(text, row[MODEL_ADDRESS]);
	str_add_char(text, '"');
	for (size_t i = 0; i < array_size(numbers); i++) {
		str_add_char(text, ',');
		add_u64_or_null(text, row[numbers[i].column], numbers[i].none);
	}
	add_call(text, row[MODEL_FN]);
	add_call(text, row[MODEL_FREE_FN]);
	str_add(text, flags & MODEL_ALLOCATION_TEMPORARY ? ",true" : ",false");
	str_add(text, flags & MODEL_ALLOCATION_PEAK ? ",true" : ",false");
	str_add(text, flags & MODEL_ALLOCATION_LOST_FREE ? ",true," : ",false,");
	add_u64_or_null(text, row[MODEL_REALLOC_OF], MODEL_NO_ROW);
	if (has_latencies) {
		str_add_char(text, ',');
		add_u64_or_null(text, row[MODEL_LATENCY], MODEL_NEVER);
		str_add_char(text, ',');
		add_u64_or_null(text, row[MODEL_FREE_LATENCY], MODEL_NEVER);
	}
	str_add_char(text, ']');
}

struct json_batch {
	uint64_t rows[MODEL_BATCH];
	uint64_t values[MODEL_COLUMNS][MODEL_BATCH];
};

/* A row is referred to by its place in the list, where it is in it. */
static uint64_t place_of(const struct selection *selection, uint64_t row)
{
	if (row == MODEL_NO_ROW || !selection_has(selection, row))
		return MODEL_NO_ROW;
	return selection_index(selection, row);
}

static void batch_write(struct json_out *json, const struct json_batch *batch, size_t count,
			bool is_first)
{
	const bool has_latencies = model_latencies(json->context->model);

	for (size_t i = 0; i < count; i++) {
		uint64_t row[MODEL_COLUMNS];

		for (int c = 0; c < MODEL_COLUMNS; c++)
			row[c] = batch->values[c][i];
		row[MODEL_REALLOC_OF] = place_of(json->context->selection, row[MODEL_REALLOC_OF]);
		str_add(&json->text, is_first && i == 0 ? "\n" : ",\n");
		row_write(&json->text, row, has_latencies);
	}
	json_flush(json, FLUSH_BYTES);
}

static void allocations_write(struct json_out *json, struct json_batch *batch)
{
	const struct model *model = json->context->model;
	uint64_t at = 0;
	bool is_first = true;
	size_t count;

	str_add(&json->text, ",\n\"columns\":");
	str_add(&json->text, columns);
	str_add(&json->text, model_latencies(model) ? latency_columns : "");
	str_add(&json->text, "],\n\"allocations\":[");
	while (!json->err &&
	       (count = selection_next(json->context->selection, &at, batch->rows)) > 0) {
		for (int c = 0; c < MODEL_COLUMNS; c++)
			model_rows_gather(model, (enum model_column)c, batch->rows, count,
					  batch->values[c]);
		batch_write(json, batch, count, is_first);
		is_first = false;
	}
	str_add(&json->text, "]}\n");
}

static struct err *json_write(const struct export_context *context, FILE *out)
{
	struct json_out json = { .context = context, .out = out };
	CLEAN(free) struct json_batch *batch = malloc(sizeof(*batch));

	if (!batch)
		return err_nomem();
	process_write(&json);
	modules_write(&json);
	stacks_write(&json);
	allocations_write(&json, batch);
	json_flush(&json, 0);
	str_deinit(&json.text);
	return json.err;
}

const struct export_format export_json = {
	.name = "json",
	.summary = "everything: each allocation with its stacks, times and threads, for scripts",
	.suffix = ".json",
	.kind = EXPORT_EVENTS,
	.depth = MODEL_FULL,
	.write = json_write,
};
