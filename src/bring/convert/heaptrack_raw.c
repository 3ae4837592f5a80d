/*
 * Lines of heaptrack's raw files: addresses, and loaded modules.
 */
#include <assert.h>

#include "base/sort.h"
#include "convert/heaptrack.h"

/* x PATH: the program. */
static bool take_exe(struct heaptrack *heaptrack, struct hex_words words)
{
	const char *path;

	if (!heaptrack_text(heaptrack, &words, &path))
		return false;
	heaptrack->exe = arena_strdup(&heaptrack->arena, path);
	return heaptrack->exe != NULL;
}

/* Pairs of address and size: the total range, relative to the module's load address. */
static bool take_segments(struct hex_words *words, uint64_t *begin_ret, uint64_t *end_ret)
{
	uint64_t begin = UINT64_MAX, end = 0, address, bytes, segment_end;

	while (!hex_at_end(words)) {
		if (!hex_next(words, &address) || !hex_next(words, &bytes) ||
		    __builtin_add_overflow(address, bytes, &segment_end))
			return false;
		begin = u64_min(begin, address);
		end = u64_max(end, segment_end);
	}
	*begin_ret = begin;
	*end_ret = end;
	return begin < end;
}

static bool module_add(struct heaptrack *heaptrack, const char *path, struct hex_words *words)
{
	struct compose_module module = { .path = path };
	struct heaptrack_module row;

	if (!hex_next(words, &module.bias))
		return false;
	if (hex_at_end(words))
		return true; /* nothing is mapped */
	if (!take_segments(words, &module.begin, &module.end) ||
	    __builtin_add_overflow(module.begin, module.bias, &module.begin) ||
	    __builtin_add_overflow(module.end, module.bias, &module.end))
		return false;
	row = (struct heaptrack_module) { module.begin, module.end,
					  composer_module(heaptrack->composer, &module) };
	heaptrack->are_sorted = false;
	return heaptrack_modules_push(&heaptrack->modules, row);
}

/* m PATH ADDRESS SEGMENTS..., "x" is the program; m -: discards all modules so far. */
static bool take_module(struct heaptrack *heaptrack, struct hex_words words)
{
	const char *path;

	if (heaptrack->version >= 3) {
		if (!heaptrack_text(heaptrack, &words, &path))
			return false;
	} else { /* paths with blanks cannot be distinguished from what follows */
		char *end;

		words.at += *words.at == ' ';
		end = strchr(words.at, ' ');
		path = end ? arena_text(&heaptrack->arena, words.at, (size_t)(end - words.at))
			   : words.at;
		words.at = end ? end : words.at + strlen(words.at);
	}
	if (!path)
		return false;
	if (strcmp(path, "-") == 0) {
		heaptrack->modules.count = 0;
		return true;
	}
	if (strcmp(path, "x") == 0 && heaptrack->exe)
		path = heaptrack->exe;
	return module_add(heaptrack, path, &words);
}

static int compare_modules(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct heaptrack_module *)a)->begin,
				((const struct heaptrack_module *)b)->begin);
}

/* COMPOSE_NO_MODULE: none. */
static uint32_t module_find(struct heaptrack *heaptrack, uint64_t pc)
{
	const struct heaptrack_module *modules = heaptrack->modules.items;
	size_t low = 0, high = heaptrack->modules.count;

	if (!heaptrack->are_sorted)
		heaptrack->are_sorted =
			sort_stable(heaptrack->modules.items, heaptrack->modules.count,
				    sizeof(*modules), compare_modules, NULL);
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (modules[middle].begin <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && pc < modules[low - 1].end ? modules[low - 1].module : COMPOSE_NO_MODULE;
}

/* t ADDRESS PARENT: the address of the call. */
static bool take_trace(struct heaptrack *heaptrack, struct hex_words words)
{
	struct compose_frame frame = { 0 };
	uint64_t pc, parent;
	uint32_t stack;

	if (!hex_next(&words, &pc) || !hex_next(&words, &parent) ||
	    parent >= heaptrack->stacks.count)
		return false;
	frame.module = module_find(heaptrack, pc);
	frame.pc = pc + 1;
	stack = composer_stack(heaptrack->composer,
			       parent ? heaptrack->stacks.items[parent] : COMPOSE_ROOT,
			       composer_frame(heaptrack->composer, &frame));
	return vec_u32_push(&heaptrack->stacks, stack);
}

/* + SIZE TRACE ADDRESS */
static bool take_allocation(struct heaptrack *heaptrack, struct hex_words words)
{
	struct compose_block block = { 0 };
	uint64_t trace;

	if (!hex_next(&words, &block.size) || !hex_next(&words, &trace) ||
	    !hex_next(&words, &block.address) || trace >= heaptrack->stacks.count)
		return false;
	block.usable = block.size;
	block.stack = heaptrack->stacks.items[trace];
	composer_allocated(heaptrack->composer, &block);
	return true;
}

static bool take_free(struct heaptrack *heaptrack, struct hex_words words)
{
	uint64_t address;

	if (!hex_next(&words, &address))
		return false;
	composer_freed(heaptrack->composer, TAPE_FN_FREE, address, COMPOSE_NO_STACK);
	return true;
}

bool heaptrack_raw_line(struct heaptrack *heaptrack, char letter, struct hex_words words,
			const char **why)
{
	assert(heaptrack->is_raw);
	switch (letter) {
	case 'x':
		*why = "the path of the program has not the length that stands in front of it";
		return take_exe(heaptrack, words);
	case 'm':
		*why = "a module needs a path, an address and the sizes of its segments";
		return take_module(heaptrack, words);
	case 't':
		*why = "a trace needs an address and a parent that was defined before";
		return take_trace(heaptrack, words);
	case '+':
		*why = "an allocation needs a size, a trace that was defined before and an address";
		return take_allocation(heaptrack, words);
	case '-':
		*why = "a free needs an address";
		return take_free(heaptrack, words);
	default:
		*why = "a line of an interpreted file in a raw one";
		return false;
	}
}
