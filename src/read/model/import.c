#include "model/import.h"

#include <assert.h>

#include "base/str.h"

static const struct {
	const char *key;
	const char *words;
} facts[TAPE_MISSING_COUNT] = {
	{ "times", "times (only the order is known)" },
	{ "threads", "threads" },
	{ "addresses", "addresses of blocks" },
	{ "frees", "frees (all counts as alive at the end)" },
	{ "usable_sizes", "usable sizes" },
	{ "free_stacks", "call stacks of frees" },
	{ "functions", "which function allocated (all count as malloc)" },
	{ "sizes", "sizes of single blocks (they are averages)" },
	{ "counts", "numbers of blocks (one stands for several)" },
	{ "lifetimes", "which of several blocks was freed (the youngest is taken)" },
	{ "freed", "what was freed between the moments it has" },
	{ "stacks", "call stacks" },
	{ "all_but_a_sample", "all but a sample (numbers are estimates)" },
	{ "process", "the process" },
	{ "requested_sizes", "requested sizes (all are usable sizes)" },
};

const char *model_missing_words(unsigned bit)
{
	assert(bit < array_size(facts));
	return facts[bit].words;
}

const char *model_missing_key(unsigned bit)
{
	assert(bit < array_size(facts));
	return facts[bit].key;
}

void model_missing_add(struct str *out, uint32_t missing)
{
	const uint32_t known = missing & ((UINT32_C(1) << TAPE_MISSING_COUNT) - 1);
	int left = __builtin_popcount(known);
	const int count = left;

	for (unsigned bit = 0; bit < TAPE_MISSING_COUNT; bit++) {
		if (!(known >> bit & 1))
			continue;
		if (left < count)
			str_add(out, left == 1 ? " and " : ", ");
		str_add(out, facts[bit].words);
		left--;
	}
}

static const struct model_note *import_note(const struct model *model)
{
	for (size_t i = 0; i < model_note_count(model); i++)
		if (model_notes(model)[i].type == TAPE_EXT_IMPORT)
			return &model_notes(model)[i];
	return NULL;
}

uint32_t model_missing(const struct model *model)
{
	const struct model_note *note = import_note(model);

	return note ? note->import.missing : 0;
}

bool model_goes_on(const struct model *model)
{
	const enum tape_end_kind end = model_process(model)->end_kind;

	return end == TAPE_END_RUNNING || (end == TAPE_END_UNKNOWN && !import_note(model)) ||
	       model_quality(model)->fault != TAPE_FAULT_NONE;
}

/* The next line of *text, which is advanced past it; "" at the end. */
static const char *line_next(struct arena *arena, const char **text)
{
	const size_t len = strcspn(*text, "\n");
	const char *line = arena_text(arena, *text, len);

	*text += len + ((*text)[len] == '\n');
	return line;
}

struct err *model_import_get(const struct model *model, struct arena *arena,
			     const struct model_import **import_ret)
{
	const struct model_note *note = import_note(model);
	struct model_import *import;
	const char *text, **notes;
	size_t line_count = 0;

	*import_ret = NULL;
	if (!note)
		return NULL;
	text = note->text;
	for (const char *at = text; *at; at++)
		line_count += *at == '\n';
	import = arena_new(arena, struct model_import);
	notes = arena_array(arena, line_count + 1, sizeof(*notes));
	if (!import || !notes)
		return err_nomem();
	import->missing = note->import.missing;
	import->format = line_next(arena, &text);
	import->tool = line_next(arena, &text);
	import->file = line_next(arena, &text);
	while (*text)
		notes[import->note_count++] = line_next(arena, &text);
	import->notes = notes;
	for (size_t i = 0; i < import->note_count; i++)
		if (!notes[i])
			return err_nomem();
	if (!import->format || !import->tool || !import->file)
		return err_nomem();
	*import_ret = import;
	return NULL;
}
