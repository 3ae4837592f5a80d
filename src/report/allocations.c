/*
 * allocations: every one of them, in the order of time. There can be millions, and their addresses
 * of code are few: the JSON of a frame is made once per stack node and kept. Stacks are strung
 * together from those while they are written, because deep recursion has more of them than memory.
 */
#include "report/quality.h"

enum {
	FLUSH_BYTES = 1 << 16,
	FRAMES_SHOWN = 6, /* in text */
	FUNCTION_COLUMNS = 48
};

struct list {
	const struct report_context *context;
	FILE *out;
	struct str text;	/* not yet written */
	const char **fragments; /* by stack: JSON of its innermost address; NULL: not made yet */
	struct err *err;	/* of writing; sticks */
};

static void list_flush(struct list *list)
{
	struct str *text = &list->text;

	if (list->err)
		return;
	if (text->failed)
		list->err = err_nomem();
	else if (text->len > 0 && fwrite(text->ptr, 1, text->len, list->out) != text->len)
		list->err = err_errno("write");
	str_clear(text);
}

static void add_text_or_null(struct str *text, const char *words)
{
	if (words)
		str_add_json(text, words);
	else
		str_add(text, "null");
}

static void add_frame(struct str *text, const struct report_context *context,
		      const struct name_frame *frame)
{
	const struct name *name = names_get(context->names, frame->name);

	str_add(text, "{\"function\":");
	str_add_json(text, name->function);
	str_add(text, ",\"file\":");
	add_text_or_null(text, frame->file);
	str_printf(text, frame->line ? ",\"line\":%u" : ",\"line\":null", frame->line);
	str_add(text, ",\"module\":");
	add_text_or_null(text, name->module[0] ? name->module : NULL);
	str_add(text, frame->is_inlined ? ",\"inlined\":true}" : ",\"inlined\":false}");
}

/* Frames of the stack's innermost address. */
static const char *fragment(struct list *list, uint32_t stack)
{
	CLEAN(str_deinit) struct str text = { 0 };
	struct name_frames frames;

	if (list->fragments[stack])
		return list->fragments[stack];
	frames = names_frames(list->context->names, stack);
	for (size_t i = 0; i < frames.count; i++) {
		if (i > 0)
			str_add_char(&text, ',');
		add_frame(&text, list->context, &frames.frames[i]);
	}
	list->fragments[stack] = arena_strdup(list->context->arena, str_text(&text));
	list->text.failed |= text.failed || !list->fragments[stack];
	return list->fragments[stack] ? list->fragments[stack] : "";
}

/* The whole stack: here completeness comes before beauty. */
static void add_stack(struct list *list, uint32_t stack)
{
	const struct capture_stack *stacks = model_stacks(list->context->model);
	const char *separator = "";

	str_add_char(&list->text, '[');
	for (; stack >= CAPTURE_STACK_FIRST && !list->err; stack = stacks[stack].parent) {
		str_add(&list->text, separator);
		str_add(&list->text, fragment(list, stack));
		separator = ",";
		if (list->text.len >= FLUSH_BYTES)
			list_flush(list);
	}
	str_add_char(&list->text, ']');
}

static void add_u64(struct str *text, const char *key, uint64_t value)
{
	str_add(text, key);
	str_add_u64(text, value);
}

static void add_free(struct list *list, const struct model_allocations *all, size_t i)
{
	const bool is_freed = all->free_ns[i] != MODEL_NEVER;
	struct str *text = &list->text;

	if (!is_freed) {
		str_add(text, ",\"free_ns\":null,\"free_thread\":null,\"free_function\":null,"
			      "\"free_stack\":null");
		return;
	}
	add_u64(text, ",\"free_ns\":", all->free_ns[i]);
	str_add(text, ",\"free_thread\":");
	if (all->free_thread[i] == MODEL_NO_THREAD)
		str_add(text, "null");
	else
		str_add_u64(text, model_thread(list->context->model, all->free_thread[i])->tid);
	str_add(text, ",\"free_function\":");
	if (tape_fn_name(all->free_fn[i]))
		str_add_json(text, tape_fn_name(all->free_fn[i]));
	else
		str_add(text, "null");
	str_add(text, ",\"free_stack\":");
	if (all->free_stack[i] == CAPTURE_STACK_NONE)
		str_add(text, "null");
	else
		add_stack(list, all->free_stack[i]);
}

