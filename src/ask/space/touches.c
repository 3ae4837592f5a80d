#include "space/touches.h"

#include <assert.h>

#include "space/mappings_image.h"
#include "space/space_pages.h"

/* --- words ------------------------------------------------------------------------------------- */

static const struct touches_words writes = {
	.noticed = "writes",
	.done = "written to",
	.precision = "what was only read counts as not touched",
};

static const struct touches_words uses = {
	.noticed = "reads_and_writes",
	.done = "used",
	.precision = "reads and writes are seen, of a huge page as a whole",
};

const char *const touches_noticed[] = { "writes", "reads_and_writes", NULL };

/* --- looks ------------------------------------------------------------------------------------- */

void touches_deinit(struct touches *touches)
{
	touches_look_vec_deinit(&touches->looks);
	*touches = (struct touches) { 0 };
}

struct finding {
	struct touches *touches;
	struct touches_look look; /* being read */
	uint32_t next_part;	  /* 0: none is */
};

static bool take_part(struct finding *finding, const struct model_note *note, size_t at)
{
	struct touches *touches = finding->touches;
	const struct tape_touched *touched = &note->touched;

	if (touched->kind != TAPE_TOUCHED_USES)
		touches->words = &writes;
	if (touched->part == 0)
		finding->look = (struct touches_look) {
			.ns = model_ns(touches->model, touched->begin_ticks),
			.is_first = touched->flags & TAPE_TOUCHED_FIRST,
			.is_exit = touched->flags & TAPE_TOUCHED_EXIT,
			.gap_pages = touched->gap_pages,
			.first_note = at,
		};
	else if (touched->part != finding->next_part) { /* a part was lost, and so the look */
		finding->next_part = 0;
		return true;
	}
	finding->next_part = touched->part + 1;
	finding->look.last_note = at;
	if (!(touched->flags & TAPE_TOUCHED_LAST))
		return true;
	finding->next_part = 0;
	if (touches->looks.count == 0 || finding->look.is_first)
		touches->first_ns = finding->look.ns;
	return touches_look_vec_push(&touches->looks, finding->look);
}

struct err *touches_find(const struct model *model, struct touches *touches_ret)
{
	CLEAN(touches_deinit) struct touches own = { .model = model, .words = &uses };
	struct finding finding = { .touches = &own };

	for (size_t i = 0; i < model_note_count(model); i++) {
		const struct model_note *note = &model_notes(model)[i];

		if (note->type != TAPE_EXT_TOUCHED)
			continue;
		own.period_ns = note->touched.period_ns;
		if (note->touched.flags & TAPE_TOUCHED_TROUBLE)
			own.trouble = note->text;
		else if (note->touched.flags & TAPE_TOUCHED_BLIND)
			own.blind = note->text;
		else if (!take_part(&finding, note, i))
			return err_nomem();
	}
	*touches_ret = own;
	own = (struct touches) { 0 };
	return NULL;
}

bool touches_exist(const struct model *model)
{
	for (size_t i = 0; i < model_note_count(model); i++) {
		const struct model_note *note = &model_notes(model)[i];

		if (note->type == TAPE_EXT_TOUCHED && note->touched.flags & TAPE_TOUCHED_LAST &&
		    !(note->touched.flags & (TAPE_TOUCHED_TROUBLE | TAPE_TOUCHED_BLIND)))
			return true;
	}
	return false;
}

struct err *touches_need(const struct touches *touches)
{
	if (touches->looks.count > 0)
		return NULL;
	if (touches->trouble)
		return err_new(ERR_NOT_FOUND, "pages could not be watched: %s", touches->trouble);
	return err_new(ERR_NOT_FOUND,
		       "the tape does not say when memory was touched; memtape record --staleness "
		       "writes that, of the first process only");
}

/* --- pages ------------------------------------------------------------------------------------- */

void touches_state_deinit(struct touches_state *state)
{
	touches_run_vec_deinit(&state->runs);
	*state = (struct touches_state) { 0 };
}

