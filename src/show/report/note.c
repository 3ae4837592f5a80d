#include "report/note.h"

void note_thread(struct emit *emit, const char *key, const struct model *model, uint32_t thread)
{
	if (thread == MODEL_NO_THREAD)
		emit_null(emit, key);
	else
		emit_u64(emit, key, model_thread(model, thread)->tid, EMIT_PLAIN);
}

void note_stack(struct emit *emit, const struct report_context *context, uint32_t stack)
{
	struct walk walk = walk_begin(context->model, context->names, stack, context->mode);
	const struct name_frame *frame;

	emit_list(emit, "stack");
	while (stack != CAPTURE_STACK_NONE && (frame = walk_next(&walk)))
		emit_text(emit, NULL, names_get(context->names, frame->name)->function);
	emit_end(emit);
}
