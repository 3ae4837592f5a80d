#include <assert.h>

#include "answer/about.h"
#include "findings/pauses.h"

struct pause_row {
	uint64_t begin_ns, end_ns;
	const char *by;
};

static const struct member pause_members[] = {
	MEMBER(struct pause_row, begin_ns, NS, NULL, .title = "Paused"),
	MEMBER(struct pause_row, end_ns, NS, "null: it was not resumed", .title = "Resumed",
	       .nullable = true),
	MEMBER(struct pause_row, by, TEXT, "who or what paused it", .left = true,
	       .words = pause_by_words),
};
const struct shape shape_pause = SHAPE("RecordingPause", struct pause_row, pause_members);

struct err *paused_find(const struct model *model, struct arena *arena, size_t max,
			struct paused *paused)
{
	struct pause pause;
	struct pause_row *items;
	size_t at = 0, first;

	assert(max > 0);
	*paused = (struct paused) { .ns = pauses_ns(model) };
	while (pauses_next(model, &at, &pause))
		paused->count++;
	if (paused->count == 0)
		return NULL;
	paused->is_at_end = pause.end_ns == MODEL_NEVER;
	paused->rows.count = u64_min(paused->count, max);
	items = arena_array(arena, paused->rows.count, sizeof(*items));
	if (!items)
		return err_nomem();
	first = paused->count - paused->rows.count;
	at = 0;
	for (size_t i = 0; pauses_next(model, &at, &pause); i++) {
		if (i >= first)
			items[i - first] = (struct pause_row) {
				pause.begin_ns,
				pause.end_ns == MODEL_NEVER ? SHAPE_NONE : pause.end_ns,
				pause_by_words[pause.by],
			};
	}
	paused->rows.items = items;
	return NULL;
}