static void add_allocation(struct list *list, const struct model_allocations *all, size_t i)
{
	const struct model *model = list->context->model;
	struct str *text = &list->text;

	str_add(text, i ? ",\n{\"address\":\"" : "{\"address\":\"");
	str_add_hex(text, all->address[i]);
	add_u64(text, "\",\"size\":", all->size[i]);
	add_u64(text, ",\"usable_size\":", all->usable[i]);
	add_u64(text, ",\"alloc_ns\":", all->alloc_ns[i]);
	add_u64(text, ",\"thread\":", model_thread(model, all->thread[i])->tid);
	str_add(text, ",\"function\":");
	str_add_json(text, tape_fn_name(all->fn[i]));
	add_free(list, all, i);
	str_add(text, ",\"temporary\":");
	str_add(text, all->flags[i] & MODEL_ALLOCATION_TEMPORARY ? "true" : "false");
	str_add(text, ",\"at_peak\":");
	str_add(text, all->flags[i] & MODEL_ALLOCATION_PEAK ? "true" : "false");
	str_add(text, ",\"realloc_of\":");
	if (all->realloc_of[i] == MODEL_NO_ALLOCATION)
		str_add(text, "null");
	else
		str_add_u64(text, all->realloc_of[i]);
	str_add(text, ",\"stack\":");
	add_stack(list, all->stack[i]);
	str_add_char(text, '}');
}

static void json_write(struct list *list, size_t count)
{
	const struct model_allocations *all = model_allocations(list->context->model);

	list->fragments = arena_array(list->context->arena, model_stack_count(list->context->model),
				      sizeof(*list->fragments));
	list->text.failed |= !list->fragments;
	str_add(&list->text, "[");
	for (size_t i = 0; list->fragments && i < count && !list->err; i++) {
		add_allocation(list, all, i);
		if (list->text.len >= FLUSH_BYTES)
			list_flush(list);
	}
	str_add(&list->text, "]\n");
	list_flush(list);
}

/* --- text and CSV -------------------------------------------------------------------------- */

static const struct emit_column columns[] = {
	{ .key = "alloc_ns", .title = "time" },
	{ .key = "lifetime_ns", .title = "lived" },
	{ .key = "thread", .title = "thread" },
	{ .key = "address", .title = "address" },
	{ .key = "size", .title = "size" },
	{ .key = "usable_size", .title = "usable" },
	{ .key = "function", .title = "by", .left = true },
	{ .key = "stack", .title = "called from", .left = true, .elastic = true },
};

static void emit_allocation(struct emit *emit, const struct report_context *context, size_t i)
{
	const struct model_allocations *all = model_allocations(context->model);
	struct walk walk = walk_begin(context->model, context->names, all->stack[i], context->mode);
	const struct name_frame *frame;

	emit_row(emit);
	emit_u64(emit, "alloc_ns", all->alloc_ns[i], EMIT_DURATION);
	if (all->free_ns[i] == MODEL_NEVER)
		emit_null(emit, "lifetime_ns");
	else
		emit_u64(emit, "lifetime_ns", all->free_ns[i] - all->alloc_ns[i], EMIT_DURATION);
	emit_u64(emit, "thread", model_thread(context->model, all->thread[i])->tid, EMIT_PLAIN);
	emit_address(emit, "address", all->address[i]);
	emit_u64(emit, "size", all->size[i], EMIT_BYTES);
	emit_u64(emit, "usable_size", all->usable[i], EMIT_BYTES);
	emit_text(emit, "function", tape_fn_name(all->fn[i]));
	emit_list(emit, "stack");
	for (size_t shown = 0; (frame = walk_next(&walk)); shown++) {
		const char *function = names_get(context->names, frame->name)->function;
		CLEAN(str_deinit) struct str words = { 0 };

		if (context->settings->format == EMIT_TEXT && shown == FRAMES_SHOWN)
			break;
		if (context->settings->format == EMIT_TEXT)
			text_function_short(&words, function, FUNCTION_COLUMNS);
		else
			str_add(&words, function);
		emit_text(emit, NULL, str_text(&words));
	}
	emit_end(emit);
	emit_end(emit);
}

static struct err *rows_write(const struct report_context *context, size_t count, FILE *out)
{
	const struct report_settings *settings = context->settings;
	const struct emit_settings emit_settings = { .format = settings->format,
						     .colour = settings->colour,
						     .width = settings->width };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &emit_settings);
	CLEAN(text_deinit) struct text text = text_begin(settings);
	struct err *err;

	if (!emit)
		return err_nomem();
	emit_table(emit, NULL, columns, array_size(columns));
	for (size_t i = 0; i < count && !emit_has_failed(emit); i++)
		emit_allocation(emit, context, i);
	emit_end(emit);
	err = emit_finish(emit);
	if (err || settings->format != EMIT_TEXT)
		return err;
	quality_text(&text, context);
	return text_write(&text, out);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	struct list list = { .context = context, .out = out };
	const uint64_t top = context->settings->top;
	size_t count = model_allocations(context->model)->count;

	if (top && top < count)
		count = top;
	if (context->settings->format != EMIT_JSON)
		return rows_write(context, count, out);
	json_write(&list, count);
	str_deinit(&list.text);
	return list.err;
}

const struct report report_allocations = {
	.name = "allocations",
	.summary = "every allocation in the order of time, its stacks and its free",
	.depth = MODEL_FULL,
	.run = run,
};
