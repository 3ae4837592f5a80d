#include "questions/leaks.h"

#include <string.h>

#include "base/number.h"
#include "questions/questions.h"
#include "report/rank.h"

/* "Growing to the end: 1.4 MiB more every second" */
static const char *note_of(const struct leak_row *row, struct arena *arena)
{
	CLEAN(str_deinit) struct str note = { 0 };

	str_add(&note, growth_pattern_titles[row->kind]);
	if (row->rate_bytes >= 1) {
		str_add(&note, ": ");
		str_add_iec(&note, u64_of_double(row->rate_bytes));
		str_add(&note, " more every second");
	}
	return arena_strdup(arena, str_text(&note));
}

static struct err *leaks_text(const struct report_context *context, const void *answer, FILE *out)
{
	const struct leaks_answer *leaks = answer;
	const struct sites *found = &leaks->ranking.found;
	const struct leak_row *rows = leaks->sites.items;
	const char **notes = arena_array(context->arena, found->count + 1, sizeof(*notes));

	if (!notes)
		return err_nomem();
	memset(notes, 0, (found->count + 1) * sizeof(*notes));
	for (size_t i = 0; i < leaks->sites.count; i++)
		if (rows[i].pattern && rows[i].kind != PATTERN_UNKNOWN)
			notes[found->site_of[rows[i].site.stack]] =
				note_of(&rows[i], context->arena);
	return rank_noted_text(context, &leaks->ranking, notes, out);
}

const struct report report_leaks = {
	.question = &question_leaks,
	.text = leaks_text,
};
