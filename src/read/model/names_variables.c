/* Variables that leak scans found. */
#include <assert.h>

#include "model/names_parts.h"
#include "model/scans.h"
#include "symbol/demangle.h"
#include "symbol/spell.h"

static const char *variable_text(struct names *names, const char *text)
{
	CLEAN(free) char *readable = demangle(text);
	const char *copy = readable ? arena_strdup(&names->arena, readable) : text;

	return copy ? spell_name(copy, names->spelling, &names->arena) : text;
}

/* The module loaded last at this place. */
static size_t variable_module(const struct names *names, uint64_t address)
{
	for (size_t i = model_module_count(names->model); i-- > 0;) {
		const struct capture_module *module = model_module(names->model, i);

		if (address >= module->begin && address < module->end)
			return i;
	}
	return CAPTURE_MODULE_NONE;
}

static struct name_variable variable_find(struct names *names, uint64_t address, const char *symbol)
{
	struct name_variable variable = { .name = variable_text(names, symbol) };
	const size_t module = variable_module(names, address);
	struct symbol_variable known;

	if (module == CAPTURE_MODULE_NONE)
		return variable;
	variable.module = names_module_path(names, module);
	if (!symbol[0]) {
		variable.name = names_short_path(variable.module);
		return variable;
	}
	known = symbolizer_variable(names->symbolizer, names_object(names, module),
				    address - model_module(names->model, module)->bias);
	variable.type = known.type ? spell_name(known.type, names->spelling, &names->arena) : NULL;
	variable.file = names_file_here(names, known.file);
	variable.line = known.line;
	return variable;
}

struct name_variable names_variable(struct names *names, uint64_t address, const char *symbol)
{
	const uint64_t *known = map_find(&names->variables, address);
	struct name_variable *variable;
	uint64_t *place;

	if (known)
		return *(const struct name_variable *)(uintptr_t)*known;
	variable = names->is_settled ? NULL : arena_new(&names->arena, struct name_variable);
	place = variable ? map_put(&names->variables, address, NULL) : NULL;
	if (!place)
		return (struct name_variable) { .name = symbol };
	*variable = variable_find(names, address, symbol);
	*place = (uintptr_t)variable;
	return *variable;
}

void names_settle_variables(struct names *names)
{
	for (size_t i = 0; i < model_scan_count(names->model); i++) {
		const struct model_scan *scan = model_scan_get(names->model, i);

		for (uint64_t h = 0; h < scan->holder_count; h++)
			if (scan->holders[h].kind == TAPE_SCAN_GLOBAL)
				(void)names_variable(names, scan->holders[h].begin,
						     scan->holders[h].name);
	}
}
