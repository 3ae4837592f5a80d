/*
 * marks: moments named by the program, and what was alive then.
 */
#include "answer/about.h"
#include "answer/note.h"
#include "questions/questions.h"

struct mark {
	uint64_t ns;
	uint64_t thread;
	const char *name;
	uint64_t kind;
	uint64_t live_bytes, live_count, rss_bytes;
	uint32_t stack;
};

struct marks {
	struct shape_rows marks;
	struct quality quality;
};

static const struct member mark_members[] = {
	MEMBER(struct mark, ns, NS, "when", .title = "time"),
	MEMBER(struct mark, thread, PLAIN, "id of the thread that set it", .title = "thread",
	       .nullable = true),
	MEMBER(struct mark, name, TEXT, NULL, .title = "mark", .left = true),
	MEMBER(struct mark, kind, PLAIN, "0: a moment; others are reserved", .is_data = true),
	MEMBER(struct mark, live_bytes, BYTES, "alive then", .title = "live"),
	MEMBER(struct mark, live_count, COUNT, "blocks alive then", .title = "blocks"),
	MEMBER(struct mark, rss_bytes, BYTES, "resident, by the newest sample before it",
	       .title = "resident", .nullable = true),
	MEMBER(struct mark, stack, CALLS, "functions, the innermost first", .title = "called from",
	       .left = true, .elastic = true),
};
static const struct shape shape_mark = SHAPE("ReportMark", struct mark, mark_members);

static const struct member marks_members[] = {
	MEMBER(struct marks, marks, ROWS, NULL, .shape = &shape_mark),
	MEMBER(struct marks, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_marks = SHAPE("Marks", struct marks, marks_members);

/* Live bytes at a moment, over all stacks; events at that moment are included. */
static struct model_sum live_at(const struct model *model, uint64_t ns,
				struct model_stack_moment *moments)
{
	struct model_sum live = { 0 };

	model_stack_moments(model, ns + 1, moments);
	for (size_t i = 0; i < model_stack_count(model); i++) {
		live.count += moments[i].allocated.count - moments[i].freed.count;
		live.bytes += moments[i].allocated.bytes - moments[i].freed.bytes;
	}
	return live;
}

/* The newest sample of resident bytes up to this time. */
static uint64_t rss_at(const struct model *model, uint64_t ns)
{
	uint64_t rss = SHAPE_NONE;

	for (size_t i = 0; i < model_usage_count(model) && model_usages(model)[i].ns <= ns; i++)
		if (model_usages(model)[i].usage.rss_bytes != UINT64_MAX)
			rss = model_usages(model)[i].usage.rss_bytes;
	return rss;
}

static void mark_fill(const struct model *model, const struct model_note *note,
		      struct model_stack_moment *moments, struct mark *mark)
{
	const struct model_sum live = live_at(model, note->ns, moments);

	*mark = (struct mark) {
		.ns = note->ns,
		.thread = note_tid(model, note->thread),
		.name = note->text,
		.kind = note->mark.kind,
		.live_bytes = live.bytes,
		.live_count = live.count,
		.rss_bytes = rss_at(model, note->ns),
		.stack = note->stack,
	};
}

static struct err *ask(const struct asked *asked, void *result)
{
	const struct model *model = asked->model;
	const uint64_t top = asked->with->top ? asked->with->top : UINT64_MAX;
	struct model_stack_moment *moments =
		arena_array(asked->arena, model_stack_count(model), sizeof(*moments));
	struct mark *items = arena_array(asked->arena, model_note_count(model) + 1, sizeof(*items));
	struct marks *marks = result;
	const struct model_note *note;
	size_t at = 0, count = 0;

	if (!moments || !items)
		return err_nomem();
	while (count < top && (note = note_next(asked, TAPE_EXT_MARK, TAPE_EXT_MARK, &at)))
		mark_fill(model, note, moments, &items[count++]);
	marks->marks = (struct shape_rows) { items, count };
	return quality_find(asked, &marks->quality);
}

const struct question question_marks = {
	.name = "marks",
	.summary = "the moments that the program named, and what was alive then",
	.shape = &shape_marks,
	.depth = MODEL_FULL,
	.takes = TAKES(top),
	.has_window = true,
	.instead = "--from and --until choose by time",
	.ask = ask,
};