size_t touches_run_at(const struct touches_state *state, uint64_t address)
{
	size_t low = 0, high = state->runs.count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (state->runs.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Behind all others; adjacent equal ones are joined. */
static bool run_add(struct touches_applying *applying, uint64_t begin, uint64_t end, uint64_t ns)
{
	struct touches_run_vec *runs = &applying->runs;

	if (begin >= end)
		return true;
	if (runs->count > 0) {
		struct touches_run *last = &runs->items[runs->count - 1];

		if (last->end > begin) /* lines of a damaged tape */
			return true;
		if (last->end == begin && last->ns == ns) {
			last->end = end;
			return true;
		}
	}
	return touches_run_vec_push(runs, (struct touches_run) { begin, end, ns });
}

/* Pages that the look did not find touched are as they were before it. */
static bool kept_add(struct touches_applying *applying, uint64_t begin, uint64_t end)
{
	const struct touches_run_vec *before = &applying->before->runs;

	while (begin < end) {
		const struct touches_run *run;
		uint64_t until = end, ns = TOUCHES_NEVER;

		while (applying->at < before->count && before->items[applying->at].end <= begin)
			applying->at++;
		run = applying->at < before->count ? &before->items[applying->at] : NULL;
		if (run && run->begin <= begin) {
			until = u64_min(end, run->end);
			ns = run->ns;
		} else if (run) {
			until = u64_min(end, run->begin);
		}
		if (!run_add(applying, begin, until, ns))
			return false;
		begin = until;
	}
	return true;
}

/* A kind and a count of pages, at most `most`; false: the line ends, or is malformed. */
static bool take_run(const char **ptr, uint64_t most, char *kind_ret, uint64_t *pages_ret)
{
	const char *at = *ptr;
	uint64_t pages = 0;

	if (!*at || !strchr("+=-", *at))
		return false;
	for (*kind_ret = *at++; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); at++)
		pages = u64_min(pages, most) * 16 +
			(uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
	*pages_ret = u64_min(pages, most);
	*ptr = at;
	return true;
}

static bool line_apply(struct touches_applying *applying, const char *line)
{
	uint64_t at, end, pages;
	const char *runs = mappings_image_range(line, &at, &end);
	bool ok = true;
	char kind;

	while (ok && runs && take_run(&runs, (end - at) / SPACE_PAGE, &kind, &pages)) {
		const uint64_t until = at + pages * SPACE_PAGE;

		if (kind == '=')
			ok = kept_add(applying, at, until);
		else
			ok = run_add(applying, at, until,
				     kind == '+' ? applying->ns : TOUCHES_NEVER);
		at = until;
	}
	return ok;
}

bool touches_apply(struct touches_applying *applying, const char *line)
{
	for (; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (!line_apply(applying, line))
			return false;
	return true;
}

static struct err *look_apply(const struct touches *touches, const struct touches_look *look,
			      struct touches_state *state)
{
	const struct touches_state none = { 0 };
	struct touches_applying applying = { .before = look->is_first ? &none : state,
					     .ns = look->ns };
	bool ok = true;

	for (size_t i = look->first_note; ok && i <= look->last_note; i++) {
		const struct model_note *note = &model_notes(touches->model)[i];

		if (note->type == TAPE_EXT_TOUCHED &&
		    !(note->touched.flags & (TAPE_TOUCHED_TROUBLE | TAPE_TOUCHED_BLIND)))
			ok = touches_apply(&applying, note->text);
	}
	touches_run_vec_deinit(&state->runs);
	state->runs = applying.runs;
	return ok ? NULL : err_nomem();
}

struct err *touches_advance(const struct touches *touches, size_t look, struct touches_state *state)
{
	struct err *err = NULL;

	assert(look < touches->looks.count);
	assert(state->next <= look + 1);
	for (; state->next <= look && !err; state->next++)
		err = look_apply(touches, &touches->looks.items[state->next], state);
	return err;
}
