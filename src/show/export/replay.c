/*
 * replay: the bare sequence of calls, one per line, for programs that repeat them: to test
 * allocators with this load without the program. Described in docs/replay-format.md.
 *
 * A realloc is one line if both of its blocks are written; otherwise the remaining free or
 * allocation. Memory: a batch of events and a bit per allocation.
 */
#include "export/events.h"
#include "export/export.h"
#include "export/text_file.h"

enum { FORMAT_VERSION = 1 };

struct replay {
	const struct export_context *context;
	struct text_file file;
	uint64_t *continued; /* a bit by row: reallocated to another block that is written */
	struct {
		uint64_t thread[MODEL_BATCH];
		uint64_t free_thread[MODEL_BATCH];
		uint64_t fn[MODEL_BATCH];
		uint64_t free_fn[MODEL_BATCH];
		uint64_t realloc_of[MODEL_BATCH];
	} batch;
};

static bool is_continued(const struct replay *replay, uint64_t row)
{
	return replay->continued[row / 64] >> row % 64 & 1;
}

static struct err *continued_find(struct replay *replay)
{
	const struct selection *selection = replay->context->selection;
	uint64_t rows[MODEL_BATCH], olds[MODEL_BATCH];
	uint64_t at = 0;
	size_t count;

	replay->continued =
		calloc(model_row_count(selection->model) / 64 + 1, sizeof(*replay->continued));
	if (!replay->continued)
		return err_nomem();
	while ((count = selection_next(selection, &at, rows)) > 0) {
		model_rows_gather(selection->model, MODEL_REALLOC_OF, rows, count, olds);
		for (size_t i = 0; i < count; i++) {
			if (olds[i] != MODEL_NO_ROW && selection_has(selection, olds[i]))
				replay->continued[olds[i] / 64] |= UINT64_C(1) << olds[i] % 64;
		}
	}
	return NULL;
}

static void line_begin(struct str *text, char kind, uint64_t ns, uint64_t thread, uint64_t block)
{
	str_add_char(text, kind);
	str_add_char(text, ' ');
	str_add_u64(text, ns);
	str_add_char(text, ' ');
	if (thread == MODEL_NO_THREAD)
		str_add_char(text, '-');
	else
		str_add_u64(text, thread);
	str_add_char(text, ' ');
	str_add_u64(text, block);
}

/* Comes last on a line: names of C++ have spaces. */
static void line_end(struct str *text, uint64_t fn)
{
	const char *name = tape_fn_name((enum tape_fn)fn);

	str_add_char(text, ' ');
	str_add(text, name ? name : "?");
	str_add_char(text, '\n');
}

static void event_write(struct replay *replay, const struct event *event, size_t i)
{
	const uint64_t old = replay->batch.realloc_of[i];
	struct str *text = &replay->file.text;

	if (event->is_free) {
		if (is_continued(replay, event->row))
			return;
		line_begin(text, 'f', event->ns, replay->batch.free_thread[i], event->row);
		line_end(text, replay->batch.free_fn[i]);
		return;
	}
	if (old != MODEL_NO_ROW && is_continued(replay, old)) {
		line_begin(text, 'r', event->ns, replay->batch.thread[i], event->row);
		text_file_u64(&replay->file, " ", event->bytes);
		text_file_u64(&replay->file, " ", old);
	} else {
		line_begin(text, 'a', event->ns, replay->batch.thread[i], event->row);
		text_file_u64(&replay->file, " ", event->bytes);
	}
	line_end(text, replay->batch.fn[i]);
}

static struct err *events_write(struct replay *replay)
{
	CLEAN(events_destroy)
	struct events *events = events_create(replay->context->selection);

	if (!events)
		return err_nomem();
	while (text_file_step(&replay->file) && events_next(events)) {
		events_read(events, MODEL_THREAD, replay->batch.thread);
		events_read(events, MODEL_FREE_THREAD, replay->batch.free_thread);
		events_read(events, MODEL_FN, replay->batch.fn);
		events_read(events, MODEL_FREE_FN, replay->batch.free_fn);
		events_read(events, MODEL_REALLOC_OF, replay->batch.realloc_of);
		for (size_t i = 0; i < events->count; i++)
			event_write(replay, &events->items[i], i);
	}
	return NULL;
}

static struct err *replay_write(const struct export_context *context, FILE *out)
{
	struct replay *replay = calloc(1, sizeof(*replay));
	struct err *err, *file_err;

	if (!replay)
		return err_nomem();
	replay->context = context;
	replay->file.out = out;
	err = continued_find(replay);
	text_file_u64(&replay->file, "memtape-replay ", FORMAT_VERSION);
	str_add_char(&replay->file.text, '\n');
	if (!err)
		err = events_write(replay);
	file_err = text_file_end(&replay->file);
	free(replay->continued);
	free(replay);
	if (err)
		err_destroy(file_err);
	return err ? err : file_err;
}

const struct export_format export_replay = {
	.name = "replay",
	.summary = "the bare sequence of calls, for programs that make them again",
	.suffix = ".replay",
	.kind = EXPORT_EVENTS,
	.depth = MODEL_FULL,
	.write = replay_write,
};
