/*
 * Modules of a process recorded by bytehound, from its /proc/self/maps.
 */
#include <assert.h>

#include "base/str.h"
#include "convert/bytehound.h"
#include "convert/elf_kind.h"
#include "convert/hex_words.h"

/* BEGIN-END PERMS OFFSET DEVICE INODE PATH */
static bool line_read(char *line, struct bytehound_module *range, const char **path_ret)
{
	struct hex_words words = { line };
	char *dash = strchr(line, '-'), *path = strchr(line, '/');
	const char *perms;

	if (!dash || !path)
		return false;
	*dash = ' ';
	if (!hex_next(&words, &range->begin) || !hex_next(&words, &range->end))
		return false;
	perms = words.at + (*words.at == ' ');
	if (strlen(perms) < 5 || range->begin >= range->end)
		return false;
	words.at = perms + 4;
	if (!hex_next(&words, &range->offset))
		return false;
	*path_ret = path;
	return true;
}

/*
 * Consecutive mappings of one file are one module. A mapping of the file's beginning starts a new
 * one: bytehound maps the files it reads itself, and the loader may map next to that.
 */
static bool range_add(struct bytehound *bytehound, const struct bytehound_module *range,
		      const char *path, const char *last_path)
{
	struct bytehound_modules *modules = &bytehound->modules;

	if (modules->count > 0 && range->offset > 0 && strcmp(path, last_path) == 0 &&
	    modules->items[modules->count - 1].end <= range->begin) {
		modules->items[modules->count - 1].end = range->end;
		return true;
	}
	return bytehound_modules_push(modules, *range);
}

static void module_tell(struct bytehound *bytehound, struct bytehound_module *range,
			const char *path)
{
	const bool is_fixed = elf_kind_of(path) == ELF_KIND_FIXED;

	range->is_recorder = bytehound_is_recorder(path);
	range->module = composer_module(
		bytehound->composer,
		&(struct compose_module) {
			.path = path,
			.begin = range->begin,
			.end = range->end,
			.bias = is_fixed ? 0 : range->begin - u64_min(range->offset, range->begin),
		});
}

bool bytehound_maps(struct bytehound *bytehound, const char *text, size_t count)
{
	CLEAN(free) char *copy = strndup(text, count);
	CLEAN(str_deinit) struct str last = { 0 };
	char *rest = copy, *line;
	size_t told = 0;

	assert(text || count == 0);
	if (!copy)
		return false;
	bytehound->modules.count = 0;
	while ((line = strsep(&rest, "\n")) != NULL) {
		struct bytehound_module range = { 0 };
		const char *path;

		if (!line_read(line, &range, &path))
			continue;
		if (!range_add(bytehound, &range, path, str_text(&last)))
			return false;
		if (bytehound->modules.count - told > 1) /* the previous one is complete */
			module_tell(bytehound, &bytehound->modules.items[told++], str_text(&last));
		str_clear(&last);
		str_add(&last, path);
	}
	if (told < bytehound->modules.count)
		module_tell(bytehound, &bytehound->modules.items[told], str_text(&last));
	return !last.failed;
}

const struct bytehound_module *bytehound_module_at(const struct bytehound *bytehound, uint64_t pc)
{
	const struct bytehound_modules *modules = &bytehound->modules;

	for (size_t i = 0; i < modules->count; i++)
		if (pc >= modules->items[i].begin && pc < modules->items[i].end)
			return &modules->items[i];
	return NULL;
}

bool bytehound_is_recorder(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return strncmp(name, "libbytehound", strlen("libbytehound")) == 0;
}
