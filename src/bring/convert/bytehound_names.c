/*
 * Names in files of bytehound: the lookups that `bytehound postprocess` stored in place of code
 * addresses. Strings, frames that refer to strings, and stacks that refer to frames.
 */
#include "convert/bytehound.h"

enum {
	TEXT_MAX = 1 << 20,
	FRAME_BYTES = 8 + 6 * 4 + 1,
	NAMES_MAX = 64 /* functions inlined into each other */
};

static const uint32_t NO_TEXT = UINT32_MAX;

void bytehound_names_deinit(struct bytehound_names *names)
{
	interner_deinit(&names->texts);
	map_deinit(&names->text_of);
	bytehound_frames_deinit(&names->frames);
}

void bytehound_string_take(struct bytehound *bytehound)
{
	const uint32_t number = bytehound_u32(&bytehound->stream);
	const uint32_t len = bytehound_u32(&bytehound->stream);
	const uint8_t *bytes = bytehound_bytes(&bytehound->stream, len, TEXT_MAX);
	uint32_t text;
	uint64_t *place;

	if (!bytes)
		return;
	text = interner_put(&bytehound->names.texts, (const char *)bytes, len);
	place = text == UINT32_MAX ? NULL : map_put(&bytehound->names.text_of, number, NULL);
	if (place)
		*place = text;
	else
		bytehound_fail(bytehound, "out of memory");
}

static uint32_t text_at(const struct bytehound *bytehound, const uint8_t *bytes)
{
	const uint64_t *text = map_find(&bytehound->names.text_of, load_u32(bytes));

	return text ? (uint32_t)*text : NO_TEXT;
}

/* address, library, mangled function, function, file, line, column, is inlined */
void bytehound_frame_take(struct bytehound *bytehound)
{
	const uint8_t *bytes = bytehound_bytes(&bytehound->stream, FRAME_BYTES, FRAME_BYTES);
	struct bytehound_frame frame;
	uint32_t column;

	if (!bytes)
		return;
	column = load_u32(bytes + 28);
	frame = (struct bytehound_frame) {
		.pc = load_u64(bytes),
		.library = text_at(bytehound, bytes + 8),
		.function = text_at(bytehound, bytes + 16),
		.file = text_at(bytehound, bytes + 20),
		.line = load_u32(bytes + 24),
		.column = column <= UINT16_MAX ? (uint16_t)column : 0,
		.is_inline = bytes[32] != 0,
	};
	if (frame.function == NO_TEXT)
		frame.function = text_at(bytehound, bytes + 12);
	if (frame.line == UINT32_MAX)
		frame.line = 0;
	if (!bytehound_frames_push(&bytehound->names.frames, frame))
		bytehound_fail(bytehound, "out of memory");
}

static const char *text_of(const struct bytehound *bytehound, uint32_t text)
{
	return text == NO_TEXT ? NULL : bytehound->names.texts.texts[text];
}

/* The frame of the last of these; all before it are inlined there. */
static uint32_t place_make(struct bytehound *bytehound, const struct bytehound_frame **frames,
			   size_t count)
{
	const struct bytehound_frame *outer = frames[count - 1];
	const struct bytehound_module *module = bytehound_module_at(bytehound, outer->pc);
	const char *library = text_of(bytehound, outer->library);
	struct compose_name names[NAMES_MAX];
	struct compose_frame frame = { .pc = outer->pc + 1, .names = names };

	for (size_t i = count - u64_min(count, NAMES_MAX); i < count; i++) {
		const char *function = text_of(bytehound, frames[i]->function);

		if (function)
			names[frame.name_count++] =
				(struct compose_name) { function,
							text_of(bytehound, frames[i]->file),
							frames[i]->line, frames[i]->column };
	}
	if (module)
		frame.module = module->module;
	else if (library && frame.name_count > 0)
		frame.module = composer_module(bytehound->composer,
					       &(struct compose_module) { .path = library });
	return composer_frame(bytehound->composer, &frame);
}

/* Number of leading frames that are bytehound's own. */
static uint32_t recorder_count(const struct bytehound *bytehound,
			       const struct bytehound_frame **frames, uint32_t count)
{
	uint32_t first = 0;

	while (first + 1 < count) {
		const char *library = text_of(bytehound, frames[first]->library);

		if (!library || !bytehound_is_recorder(library))
			break;
		first++;
	}
	return first;
}

static uint32_t stack_make(struct bytehound *bytehound, const struct bytehound_frame **frames,
			   uint32_t count)
{
	const uint32_t first = recorder_count(bytehound, frames, count);
	uint32_t stack = COMPOSE_ROOT;

	for (uint32_t end = count, begin; end > first; end = begin) {
		for (begin = end - 1; begin > first && frames[begin - 1]->is_inline;)
			begin--;
		stack = composer_stack(bytehound->composer, stack,
				       place_make(bytehound, frames + begin, end - begin));
	}
	return count ? stack : COMPOSE_NO_STACK;
}

void bytehound_decoded_take(struct bytehound *bytehound)
{
	const struct bytehound_frame *frames[COMPOSE_DEPTH_MAX];
	struct bytehound_names *names = &bytehound->names;
	const uint32_t count = bytehound_u32(&bytehound->stream);
	const uint8_t *bytes =
		bytehound_bytes(&bytehound->stream, count * UINT64_C(4), COMPOSE_DEPTH_MAX * 4);

	if (!bytes)
		return;
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t number = load_u32(bytes + i * sizeof(number));

		if (number >= names->frames.count) {
			bytehound_fail(bytehound, "a stack has a frame that is not in the file");
			return;
		}
		frames[i] = &names->frames.items[number];
	}
	bytehound_stack_put(bytehound, names->stack_count++, stack_make(bytehound, frames, count));
}
