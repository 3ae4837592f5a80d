#include "questions/groups.h"

#include "groups/group_filter.h"
#include "questions/questions.h"

enum { TOP_DEFAULT = 100 };

/* --- shapes ----------------------------------------------------------------------------------- */

static const struct member saving_members[] = {
	MEMBER(struct saving, saves_bytes, BYTES, "by how much the peak is lower without it",
	       .title = "saves"),
	MEMBER(struct saving, peak_without_bytes, BYTES, "the peak that is left",
	       .title = "peak without"),
	MEMBER(struct saving, peak_without_ns, NS, "when that is; null: nothing else was allocated",
	       .title = "at", .nullable = true),
};
static const struct shape shape_saving = SHAPE("Saving", struct saving, saving_members);

static const struct member row_members[] = {
	MEMBER(struct saving_row, title, TEXT, "what it is called", .is_wide = true),
	MEMBER(struct saving_row, saving, FLAT, NULL, .shape = &shape_saving),
	MEMBER(struct saving_row, share, SHARE, "of the peak that it saves", .title = "of peak"),
	MEMBER(struct saving_row, peak_bytes, BYTES,
	       "its own bytes at the peak; it saves less where another peak is nearly as high"),
	MEMBER(struct saving_row, place, FLAT, NULL, .shape = &shape_place, .is_wide = true),
	MEMBER(struct saving_row, filter, TEXT, "selects just its allocations", .nullable = true,
	       .is_data = true),
	MEMBER(struct saving_row, stack, FRAMES,
	       "the one with most bytes; null in groups that are not made of stacks",
	       .nullable = true, .is_data = true),
};
static const struct shape shape_row = SHAPE("SavingRow", struct saving_row, row_members);

static const struct member answer_members[] = {
	MEMBER(struct savings_answer, peak_bytes, BYTES, "most bytes alive at once"),
	MEMBER(struct savings_answer, peak_ns, NS, "when for the first time", .nullable = true),
	MEMBER(struct savings_answer, selected, OBJECT,
	       "without all that the filter lets through; absent if everything is",
	       .optional = true, .shape = &shape_saving),
	MEMBER(struct savings_answer, by, TEXT, "what the allocations of a group have in common"),
	MEMBER(struct savings_answer, total_count, COUNT, "groups that save something"),
	MEMBER(struct savings_answer, savings, ROWS, "these groups, the largest saving first",
	       .shape = &shape_row),
	MEMBER(struct savings_answer, about, FLAT, NULL, .shape = &shape_about),
};
static const struct shape shape_answer = SHAPE("Savings", struct savings_answer, answer_members);

/* --- the answer ------------------------------------------------------------------------------- */

static struct err *selected_find(const struct asked *asked, const struct peak *peak,
				 const struct peak *without, const struct saving **saving_ret)
{
	struct saving *saving;

	if (selection_is_all(asked->selection))
		return NULL;
	saving = arena_array(asked->arena, 1, sizeof(*saving));
	if (!saving)
		return err_nomem();
	*saving = (struct saving) { peak->bytes - without->bytes, without->bytes, without->ns };
	*saving_ret = saving;
	return NULL;
}

static struct err *row_fill(const struct asked *asked, const struct groups *groups, size_t i,
			    uint64_t peak_bytes, struct saving_row *row)
{
	const struct group *group = &groups->items[i];
	CLEAN(str_deinit) struct str title = { 0 };

	group_title(asked->selection, groups, group, &title);
	*row = (struct saving_row) {
		.title = arena_strdup(asked->arena, str_text(&title)),
		.place = place_of(asked->model, asked->names, group->site),
		.saving = { group->saves, group->peak_without, group->peak_without_ns },
		.share = { group->saves, peak_bytes },
		.peak_bytes = group->matched.sums.peak.bytes,
		.stack = group->site ? group->stack : CAPTURE_STACK_NONE,
	};
	return row->title ? NULL : err_nomem();
}

/* Sorted: those that save nothing are at the end. */
static size_t saving_count(const struct groups *groups)
{
	size_t count = 0;

	while (count < groups->count && groups->items[count].saves > 0)
		count++;
	return count;
}

static struct err *rows_find(const struct asked *asked, struct groups *groups,
			     struct savings_answer *answer)
{
	const uint64_t top = asked->with->top ? asked->with->top : TOP_DEFAULT;
	const struct group_filters *filters;
	struct saving_row *rows;
	struct err *err;

	answer->total_count = saving_count(groups);
	groups->count = u64_min(answer->total_count, top);
	rows = arena_array(asked->arena, groups->count + 1, sizeof(*rows));
	if (!rows)
		return err_nomem();
	err = group_filters_make(asked->selection, groups, asked->arena, &filters);
	for (size_t i = 0; i < groups->count && !err; i++) {
		err = row_fill(asked, groups, i, answer->peak_bytes, &rows[i]);
		if (!err)
			rows[i].filter = group_filter(filters, i, asked->arena);
	}
	answer->savings = (struct shape_rows) { rows, groups->count };
	return err;
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct savings_answer *answer = result;
	const struct group_settings settings = {
		.by = (enum group_by)asked->with->by,
		.mode = asked->mode,
		.order = { .key = GROUP_SAVES },
	};
	struct groups groups = { 0 };
	struct peak peak, without;
	struct err *err = groups_savings(asked->selection, &peak, &without);

	if (err)
		return err;
	answer->by = group_by_words[settings.by];
	answer->peak_bytes = peak.bytes;
	answer->peak_ns = peak.ns;
	err = selected_find(asked, &peak, &without, &answer->selected);
	if (!err)
		err = groups_find(asked->selection, &settings, asked->arena, &groups);
	if (!err)
		err = rows_find(asked, &groups, answer);
	return err ? err : about_find(asked, &answer->about);
}

const struct question question_savings = {
	.name = "savings",
	.summary = "the peak without each function: what would removing it save",
	.shape = &shape_answer,
	.depth = MODEL_FULL,
	.takes = TAKES(by) | TAKES(top),
	.selects = true,
	.ask = ask,
};
