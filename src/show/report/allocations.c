/*
 * allocations: all of them, in chronological order. There can be millions, but they have few
 * distinct code addresses: the JSON of frames is made once per stack node and kept. Stacks are
 * joined from these while writing, because deeply recursive ones would not fit in memory.
 */
#include "report/quality.h"

enum {
	FLUSH_BYTES = 1 << 16,
	FRAMES_SHOWN = 6, /* in text */
	FUNCTION_COLUMNS = 48
};

/* The listed rows in order, one batch at a time. */
struct source {
	const struct selection *selection;
	const uint64_t *sorted; /* NULL: chronological */
	uint64_t rest;		/* rows left */
	uint64_t at;		/* chronological order: for selection_next */
	uint64_t rows[MODEL_BATCH];
	struct batch batch;
};

struct list {
	const struct report_context *context;
	FILE *out;
	uint64_t count;		/* allocations so far */
	struct str text;	/* not yet written */
	const char **fragments; /* by stack: JSON of its innermost address; NULL: not made yet */
	struct err *err;	/* of writing; sticks */
};

/* The next batch with all columns; NULL: end. */
static const struct batch *source_next(struct source *source)
{
	const uint64_t *rows = source->sorted ? source->sorted : source->rows;
	size_t count = u64_min(source->rest, MODEL_BATCH);

	if (count > 0 && !source->sorted)
		count = u64_min(selection_next(source->selection, &source->at, source->rows),
				count);
	if (count == 0)
		return NULL;
	batch_list(&source->batch, source->selection->facts, rows, count);
	for (int column = 0; column < MODEL_COLUMNS; column++)
		batch_column(&source->batch, (enum model_column)column);
	if (source->sorted)
		source->sorted += count;
	source->rest -= count;
	return &source->batch;
}

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

/* Frames of the stack's innermost address as JSON. */
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

/* The whole stack: here completeness matters more than appearance. */
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

static void add_free(struct list *list, const struct batch *all, size_t i)
{
	const bool is_freed = all->columns[MODEL_FREE_NS][i] != MODEL_NEVER;
	struct str *text = &list->text;

	if (!is_freed) {
		str_add(text, ",\"free_ns\":null,\"free_thread\":null,\"free_function\":null,"
			      "\"free_stack\":null");
		return;
	}
	add_u64(text, ",\"free_ns\":", all->columns[MODEL_FREE_NS][i]);
	str_add(text, ",\"free_thread\":");
	if (all->columns[MODEL_FREE_THREAD][i] == MODEL_NO_THREAD)
		str_add(text, "null");
	else
		str_add_u64(text,
			    model_thread(list->context->model, all->columns[MODEL_FREE_THREAD][i])
				    ->tid);
	str_add(text, ",\"free_function\":");
	if (tape_fn_name((enum tape_fn)all->columns[MODEL_FREE_FN][i]))
		str_add_json(text, tape_fn_name((enum tape_fn)all->columns[MODEL_FREE_FN][i]));
	else
		str_add(text, "null");
	str_add(text, ",\"free_stack\":");
	if (all->columns[MODEL_FREE_STACK][i] == CAPTURE_STACK_NONE)
		str_add(text, "null");
	else
		add_stack(list, (uint32_t)all->columns[MODEL_FREE_STACK][i]);
}

/* Nothing if the tape has no latencies. */
static void add_latency(struct list *list, const char *key, uint64_t ns)
{
	if (!model_latencies(list->context->model))
		return;
	str_add(&list->text, key);
	if (ns == MODEL_NEVER)
		str_add(&list->text, "null");
	else
		str_add_u64(&list->text, ns);
}

static void add_allocation(struct list *list, const struct batch *all, size_t i)
{
	const struct model *model = list->context->model;
	struct str *text = &list->text;

	str_add(text, list->count++ ? ",\n{\"id\":" : "{\"id\":");
	str_add_u64(text, batch_row(all, i));
	str_add(text, ",\"address\":\"");
	str_add_hex(text, all->columns[MODEL_ADDRESS][i]);
	add_u64(text, "\",\"size\":", all->columns[MODEL_SIZE][i]);
	add_u64(text, ",\"usable_size\":", all->columns[MODEL_USABLE][i]);
	add_u64(text, ",\"alloc_ns\":", all->columns[MODEL_ALLOC_NS][i]);
	add_u64(text, ",\"thread\":", model_thread(model, all->columns[MODEL_THREAD][i])->tid);
	str_add(text, ",\"function\":");
	str_add_json(text, tape_fn_name((enum tape_fn)all->columns[MODEL_FN][i]));
	if (all->columns[MODEL_POOL][i] != MODEL_NO_POOL) {
		str_add(text, ",\"pool\":");
		str_add_json(text, model_pools(model)[all->columns[MODEL_POOL][i]].name);
	}
	add_free(list, all, i);
	add_latency(list, ",\"latency_ns\":", all->columns[MODEL_LATENCY][i]);
	add_latency(list, ",\"free_latency_ns\":", all->columns[MODEL_FREE_LATENCY][i]);
	str_add(text, ",\"temporary\":");
	str_add(text, all->columns[MODEL_FLAGS][i] & MODEL_ALLOCATION_TEMPORARY ? "true" : "false");
	str_add(text, ",\"at_peak\":");
	str_add(text, all->columns[MODEL_FLAGS][i] & MODEL_ALLOCATION_PEAK ? "true" : "false");
	str_add(text, ",\"realloc_of\":");
	if (all->columns[MODEL_REALLOC_OF][i] == MODEL_NO_ROW)
		str_add(text, "null");
	else
		str_add_u64(text, all->columns[MODEL_REALLOC_OF][i]);
	str_add(text, ",\"stack\":");
	add_stack(list, (uint32_t)all->columns[MODEL_STACK][i]);
	str_add_char(text, '}');
}

