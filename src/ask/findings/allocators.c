#include "findings/allocators.h"

#include <assert.h>
#include <string.h>

static bool is_same(const struct model_note *a, const struct model_note *b)
{
	return strcmp(a->text, b->text) == 0 &&
	       (a->allocator.address == b->allocator.address || a->allocator.address == 0);
}

/* Totals only grow: a later note includes an earlier one. */
static bool is_replaced(const struct model *model, size_t index)
{
	const struct model_note *notes = model_notes(model);

	for (size_t i = index + 1; i < model_note_count(model); i++)
		if (notes[i].type == TAPE_EXT_ALLOCATOR && is_same(&notes[index], &notes[i]))
			return true;
	return false;
}

static const char *path_at(const struct model *model, uint64_t address)
{
	for (size_t i = 0; i < model_module_count(model); i++) {
		const struct capture_module *module = model_module(model, i);

		if (address && address >= module->begin && address < module->end)
			return module->path;
	}
	return NULL;
}

static void line_copy(char *out, size_t room, const char *text, size_t len)
{
	len = len < room ? len : room - 1;
	memcpy(out, text, len);
	out[len] = '\0';
}

bool allocators_next(const struct model *model, size_t *at, struct allocator_seen *seen_ret)
{
	const struct model_note *notes = model_notes(model);

	assert(*at <= model_note_count(model));
	while (*at < model_note_count(model)) {
		const size_t index = (*at)++;
		const struct model_note *note = &notes[index];
		const size_t name_len = strcspn(note->text, "\n");
		const char *prefix = note->text + name_len + (note->text[name_len] == '\n');

		if (note->type != TAPE_EXT_ALLOCATOR || is_replaced(model, index))
			continue;
		*seen_ret = (struct allocator_seen) {
			.note = note,
			.path = path_at(model, note->allocator.address),
		};
		line_copy(seen_ret->name, sizeof(seen_ret->name), note->text, name_len);
		line_copy(seen_ret->prefix, sizeof(seen_ret->prefix), prefix,
			  strcspn(prefix, "\n"));
		return true;
	}
	return false;
}

bool allocators_hide(const struct model *model)
{
	struct allocator_seen seen;
	size_t at = 0;

	while (allocators_next(model, &at, &seen))
		if (seen.note->allocator.flags & TAPE_ALLOCATOR_PROGRAMS)
			return true;
	return false;
}

bool allocator_complaint(const struct allocator_seen *seen, struct str *out)
{
	const struct tape_allocator *allocator = &seen->note->allocator;

	assert(seen->note->type == TAPE_EXT_ALLOCATOR);
	if (allocator->flags & TAPE_ALLOCATOR_PROGRAMS && allocator->places > 0) {
		str_printf(out,
			   "malloc is the program's own: calls from its libraries are recorded, "
			   "calls inside %s are not",
			   seen->path ? seen->path : "the program");
		return true;
	}
	if (!(allocator->flags & TAPE_ALLOCATOR_ASKED) || allocator->places > 0)
		return false;
	str_printf(out, "allocator %s: ", seen->name);
	if (allocator->address == 0)
		str_printf(out,
			   "no object of the program exports %smalloc or its like; functions "
			   "inside an "
			   "executable are exported when it is linked with -rdynamic",
			   seen->prefix);
	else
		str_printf(
			out,
			"calls of %smalloc are bound inside %s and cannot be recorded; they can in "
			"a program that is linked with a shared library of it",
			seen->prefix, seen->path ? seen->path : "the object that exports it");
	return true;
}
