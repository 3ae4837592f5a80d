#include "sums/walk.h"

#include <assert.h>

#include "sums/name_hash.h"

static const struct name_frame truncated_frame = { .name = NAME_TRUNCATED };
static const struct name_frame no_stack_frame = { .name = NAME_NO_STACK };

const char *const walk_mode_words[] = { "my", "exact", "all", NULL };

struct walk walk_begin(const struct model *model, struct names *names, uint32_t stack,
		       enum walk_mode mode)
{
	struct walk walk = { .model = model, .names = names, .mode = mode, .stack = stack };

	assert(mode <= WALK_ALL);
	assert(stack < model_stack_count(model));
	if (stack >= CAPTURE_STACK_FIRST)
		walk.frames = names_frames(names, stack);
	return walk;
}

bool walk_hides(enum walk_mode mode, struct names *names, uint32_t stack,
		const struct name_frame *frame)
{
	assert(mode <= WALK_ALL);
	if (mode == WALK_ALL)
		return false;
	if (frame->is_glue)
		return true;
	switch (names_get(names, frame->name)->role) {
	case NAME_MINE:
		return false;
	case NAME_LIBRARY:
		return mode == WALK_MY && names_is_called_by_mine(names, stack, frame);
	case NAME_ALLOCATOR:
	case NAME_START:
		break;
	}
	return true;
}

static bool modules_have(const char *modules, const char *module)
{
	const size_t len = strlen(module);

	for (const char *at = modules; len > 0 && *at; at += *at == '/') {
		const size_t part = strcspn(at, "/");

		if (part == len && memcmp(at, module, len) == 0)
			return true;
		at += part;
	}
	return false;
}

bool walk_is_hidden(const struct walk_hidden *hidden, const struct model *model,
		    const struct names *names, const struct name_frame *frame)
{
	const struct name *name;
	uint64_t hash;

	if (!hidden)
		return false;
	name = names_get(names, frame->name);
	if (modules_have(hidden->modules, name->module_short))
		return true;
	hash = hidden->function_count > 0 ? name_hash(model, name) : 0;
	for (size_t i = 0; i < hidden->function_count; i++) {
		if (hidden->functions[i] == hash)
			return true;
	}
	return false;
}

/* The frame to return when no addresses are left. */
static const struct name_frame *walk_end(struct walk *walk)
{
	if (walk->is_ended)
		return NULL;
	walk->is_ended = true;
	if (walk->stack == CAPTURE_STACK_TRUNCATED)
		return &truncated_frame;
	if (walk->stack == CAPTURE_STACK_NONE || (!walk->has_shown && !walk->hidden))
		return &no_stack_frame;
	return walk->has_shown ? NULL : walk->hidden;
}

static void hidden_note(struct walk *walk, const struct name_frame *frame)
{
	walk->hidden = frame;
	if (names_get(walk->names, frame->name)->role == NAME_LIBRARY)
		walk->via = frame;
}

const struct name_frame *walk_next(struct walk *walk)
{
	while (walk->stack >= CAPTURE_STACK_FIRST) {
		assert(walk->at <= walk->frames.count);
		while (walk->at < walk->frames.count) {
			const struct name_frame *frame = &walk->frames.frames[walk->at++];

			if (walk_hides(walk->mode, walk->names, walk->stack, frame) ||
			    walk_is_hidden(walk->hidden_too, walk->model, walk->names, frame)) {
				hidden_note(walk, frame);
				continue;
			}
			walk->has_shown = true;
			return frame;
		}
		walk->stack = model_stacks(walk->model)[walk->stack].parent;
		walk->at = 0;
		if (walk->stack >= CAPTURE_STACK_FIRST)
			walk->frames = names_frames(walk->names, walk->stack);
	}
	return walk_end(walk);
}

const struct name_frame *walk_next_run(struct walk *walk, bool same_line, uint64_t *count_ret)
{
	const struct name_frame *first = walk_next(walk);
	uint64_t count = 1;

	while (first) {
		struct walk ahead = *walk;
		const struct name_frame *frame = walk_next(&ahead);

		if (!frame || frame->name != first->name ||
		    (same_line && frame->line != first->line))
			break;
		*walk = ahead;
		count++;
	}
	*count_ret = count;
	return first;
}
