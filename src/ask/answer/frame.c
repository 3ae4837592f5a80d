#include "answer/frame.h"

#include <assert.h>

#include "model/roles.h"
#include "sums/name_hash.h"

static const struct member place_members[] = {
	MEMBER(struct place, function, TEXT, "name of the function", .nullable = true),
	MEMBER(struct place, brief, TEXT, PLACE_BRIEF_MEANING, .nullable = true, .is_data = true),
	MEMBER(struct place, file, TEXT, "its source file", .nullable = true),
	MEMBER(struct place, line, PLAIN, "line in the source file", .nullable = true),
	MEMBER(struct place, module, TEXT, "path of the program or library", .nullable = true),
	MEMBER(struct place, hash, HASH,
	       "identifies the function; the same on every tape and in every version",
	       .nullable = true, .is_data = true),
};
const struct shape shape_place = SHAPE("Place", struct place, place_members);

static const char *const role_words[] = { "mine", "library", "allocator", "start", NULL };

static const struct member frame_members[] = {
	MEMBER(struct frame, function, TEXT, "name of the function"),
	MEMBER(struct frame, brief, TEXT, PLACE_BRIEF_MEANING),
	MEMBER(struct frame, file, TEXT, "its source file", .nullable = true),
	MEMBER(struct frame, line, PLAIN, "line in the source file", .nullable = true),
	MEMBER(struct frame, module, TEXT, "path of the program or library", .nullable = true),
	MEMBER(struct frame, hash, HASH,
	       "identifies the function; the same on every tape and in every version"),
	MEMBER(struct frame, inlined, FLAG, "the compiler put the function into its caller"),
	MEMBER(struct frame, folded, FLAG, "part of an allocator or of program start"),
	MEMBER(struct frame, role, TEXT, "whose code it is", .words = role_words),
};
const struct shape shape_frame = SHAPE("Frame", struct frame, frame_members);

struct place place_of(const struct model *model, const struct names *names,
		      const struct name_frame *frame)
{
	const struct name *name = frame ? names_get(names, frame->name) : NULL;

	if (!name)
		return (struct place) { .line = SHAPE_NONE, .hash = SHAPE_NONE };
	return (struct place) {
		.function = name->function,
		.brief = name->brief,
		.file = frame->file,
		.line = frame->line > 0 ? frame->line : SHAPE_NONE,
		.module = name->module[0] ? name->module : NULL,
		.hash = name_hash(model, name),
	};
}

struct place place_of_stack(const struct asked *asked, uint32_t stack)
{
	struct walk walk = walk_begin(asked->model, asked->names, stack, asked->mode);

	assert(stack < model_stack_count(asked->model));
	return place_of(asked->model, asked->names, walk_next(&walk));
}

struct frame frame_of(const struct model *model, const struct names *names,
		      const struct name_frame *frame)
{
	const struct place place = place_of(model, names, frame);
	const enum name_role role = names_get(names, frame->name)->role;

	return (struct frame) {
		.function = place.function,
		.brief = place.brief,
		.file = place.file,
		.line = place.line,
		.module = place.module,
		.hash = place.hash,
		.inlined = frame->is_inlined,
		.folded = role == NAME_ALLOCATOR || role == NAME_START,
		.role = role_word(role),
	};
}
