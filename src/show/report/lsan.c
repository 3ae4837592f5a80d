#include "report/lsan.h"

#include <string.h>

#include "base/map.h"
#include "report/rank.h"

/* "main /src/list.c:42:7", "(/usr/lib/libfoo.so+0x1234)" */
static void add_frame(struct str *out, const struct report_context *context,
		      const struct name_frame *frame, uint32_t stack)
{
	const struct capture_stack *node = &model_stacks(context->model)[stack];
	const struct name *name = names_get(context->names, frame->name);

	if (name->is_known) {
		str_add(out, "in ");
		str_add_terminal(out, name->full);
		str_add_char(out, ' ');
	}
	if (frame->file) {
		str_add_terminal(out, frame->file);
		if (frame->line > 0)
			str_printf(out, ":%u", frame->line);
		if (frame->line > 0 && frame->column > 0)
			str_printf(out, ":%u", frame->column);
	} else if (node->module != CAPTURE_MODULE_NONE) {
		str_add(out, "(");
		str_add_terminal(out, names_module_path(context->names, node->module));
		str_printf(out, "+0x%llx)",
			   (unsigned long long)(node->pc -
						model_module(context->model, node->module)->bias));
	}
	str_add_char(out, '\n');
}

/* All frames, allocators' too, as LeakSanitizer has them. */
static void add_stack(struct str *out, const struct report_context *context, uint32_t stack)
{
	const struct capture_stack *stacks = model_stacks(context->model);
	unsigned number = 0;

	for (uint32_t at = stack; at >= CAPTURE_STACK_FIRST; at = stacks[at].parent) {
		const struct name_frames frames = names_frames(context->names, at);

		for (size_t i = 0; i < frames.count; i++) {
			str_printf(out, "    #%u 0x%llx ", number++,
				   (unsigned long long)stacks[at].pc);
			add_frame(out, context, &frames.frames[i], at);
		}
	}
	str_add_char(out, '\n');
}

static void add_records(struct str *out, const struct report_context *context,
			const struct leak_classes_answer *answer, enum loss_kind kind,
			struct model_sum *sum)
{
	const struct loss_record *records = answer->records.items;

	for (size_t i = 0; i < answer->records.count; i++) {
		if (records[i].kind != kind)
			continue;
		str_printf(out, "%s leak of %llu byte(s) in %llu object(s) allocated from:\n",
			   kind == LOSS_DEFINITE ? "Direct" : "Indirect",
			   (unsigned long long)records[i].bytes,
			   (unsigned long long)records[i].blocks);
		add_stack(out, context, records[i].stack);
		sum->bytes += records[i].bytes;
		sum->count += records[i].blocks;
	}
}

struct err *lsan_text(const struct report_context *context,
		      const struct leak_classes_answer *answer, FILE *out)
{
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	struct model_sum sum = { 0 };

	str_printf(&text.out,
		   "\n=================================================================\n"
		   "==%u==ERROR: LeakSanitizer: detected memory leaks\n\n",
		   model_process(context->model)->pid);
	add_records(&text.out, context, answer, LOSS_DEFINITE, &sum);
	add_records(&text.out, context, answer, LOSS_INDIRECT, &sum);
	if (sum.count == 0)
		str_clear(&text.out); /* it says nothing then */
	else
		str_printf(&text.out,
			   "SUMMARY: LeakSanitizer: %llu byte(s) leaked in %llu allocation(s).\n",
			   (unsigned long long)sum.bytes, (unsigned long long)sum.count);
	return text_write(&text, out);
}

/* --- suppressions ----------------------------------------------------------------------------- */

/* The name without its parameters, which are in the brackets at its end. */
static size_t without_parameters(const char *function)
{
	size_t at = strlen(function), depth = 0;
	const char *end = strrchr(function, ')');

	if (!end || (end[1] && strcmp(end + 1, " const") != 0))
		return at;
	for (at = (size_t)(end - function) + 1; at-- > 0;) {
		depth += function[at] == ')';
		depth -= function[at] == '(';
		if (depth == 0)
			break;
	}
	return at > 0 && at < strlen(function) ? at : strlen(function);
}

/* A pattern is a part of a name; a star stands for what it may not have. */
static void add_rule(struct str *out, const char *function)
{
	const size_t len = without_parameters(function);

	str_add(out, "leak:");
	for (size_t i = 0; i < len; i++)
		str_add_char(out, function[i] == '\n' || function[i] == '\r' ? '*' : function[i]);
	str_add_char(out, '\n');
}

struct err *lsan_suppressions(const struct report_context *context,
			      const struct leak_classes_answer *answer, FILE *out)
{
	const struct loss_record *records = answer->records.items;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	CLEAN(map_deinit) struct map seen = { 0 };

	for (size_t i = 0; i < answer->records.count; i++) {
		const struct name_frame *frame = rank_site_frame(context, records[i].stack);
		const struct name *name = frame ? names_get(context->names, frame->name) : NULL;
		bool is_new = false;

		if (records[i].kind == LOSS_REACHABLE || !name || !name->is_known)
			continue;
		if (!map_put(&seen, (uint64_t)frame->name + 1, &is_new))
			return err_nomem();
		if (is_new)
			add_rule(&text.out, name->full);
	}
	return text_write(&text, out);
}