static void json_write(struct list *list, struct source *source)
{
	const struct batch *batch;

	list->fragments = arena_array(list->context->arena, model_stack_count(list->context->model),
				      sizeof(*list->fragments));
	list->text.failed |= !list->fragments;
	str_add(&list->text, "[");
	while (list->fragments && !list->err && (batch = source_next(source))) {
		for (size_t i = 0; i < batch->count && !list->err; i++) {
			add_allocation(list, batch, i);
			if (list->text.len >= FLUSH_BYTES)
				list_flush(list);
		}
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

static void emit_allocation(struct emit *emit, const struct report_context *context,
			    const struct batch *all, size_t i)
{
	struct walk walk = walk_begin(context->model, context->names,
				      (uint32_t)all->columns[MODEL_STACK][i], context->mode);
	const struct name_frame *frame;

	emit_row(emit);
	emit_u64(emit, "alloc_ns", all->columns[MODEL_ALLOC_NS][i], EMIT_DURATION);
	if (all->columns[MODEL_FREE_NS][i] == MODEL_NEVER)
		emit_null(emit, "lifetime_ns");
	else
		emit_u64(emit, "lifetime_ns",
			 all->columns[MODEL_FREE_NS][i] - all->columns[MODEL_ALLOC_NS][i],
			 EMIT_DURATION);
	emit_u64(emit, "thread", model_thread(context->model, all->columns[MODEL_THREAD][i])->tid,
		 EMIT_PLAIN);
	emit_address(emit, "address", all->columns[MODEL_ADDRESS][i]);
	emit_u64(emit, "size", all->columns[MODEL_SIZE][i], EMIT_BYTES);
	emit_u64(emit, "usable_size", all->columns[MODEL_USABLE][i], EMIT_BYTES);
	emit_text(emit, "function", tape_fn_name((enum tape_fn)all->columns[MODEL_FN][i]));
	emit_list(emit, "stack");
	for (size_t shown = 0; (frame = walk_next(&walk)); shown++) {
		const struct name *name = names_get(context->names, frame->name);
		CLEAN(str_deinit) struct str words = { 0 };

		if (context->settings->format == EMIT_TEXT && shown == FRAMES_SHOWN)
			break;
		if (context->settings->format == EMIT_TEXT)
			str_add_function(&words, name->brief, FUNCTION_COLUMNS);
		else
			str_add(&words, name->function);
		emit_text(emit, NULL, str_text(&words));
	}
	emit_end(emit);
	emit_end(emit);
}

static struct err *rows_write(const struct report_context *context, struct source *source,
			      FILE *out)
{
	const struct report_settings *settings = context->settings;
	const struct emit_settings emit_settings = { .format = settings->format,
						     .colour = settings->colour,
						     .width = settings->width };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &emit_settings);
	CLEAN(text_deinit) struct text text = text_begin(settings);
	const struct batch *batch;
	struct err *err;

	if (!emit)
		return err_nomem();
	emit_table(emit, NULL, columns, array_size(columns));
	while (!emit_has_failed(emit) && (batch = source_next(source))) {
		for (size_t i = 0; i < batch->count; i++)
			emit_allocation(emit, context, batch, i);
	}
	emit_end(emit);
	err = emit_finish(emit);
	if (err || settings->format != EMIT_TEXT)
		return err;
	quality_text(&text, context);
	return text_write(&text, out);
}

static struct err *check(const struct parameters *with)
{
	struct selection_order order;

	return with->sort ? selection_order_parse(with->sort, &order) : NULL;
}

static struct err *source_begin(struct source *source, const struct report_context *context)
{
	const struct report_settings *settings = context->settings;
	const uint64_t top = settings->with.top;
	struct selection_order order = { 0 };
	struct err *err;

	source->selection = context->selection;
	source->rest = context->selection->count;
	if (top && top < source->rest)
		source->rest = top;
	if (!settings->with.sort && settings->with.skip == 0)
		return NULL;
	err = settings->with.sort ? selection_order_parse(settings->with.sort, &order) : NULL;
	if (err)
		return err;
	return selection_sorted(context->selection, &order, settings->with.skip, top,
				context->arena, &source->sorted, &source->rest);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	struct list list = { .context = context, .out = out };
	struct source *source = arena_alloc(context->arena, sizeof(*source));
	struct err *err;

	if (!source)
		return err_nomem();
	err = source_begin(source, context);
	if (err)
		return err;
	if (context->settings->format != EMIT_JSON)
		return rows_write(context, source, out);
	json_write(&list, source);
	str_deinit(&list.text);
	return list.err;
}

/* No route: there are too many to hold in memory. */
static const struct question question = {
	.name = "allocations",
	.summary = "every allocation in the order of time, its stacks and its free",
	.depth = MODEL_FULL,
	.takes = TAKES(sort) | TAKES(top) | TAKES(skip),
	.selects = true,
	.ignores_leaks = true,
	.check = check,
};

const struct report report_allocations = {
	.question = &question,
	.run = run,
};
