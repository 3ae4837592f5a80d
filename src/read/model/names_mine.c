/* Which stacks have a function of the user. */
#include <assert.h>

#include "model/names_parts.h"

static bool frames_have_mine(const struct names *names, const struct name_frame *frames,
			     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (names_get(names, frames[i].name)->role == NAME_MINE)
			return true;
	}
	return false;
}

/* Callers come before callees. */
bool names_mine_find(struct names *names)
{
	const struct capture_stack *stacks = model_stacks(names->model);

	for (size_t i = names->has_mine.count; i < names->places_of.count; i++) {
		const struct name_frames *frames =
			names->places.items[names->places_of.items[i]].frames;
		const bool has_caller =
			i >= CAPTURE_STACK_FIRST && names->has_mine.items[stacks[i].parent];
		const bool has_own = i >= CAPTURE_STACK_FIRST && frames &&
				     frames_have_mine(names, frames->frames, frames->count);

		if (!vec_u8_push(&names->has_mine, has_caller || has_own))
			return false;
		if (has_own)
			names_glue_find_caller(names, (uint32_t)i);
	}
	return true;
}

bool names_is_called_by_mine(struct names *names, uint32_t stack, const struct name_frame *frame)
{
	const struct name_frames frames = names_frames(names, stack);
	const uint32_t parent = model_stacks(names->model)[stack].parent;

	assert(stack >= CAPTURE_STACK_FIRST);
	assert(frame >= frames.frames && frame < frames.frames + frames.count);
	if (frames_have_mine(names, frame + 1, (size_t)(frames.frames + frames.count - frame) - 1))
		return true;
	return parent < names->has_mine.count && names->has_mine.items[parent];
}
