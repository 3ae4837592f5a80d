/*
 * allocations: every one of them, in the order of time. There can be millions, and their stacks are
 * few: the JSON of a stack is made once and kept. Written straight, not through emit, for that.
 */
#include "base/map.h"
#include "report/text.h"

enum {
	FLUSH_BYTES = 1 << 16,
	FRAMES_SHOWN = 6, /* in text */
	FUNCTION_COLUMNS = 48
};

struct list {
	const struct report_context *context;
	FILE *out;
	struct str text;   /* not yet written */
	struct map stacks; /* stack -> const char *, in the arena */
};

/* The whole stack, unless folding was asked for: here completeness comes before beauty. */
static void add_frames(struct str *text, const struct report_context *context, uint32_t stack)
{
	struct walk walk = walk_begin(context->model, context->names, stack, WALK_ALL);
	const struct name_frame *frame;
	const char *separator = "";

	str_add_char(text, '[');
	while ((frame = walk_next(&walk))) {
		const struct name *name = names_get(context->names, frame->name);

		if (frame->name == NAME_TRUNCATED || frame->name == NAME_NO_STACK)
			continue;
		str_add(text, separator);
		str_add(text, "{\"function\":");
		str_add_json(text, name->function);
		str_add(text, ",\"file\":");
		if (frame->file)
			str_add_json(text, frame->file);
		else
			str_add(text, "null");
		str_printf(text, frame->line ? ",\"line\":%u" : ",\"line\":null", frame->line);
		str_add(text, ",\"module\":");
		if (name->module[0])
			str_add_json(text, name->module);
		else
			str_add(text, "null");
		str_add(text, frame->is_inlined ? ",\"inlined\":true}" : ",\"inlined\":false}");
		separator = ",";
	}
	str_add_char(text, ']');
}

static void add_stack(struct list *list, uint32_t stack)
{
	uint64_t *place = map_put(&list->stacks, stack, NULL);

	if (!place) {
		list->text.failed = true;
		return;
	}
	if (!*place) {
		CLEAN(str_deinit) struct str frames = { 0 };

		add_frames(&frames, list->context, stack);
		*place = (uintptr_t)arena_strdup(list->context->arena, str_text(&frames));
		list->text.failed |= frames.failed || !*place;
	}
	if (*place)
		str_add(&list->text, (const char *)(uintptr_t)*place);
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

static struct err *list_flush(struct list *list)
{
	struct str *text = &list->text;

	if (text->failed)
		return err_nomem();
	if (text->len > 0 && fwrite(text->ptr, 1, text->len, list->out) != text->len)
		return err_errno("write");
	str_clear(text);
	return NULL;
}

static struct err *json_write(struct list *list, size_t count)
{
	const struct model_allocations *all = model_allocations(list->context->model);
	struct err *err = NULL;

	str_add(&list->text, "[");
	for (size_t i = 0; i < count && !err; i++) {
		add_allocation(list, all, i);
		if (list->text.len >= FLUSH_BYTES)
			err = list_flush(list);
	}
	if (err)
		return err;
	str_add(&list->text, "]\n");
	return list_flush(list);
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

	if (!emit)
		return err_nomem();
	emit_table(emit, NULL, columns, array_size(columns));
	for (size_t i = 0; i < count && !emit_has_failed(emit); i++)
		emit_allocation(emit, context, i);
	emit_end(emit);
	return emit_finish(emit);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	struct list list = { .context = context, .out = out };
	const uint64_t top = context->settings->top;
	size_t count = model_allocations(context->model)->count;
	struct err *err;

	if (top && top < count)
		count = top;
	if (context->settings->format != EMIT_JSON)
		return rows_write(context, count, out);
	err = json_write(&list, count);
	str_deinit(&list.text);
	map_deinit(&list.stacks);
	return err;
}

const struct report report_allocations = {
	.name = "allocations",
	.summary = "every allocation in the order of time, its stacks and its free",
	.depth = MODEL_FULL,
	.run = run,
};
