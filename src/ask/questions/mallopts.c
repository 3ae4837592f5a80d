/*
 * mallopts: allocator tuning by the program: mallopt and malloc_trim, with their results.
 */
#include "answer/about.h"
#include "answer/note.h"
#include "questions/questions.h"

#include <malloc.h>

struct mallopt {
	uint64_t ns;
	uint64_t thread;
	const char *function;
	const char *parameter;
	int64_t value, result;
	uint32_t stack;
};

struct mallopts {
	struct shape_rows mallopts;
	struct quality quality;
};

static const struct member mallopt_members[] = {
	MEMBER(struct mallopt, ns, NS, "when", .title = "time"),
	MEMBER(struct mallopt, thread, PLAIN, "id of the thread that called", .title = "thread",
	       .nullable = true),
	MEMBER(struct mallopt, function, TEXT, "mallopt or malloc_trim", .title = "call",
	       .left = true),
	MEMBER(struct mallopt, parameter, TEXT, "its name, or its number if it has none",
	       .title = "parameter", .left = true),
	MEMBER(struct mallopt, value, SIGNED, NULL, .title = "value"),
	MEMBER(struct mallopt, result, SIGNED, "what the call returned", .title = "result"),
	MEMBER(struct mallopt, stack, CALLS, "functions, the innermost first",
	       .title = "called from", .left = true, .elastic = true),
};
static const struct shape shape_mallopt = SHAPE("Mallopt", struct mallopt, mallopt_members);

static const struct member mallopts_members[] = {
	MEMBER(struct mallopts, mallopts, ROWS, NULL, .shape = &shape_mallopt),
	MEMBER(struct mallopts, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_mallopts = SHAPE("Mallopts", struct mallopts, mallopts_members);

/* NULL: not a parameter of this or any other known libc. */
static const char *parameter_name(int64_t key)
{
	static const struct {
		int64_t key;
		const char *name;
	} names[] = {
		{ M_MXFAST, "M_MXFAST" },
		{ M_NLBLKS, "M_NLBLKS" },
		{ M_GRAIN, "M_GRAIN" },
		{ M_KEEP, "M_KEEP" },
		{ M_TRIM_THRESHOLD, "M_TRIM_THRESHOLD" },
		{ M_TOP_PAD, "M_TOP_PAD" },
		{ M_MMAP_THRESHOLD, "M_MMAP_THRESHOLD" },
		{ M_MMAP_MAX, "M_MMAP_MAX" },
		{ M_CHECK_ACTION, "M_CHECK_ACTION" },
		{ M_PERTURB, "M_PERTURB" },
		{ M_ARENA_TEST, "M_ARENA_TEST" },
		{ M_ARENA_MAX, "M_ARENA_MAX" },
	};

	for (size_t i = 0; i < array_size(names); i++)
		if (names[i].key == key)
			return names[i].name;
	return NULL;
}

/* NULL: no memory. */
static const char *parameter_of(const struct model_note *note, struct arena *arena)
{
	const char *name = parameter_name(note->setting.key);

	if (note->type == TAPE_EXT_MALLOC_TRIM)
		return "pad";
	return name ? name : arena_printf(arena, "%lld", (long long)note->setting.key);
}

static struct err *ask(const struct asked *asked, void *result)
{
	const struct model *model = asked->model;
	const uint64_t top = asked->with->top ? asked->with->top : UINT64_MAX;
	struct mallopt *items =
		arena_array(asked->arena, model_note_count(model) + 1, sizeof(*items));
	struct mallopts *mallopts = result;
	const struct model_note *note;
	size_t at = 0, count = 0;

	if (!items)
		return err_nomem();
	while (count < top &&
	       (note = note_next(asked, TAPE_EXT_MALLOPT, TAPE_EXT_MALLOC_TRIM, &at))) {
		struct mallopt *row = &items[count++];

		*row = (struct mallopt) {
			.ns = note->ns,
			.thread = note_tid(model, note->thread),
			.function = note->type == TAPE_EXT_MALLOPT ? "mallopt" : "malloc_trim",
			.parameter = parameter_of(note, asked->arena),
			.value = note->setting.value,
			.result = note->setting.result,
			.stack = note->stack,
		};
		if (!row->parameter)
			return err_nomem();
	}
	mallopts->mallopts = (struct shape_rows) { items, count };
	return quality_find(asked, &mallopts->quality);
}

const struct question question_mallopts = {
	.name = "mallopts",
	.summary = "calls that tuned the allocator: mallopt and malloc_trim",
	.one_process = true,
	.shape = &shape_mallopts,
	.depth = MODEL_SUMMARY,
	.takes = TAKES(top),
	.has_window = true,
	.instead = "--from and --until choose by time",
	.ask = ask,
};
