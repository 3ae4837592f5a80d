/*
 * Folded stacks: a line per stack, "main;parse;read_block 4096" - the outermost function first,
 * then the metric's value. What flamegraph.pl, inferno, speedscope and others read. The format has
 * no escapes of its own, so what would end a frame or a line is replaced: ';' by ':' and control
 * bytes by '?'. A space may stay, because readers take the value behind the last one.
 *
 * Stacks that look the same (they differ in lines or in folded frames) are added up.
 */
#include "base/map.h"
#include "export/export.h"

VEC_DEFINE(frame_vec, const struct name_frame *);

static void add_frame(struct str *line, const char *function)
{
	CLEAN(str_deinit) struct str clean = { 0 };

	str_add_terminal(&clean, function);
	for (const char *at = str_text(&clean); *at; at++)
		str_add_char(line, *at == ';' ? ':' : *at);
	line->failed |= clean.failed;
}

static struct err *stack_fold(const struct export_context *context, uint32_t stack,
			      struct frame_vec *frames, struct str *line)
{
	struct walk walk = walk_begin(context->model, context->names, stack, context->mode);
	const struct name_frame *frame;

	frames->count = 0;
	while ((frame = walk_next(&walk))) {
		if (!frame_vec_push(frames, frame))
			return err_nomem();
	}
	str_clear(line);
	for (size_t i = frames->count; i-- > 0;) {
		if (line->len > 0)
			str_add_char(line, ';');
		add_frame(line, names_get(context->names, frames->items[i]->name)->function);
	}
	return line->failed ? err_nomem() : NULL;
}

/* Sums by line, in the order of first sight. */
static struct err *lines_collect(const struct export_context *context, struct interner *lines,
				 struct vec_u64 *values)
{
	const struct model_stack_sums *sums = model_stack_sums(context->model);
	CLEAN(frame_vec_deinit) struct frame_vec frames = { 0 };
	CLEAN(str_deinit) struct str line = { 0 };

	for (uint32_t stack = 0; stack < model_stack_count(context->model); stack++) {
		const uint64_t value = metric_value(context->metric, &sums[stack]);
		uint32_t id;
		struct err *err;

		if (value == 0)
			continue;
		err = stack_fold(context, stack, &frames, &line);
		if (err)
			return err;
		id = interner_put(lines, str_text(&line), line.len);
		if (id == UINT32_MAX || (id == values->count && !vec_u64_push(values, 0)))
			return err_nomem();
		values->items[id] += value;
	}
	return NULL;
}

static struct err *folded_write(const struct export_context *context, FILE *out)
{
	CLEAN(interner_deinit) struct interner lines = { 0 };
	CLEAN(vec_u64_deinit) struct vec_u64 values = { 0 };
	CLEAN(str_deinit) struct str text = { 0 };
	struct err *err = lines_collect(context, &lines, &values);

	if (err)
		return err;
	for (uint32_t i = 0; i < lines.count; i++) {
		str_clear(&text);
		str_add(&text, lines.texts[i]);
		str_add_char(&text, ' ');
		str_add_u64(&text, values.items[i]);
		str_add_char(&text, '\n');
		if (text.failed)
			return err_nomem();
		if (fwrite(text.ptr, 1, text.len, out) != text.len)
			return err_errno("write");
	}
	return NULL;
}

const struct export_format export_folded = {
	.name = "folded",
	.summary = "a line per stack, for flamegraph.pl, inferno, speedscope and others",
	.depth = MODEL_SUMMARY,
	.write = folded_write,
};
