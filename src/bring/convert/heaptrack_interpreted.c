/*
 * Lines of heaptrack's interpreted files, in which everything is numbered.
 */
#include "convert/heaptrack.h"

#include <assert.h>

enum { NAMES_MAX = 64 };

static bool take_string(struct heaptrack *heaptrack, struct hex_words words)
{
	const char *text;

	if (!heaptrack_text(heaptrack, &words, &text))
		return false;
	if (heaptrack->version < 3)
		text = arena_strdup(&heaptrack->arena, text);
	return text && heaptrack_texts_push(&heaptrack->strings, text);
}

/* A string by its number; NULL: no such number. */
static bool string_next(const struct heaptrack *heaptrack, struct hex_words *words,
			const char **text_ret)
{
	uint64_t id;

	if (!hex_next(words, &id) || id >= heaptrack->strings.count)
		return false;
	*text_ret = heaptrack->strings.items[id];
	return true;
}

static uint32_t module_of(const struct heaptrack *heaptrack, const char *path)
{
	if (path[0] == '\0')
		return COMPOSE_NO_MODULE;
	return composer_module(heaptrack->composer, &(struct compose_module) { .path = path });
}

/* i ADDRESS MODULE [FUNCTION FILE LINE]..., innermost first */
static bool take_address(struct heaptrack *heaptrack, struct hex_words words)
{
	struct compose_name names[NAMES_MAX];
	struct compose_frame frame = { .names = names };
	const char *module, *function, *file;
	uint64_t line;

	if (!hex_next(&words, &frame.pc) || !string_next(heaptrack, &words, &module))
		return false;
	while (frame.name_count < NAMES_MAX && !hex_at_end(&words)) {
		if (!string_next(heaptrack, &words, &function))
			return false;
		if (hex_at_end(&words)) { /* versions before 3 omit unknown fields */
			file = "";
			line = 0;
		} else if (!string_next(heaptrack, &words, &file) || !hex_next(&words, &line)) {
			return false;
		}
		if (function[0] == '\0')
			break;
		names[frame.name_count++] =
			(struct compose_name) { function, file,
						(uint32_t)u64_min(line, UINT32_MAX) };
	}
	frame.module = module_of(heaptrack, module);
	frame.pc++; /* it is the call's, but a return address is needed here */
	return vec_u32_push(&heaptrack->frames, composer_frame(heaptrack->composer, &frame));
}

/* t ADDRESS PARENT */
static bool take_trace(struct heaptrack *heaptrack, struct hex_words words)
{
	uint64_t frame, parent;
	uint32_t stack;

	if (!hex_next(&words, &frame) || !hex_next(&words, &parent) || frame == 0 ||
	    frame >= heaptrack->frames.count || parent >= heaptrack->stacks.count)
		return false;
	stack = composer_stack(heaptrack->composer,
			       parent ? heaptrack->stacks.items[parent] : COMPOSE_ROOT,
			       heaptrack->frames.items[frame]);
	return vec_u32_push(&heaptrack->stacks, stack);
}

/* a SIZE TRACE */
static bool take_info(struct heaptrack *heaptrack, struct hex_words words)
{
	uint64_t size, trace;

	if (!hex_next(&words, &size) || !hex_next(&words, &trace) ||
	    trace >= heaptrack->stacks.count)
		return false;
	return heaptrack_infos_push(
		&heaptrack->infos,
		(struct heaptrack_info) { size, heaptrack->stacks.items[trace] });
}

static bool take_event(struct heaptrack *heaptrack, char letter, struct hex_words words)
{
	const struct heaptrack_info *info;
	uint64_t id;

	if (!hex_next(&words, &id) || id >= heaptrack->infos.count)
		return false;
	info = &heaptrack->infos.items[id];
	if (letter == '+')
		composer_made(heaptrack->composer, id, info->size, info->stack);
	else if (!composer_gone(heaptrack->composer, id))
		heaptrack->unmatched_frees++;
	return true;
}

bool heaptrack_interpreted_line(struct heaptrack *heaptrack, char letter, struct hex_words words,
				const char **why)
{
	assert(!heaptrack->is_raw);
	switch (letter) {
	case 's':
		*why = "the string has not the length that stands in front of it";
		return take_string(heaptrack, words);
	case 'i':
		*why = "an address needs a module and names that were defined before";
		return take_address(heaptrack, words);
	case 't':
		*why = "a trace needs an address and a parent that were defined before";
		return take_trace(heaptrack, words);
	case 'a':
		*why = "an allocation needs a size and a trace that was defined before";
		return take_info(heaptrack, words);
	case '+':
	case '-':
		*why = "the kind of allocation was not defined before";
		return take_event(heaptrack, letter, words);
	default:
		*why = "a line of a raw file in an interpreted one";
		return false;
	}
}
