#include "findings/pauses.h"

#include <assert.h>

const char *const pause_by_words[] = { "start", "program", "signal", "control", "time", NULL };

static const struct model_note *next_note(const struct model *model, size_t *at, bool is_paused)
{
	while (*at < model_note_count(model)) {
		const struct model_note *note = &model_notes(model)[(*at)++];

		if (note->type == TAPE_EXT_PAUSE && (note->paused.is_paused != 0) == is_paused)
			return note;
	}
	return NULL;
}

bool pauses_next(const struct model *model, size_t *at, struct pause *pause)
{
	const struct model_note *begin = next_note(model, at, true);
	const struct model_note *end = begin ? next_note(model, at, false) : NULL;

	if (!begin)
		return false;
	*pause = (struct pause) {
		.begin_ns = begin->ns,
		.end_ns = end ? end->ns : MODEL_NEVER,
		.by = begin->paused.by <= TAPE_PAUSED_TIME ? (enum tape_paused_by)begin->paused.by
							   : TAPE_PAUSED_CONTROL,
	};
	return true;
}

bool pauses_hide_blocks(const struct model *model)
{
	size_t at = 0;

	return model_process(model)->flags & (TAPE_FLAG_FORKED | TAPE_FLAG_ATTACHED) ||
	       next_note(model, &at, true);
}

static uint64_t pause_ns(const struct model *model, const struct pause *pause)
{
	const uint64_t end_ns = u64_min(pause->end_ns, model_process(model)->duration_ns);

	return end_ns - u64_min(pause->begin_ns, end_ns);
}

uint64_t pauses_ns(const struct model *model)
{
	struct pause pause;
	uint64_t ns = 0;
	size_t at = 0;

	while (pauses_next(model, &at, &pause))
		ns += pause_ns(model, &pause);
	return ns;
}

void pauses_words(const struct model *model, struct str *out)
{
	struct pause pause;
	size_t at = 0, count = 0;

	while (pauses_next(model, &at, &pause))
		count++;
	if (count == 0)
		return;
	str_add(out, "recording was paused");
	if (count > 1) {
		str_add_char(out, ' ');
		str_add_grouped(out, count);
		str_add(out, " times");
	}
	str_add(out, ", for ");
	str_add_duration(out, pauses_ns(model));
	str_add(out, " of ");
	str_add_duration(out, model_process(model)->duration_ns);
	str_add(out, ": allocations from then are not on this tape");
}
