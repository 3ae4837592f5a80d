/*
 * /api/v1/tape: one tape: its threads, modules and marks.
 */
#include "answer/diff.h"
#include "http/api_tapes.h"
#include "http/call.h"

struct thread_row {
	uint64_t tid;
	const char *name;
	uint64_t index;
};

struct module_row {
	const char *path, *name, *build_id, *symbols;
	uint64_t stacks;
};

struct mark_row {
	uint64_t ns;
	const char *text;
};

struct tape_detail {
	struct api_tape tape;
	struct shape_rows threads, modules, marks;
	const struct diff_pair *pair;
	uint64_t peak_ns, rss_peak_ns;
};

static const char *const symbol_words[] = {
	[SYMBOL_UNREAD] = "unread",    [SYMBOL_LINES] = "lines",    [SYMBOL_NAMES] = "functions",
	[SYMBOL_EXPORTS] = "exported", [SYMBOL_NONE] = "none",	    [SYMBOL_MISSING] = "gone",
	[SYMBOL_STALE] = "changed",    [SYMBOL_VIRTUAL] = "kernel", NULL
};

static const struct member thread_members[] = {
	MEMBER(struct thread_row, tid, PLAIN, NULL),
	MEMBER(struct thread_row, name, TEXT, NULL),
	MEMBER(struct thread_row, index, PLAIN, "among the threads"),
};
static const struct shape shape_thread = SHAPE("TapeThread", struct thread_row, thread_members);

static const struct member module_members[] = {
	MEMBER(struct module_row, path, TEXT, NULL),
	MEMBER(struct module_row, name, TEXT, "its last part"),
	MEMBER(struct module_row, build_id, TEXT, "hexadecimal digits", .nullable = true),
	MEMBER(struct module_row, symbols, TEXT, "what is known of its functions",
	       .words = symbol_words),
	MEMBER(struct module_row, stacks, COUNT, "stacks whose innermost frame is in it"),
};
static const struct shape shape_module = SHAPE("TapeModule", struct module_row, module_members);

static const struct member mark_members[] = {
	MEMBER(struct mark_row, ns, NS, "when"),
	MEMBER(struct mark_row, text, TEXT, "its name"),
};
static const struct shape shape_mark = SHAPE("TapeMark", struct mark_row, mark_members);

static const struct member detail_members[] = {
	MEMBER(struct tape_detail, tape, OBJECT, NULL, .shape = &api_shape_tape),
	MEMBER(struct tape_detail, threads, ROWS, NULL, .shape = &shape_thread),
	MEMBER(struct tape_detail, modules, ROWS, NULL, .shape = &shape_module),
	MEMBER(struct tape_detail, marks, ROWS, NULL, .shape = &shape_mark),
	MEMBER(struct tape_detail, pair, OBJECT, "the moments compared if none are given",
	       .shape = &shape_diff_pair),
	MEMBER(struct tape_detail, peak_ns, NS, "when most was alive"),
	MEMBER(struct tape_detail, rss_peak_ns, NS, "when most was resident; null: not known",
	       .nullable = true),
};
static const struct shape shape_detail = SHAPE("TapeDetail", struct tape_detail, detail_members);

static struct err *threads_fill(const struct model *model, struct arena *arena,
				struct shape_rows *rows)
{
	const size_t count = model_thread_count(model);
	struct thread_row *items = arena_array(arena, count, sizeof(*items));

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct model_thread *thread = model_thread(model, i);

		items[i] = (struct thread_row) { thread->tid, thread->name, i };
	}
	*rows = (struct shape_rows) { .items = items, .count = count };
	return NULL;
}

/* Number of stacks whose innermost frame is in each module. */
static uint64_t *count_stacks(struct call *call)
{
	const size_t module_count = model_module_count(call->model);
	const struct capture_stack *stacks = model_stacks(call->model);
	uint64_t *counts = arena_array(call->arena, module_count + 1, sizeof(*counts));

	for (size_t i = CAPTURE_STACK_FIRST; counts && i < model_stack_count(call->model); i++) {
		if (stacks[i].module < module_count)
			counts[stacks[i].module]++;
	}
	return counts;
}

static struct err *build_id_fill(const struct capture_module *module, struct arena *arena,
				 const char **text_ret)
{
	CLEAN(str_deinit) struct str id = { 0 };

	if (module->build_id_bytes == 0)
		return NULL;
	for (size_t i = 0; i < module->build_id_bytes; i++)
		str_printf(&id, "%02x", module->build_id[i]);
	*text_ret = arena_strdup(arena, str_text(&id));
	return *text_ret ? NULL : err_nomem();
}

static struct err *modules_fill(struct call *call, struct shape_rows *rows)
{
	const size_t count = model_module_count(call->model);
	const uint64_t *stack_counts = count_stacks(call);
	struct module_row *items = arena_array(call->arena, count, sizeof(*items));
	struct names *names = NULL;
	struct err *err = stack_counts && items ? call_names(call, &names) : err_nomem();

	for (size_t i = 0; i < count && !err; i++) {
		items[i].path = names_module_path(names, i);
		items[i].name = names_short_path(items[i].path);
		items[i].symbols = symbol_words[names_module_state(names, i)];
		items[i].stacks = stack_counts[i];
		err = build_id_fill(model_module(call->model, i), call->arena, &items[i].build_id);
	}
	*rows = (struct shape_rows) { .items = items, .count = count };
	return err;
}

static struct err *marks_fill(const struct model *model, struct arena *arena,
			      struct shape_rows *rows)
{
	const struct model_note *notes = model_notes(model);
	struct mark_row *items = arena_array(arena, model_note_count(model), sizeof(*items));
	size_t count = 0;

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < model_note_count(model); i++)
		if (notes[i].type == TAPE_EXT_MARK)
			items[count++] = (struct mark_row) { notes[i].ns, notes[i].text };
	*rows = (struct shape_rows) { .items = items, .count = count };
	return NULL;
}

static struct err *pair_fill(struct call *call, const struct diff_pair **pair_ret)
{
	struct diff_pair *pair = arena_new(call->arena, struct diff_pair);

	*pair_ret = pair;
	return pair ? diff_pair_find(call->model, call->arena, pair) : err_nomem();
}

static uint64_t rss_peak_ns(const struct model *model)
{
	const struct model_usage *most = model_rss_peak(model, 0, UINT64_MAX);

	return most ? most->ns : SHAPE_NONE;
}

static struct err *find(struct call *call, void *answer)
{
	struct tape_detail *detail = answer;
	struct err *err = modules_fill(call, &detail->modules);

	if (!err)
		err = api_tape_fill(call->tape, call->loaded, call->arena, &detail->tape);
	if (!err)
		err = threads_fill(call->model, call->arena, &detail->threads);
	if (!err)
		err = marks_fill(call->model, call->arena, &detail->marks);
	if (!err)
		err = pair_fill(call, &detail->pair);
	detail->peak_ns = model_totals(call->model)->peak_ns;
	detail->rss_peak_ns = rss_peak_ns(call->model);
	return err;
}

const struct route route_api_tape = {
	.path = "/api/v1/tape",
	.summary = "what one tape is: its threads, modules and marks",
	.shape = &shape_detail,
	.flags = ROUTE_TAPE,
	.find = find,
};
