#include "select/members.h"

#include <assert.h>

#include "base/map.h"
#include "model/names.h"

/* The second line of its record's text. */
static const char *name_of(const struct model_note *note, struct arena *arena)
{
	const char *begin = strchr(note->text, '\n');

	return begin ? arena_text(arena, begin + 1, strcspn(begin + 1, "\n")) : "";
}

static size_t count_members(const struct model *model)
{
	size_t count = 0;

	for (size_t i = 0; i < model_note_count(model); i++)
		count += model_notes(model)[i].type == TAPE_EXT_MEMBER;
	return count;
}

/*
 * Inwards from the outermost frames: parents have lower numbers. Those of stacks that are cut short
 * have the same address below another root.
 */
static struct err *inwards_find(const struct model *model, const struct members *members,
				uint32_t *of_stack)
{
	const struct capture_stack *stacks = model_stacks(model);
	CLEAN(map_deinit) struct map by_pc = { 0 };

	for (size_t i = CAPTURE_STACK_FIRST; i < model_stack_count(model); i++) {
		const uint64_t *known = NULL;
		uint64_t *place;

		if (stacks[i].parent >= CAPTURE_STACK_FIRST) {
			of_stack[i] = of_stack[stacks[i].parent];
		} else if (stacks[i].parent == CAPTURE_STACK_TRUNCATED) {
			known = map_find(&by_pc, stacks[i].pc);
			of_stack[i] = known ? (uint32_t)*known : 0;
		} else {
			place = map_put(&by_pc, stacks[i].pc, NULL);
			if (!place)
				return err_nomem();
			*place = of_stack[i];
		}
		assert(of_stack[i] < members->count);
	}
	return NULL;
}

static struct err *stacks_find(const struct model *model, struct arena *arena,
			       struct members *members)
{
	const size_t stack_count = model_stack_count(model);
	uint32_t *of_stack = arena_array(arena, stack_count, sizeof(*of_stack));
	struct tree_member *items = arena_array(arena, members->count, sizeof(*items));
	uint32_t next = 0;

	if (!of_stack || !items)
		return err_nomem();
	for (size_t i = 0; i < model_note_count(model); i++) {
		const struct model_note *note = &model_notes(model)[i];

		if (note->type != TAPE_EXT_MEMBER)
			continue;
		items[next] = (struct tree_member) { name_of(note, arena), note->member.pid };
		if (!items[next].name)
			return err_nomem();
		if (note->stack < stack_count)
			of_stack[note->stack] = next;
		next++;
	}
	members->items = items;
	members->of_stack = of_stack;
	return inwards_find(model, members, of_stack);
}

struct err *members_find(const struct model *model, struct arena *arena, struct members *members)
{
	const struct model_process *process = model_process(model);
	struct tree_member *only;

	*members = (struct members) { .count = count_members(model) };
	if (members->count > 0)
		return stacks_find(model, arena, members);
	only = arena_new(arena, struct tree_member);
	if (!only)
		return err_nomem();
	only->name = names_short_path(process->argc > 0 ? process->argv[0] : process->exe);
	only->pid = process->pid;
	members->items = only;
	members->count = 1;
	return NULL;
}
