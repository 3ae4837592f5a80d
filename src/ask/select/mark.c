#include "select/mark.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"

static bool is_called(const struct model_note *note, const char *text, size_t len)
{
	return note->type == TAPE_EXT_MARK && strlen(note->text) == len &&
	       memcmp(note->text, text, len) == 0;
}

static bool first_find(const struct model *model, const char *text, size_t len, uint64_t *ns_ret)
{
	const struct model_note *notes = model_notes(model);

	for (size_t i = 0; i < model_note_count(model); i++) {
		if (is_called(&notes[i], text, len)) {
			*ns_ret = notes[i].ns;
			return true;
		}
	}
	return false;
}

/* "NAME#-3": the length of the name, and 3 from the end. */
static bool number_parse(const char *text, size_t len, size_t *name_len_ret, uint64_t *number_ret,
			 bool *is_back_ret)
{
	const char *hash = memrchr(text, '#', len);
	const size_t name_len = hash ? (size_t)(hash - text) : 0;
	const bool is_back = hash && name_len + 1 < len && hash[1] == '-';
	const size_t digits_at = name_len + 1 + is_back;
	char digits[16];

	if (!hash || digits_at >= len || len - digits_at >= sizeof(digits))
		return false;
	memcpy(digits, text + digits_at, len - digits_at);
	digits[len - digits_at] = '\0';
	if (!str_parse_u64(digits, number_ret) || *number_ret == 0)
		return false;
	*name_len_ret = name_len;
	*is_back_ret = is_back;
	return true;
}

bool mark_find(const struct model *model, const char *text, size_t len, uint64_t *ns_ret)
{
	const struct model_note *notes = model_notes(model);
	const size_t count = model_note_count(model);
	size_t name_len;
	uint64_t number;
	bool is_back;

	if (first_find(model, text, len, ns_ret))
		return true;
	if (!number_parse(text, len, &name_len, &number, &is_back))
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct model_note *note = &notes[is_back ? count - 1 - i : i];
		const bool is_any = name_len == 0 && note->type == TAPE_EXT_MARK;

		if ((is_any || is_called(note, text, name_len)) && --number == 0) {
			*ns_ret = note->ns;
			return true;
		}
	}
	return false;
}

struct mark_place mark_place_of(const struct model *model, const struct model_note *mark)
{
	const struct model_note *notes = model_notes(model);
	const size_t len = strlen(mark->text);
	struct mark_place place = { 0 };

	assert(mark->type == TAPE_EXT_MARK);
	for (size_t i = 0; i < model_note_count(model); i++) {
		place.count += is_called(&notes[i], mark->text, len);
		if (&notes[i] == mark)
			place.number = place.count;
	}
	assert(place.number > 0);
	return place;
}

static size_t number_among_all(const struct model *model, const struct model_note *mark)
{
	size_t number = 0;

	for (const struct model_note *note = model_notes(model); note <= mark; note++)
		number += note->type == TAPE_EXT_MARK;
	return number;
}

const char *mark_moment(const struct model *model, const struct model_note *mark,
			struct arena *arena)
{
	const struct mark_place place = mark_place_of(model, mark);
	const char *name = place.number == 1
				   ? mark->text
				   : arena_printf(arena, "%s#%zu", mark->text, place.number);
	uint64_t ns;

	if (!name)
		return NULL;
	/* Another mark may be called so, and mark() is no moment. */
	if (name[0] && mark_find(model, name, strlen(name), &ns) && ns == mark->ns)
		return arena_printf(arena, "mark(%s)", name);
	return arena_printf(arena, "mark(#%zu)", number_among_all(model, mark));
}
