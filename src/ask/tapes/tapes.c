#include "tapes/tapes.h"

#include <assert.h>

#include "answer/program.h"
#include "base/str.h"

static const char *const kinds[] = {
	[FOLDER_TAPE] = "tape",
	[FOLDER_SESSION] = "session",
	[FOLDER_UNREADABLE] = "unreadable",
};

static struct err *whole_fill(const struct gist *gist, struct arena *arena, struct tapes_row *row)
{
	const struct model_process process = {
		.end_kind = gist->end_kind,
		.end_status = gist->end_status,
	};
	CLEAN(str_deinit) struct str end = { 0 };

	program_end_add(&end, &process);
	row->end = arena_strdup(arena, str_text(&end));
	row->duration_ns = gist->duration_ns;
	row->peak_bytes = gist->peak_bytes;
	row->live_bytes = gist->live_bytes;
	row->curve = (struct shape_numbers) { gist->curve, GIST_POINTS };
	return row->end && !end.failed ? NULL : err_nomem();
}

static struct err *row_fill(const struct gists_row *from, uint64_t now_ns, struct arena *arena,
			    struct tapes_row *row)
{
	const struct folder_tape *tape = from->tape;
	const struct gist *gist = from->gist;

	*row = (struct tapes_row) {
		.id = tape->id,
		.path = tape->path,
		.file = tape->file,
		.kind = kinds[tape->kind],
		.live = tape->is_live,
		.link = tape->is_link,
		.program = gist ? gist->program : NULL,
		.command = gist ? gist->command : NULL,
		.host = gist ? gist->host : NULL,
		.release = gist ? gist->release : NULL,
		.pid = tape->kind == FOLDER_TAPE ? tape->pid : SHAPE_NONE,
		.age_ns = now_ns > tape->written_ns ? now_ns - tape->written_ns : 0,
		.size_bytes = tape->bytes,
		.tape_count = tape->kind == FOLDER_SESSION ? tape->tape_count : SHAPE_NONE,
		.duration_ns = SHAPE_NONE,
		.peak_bytes = SHAPE_NONE,
		.live_bytes = SHAPE_NONE,
		.trouble = from->trouble,
	};
	if (tape->begin_ns != 0) {
		row->begin_realtime_ns =
			arena_printf(arena, "%llu", (unsigned long long)tape->begin_ns);
		if (!row->begin_realtime_ns)
			return err_nomem();
	}
	return gist && gist->depth == GIST_WHOLE ? whole_fill(gist, arena, row) : NULL;
}

struct err *tapes_make(const struct gists_view *view, const uint32_t *chosen, size_t chosen_count,
		       uint64_t match_count, uint64_t now_ns, struct arena *arena,
		       struct tapes_answer *answer)
{
	struct tapes_row *rows = arena_array(arena, chosen_count + 1, sizeof(*rows));
	struct err *err = rows ? NULL : err_nomem();

	for (size_t i = 0; i < chosen_count && !err; i++) {
		assert(chosen[i] < view->count);
		err = row_fill(&view->rows[chosen[i]], now_ns, arena, &rows[i]);
	}
	*answer = (struct tapes_answer) {
		.folder = view->path,
		.tapes = { .items = rows, .count = chosen_count },
		.match_count = match_count,
		.unread = view->waiting_count,
	};
	for (size_t i = 0; i < view->count; i++) {
		if (view->rows[i].tape->is_link)
			continue;
		answer->count++;
		answer->size_bytes += view->rows[i].tape->bytes;
	}
	return err;
}
