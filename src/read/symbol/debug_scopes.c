#include "symbol/debug_scopes.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

enum { NAME_BYTES_MAX = 4096 }; /* hostile ones are as long as the file, and would add up */

/* A class whose objects are called, and that nobody named. */
static bool is_lambda(Dwarf_Die *class)
{
	Dwarf_Die die;

	if (dwarf_child(class, &die) != 0)
		return false;
	do {
		const char *name =
			dwarf_tag(&die) == DW_TAG_subprogram ? dwarf_diename(&die) : NULL;

		if (name && strncmp(name, "operator()", strlen("operator()")) == 0)
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* "app::run(int)"; without the compiler's name what stands around it and its own. */
static const char *function_name(const struct debug_function *function, struct arena *arena)
{
	Dwarf_Attribute attr;
	const char *plain = dwarf_diename(function->die);
	const char *linkage =
		dwarf_formstring(dwarf_attr_integrate(function->die, DW_AT_linkage_name, &attr));
	char *whole = linkage ? demangle(linkage) : NULL;
	const char *name = whole ? arena_printf(arena, "%.*s", NAME_BYTES_MAX, whole)
				 : arena_printf(arena, "%.*s%.*s", NAME_BYTES_MAX, function->scope,
						NAME_BYTES_MAX, plain ? plain : "");

	free(whole);
	return name;
}

/* Its parameters are left open: symbols have them, debug information of what is inlined has not. */
static const char *lambda_inside(struct debug_function *function, struct arena *arena)
{
	const char *name = function->die ? function_name(function, arena) : NULL;

	function->lambda_count++;
	if (!function->die)
		return arena_printf(arena, "%.*s{lambda(...)#%u}::", NAME_BYTES_MAX,
				    function->scope, function->lambda_count);
	return name ? arena_printf(arena, "%s::{lambda(...)#%u}::", name, function->lambda_count)
		    : NULL;
}

const char *debug_scope_inside(Dwarf_Die *die, const char *scope, struct debug_function *function,
			       struct arena *arena)
{
	const char *name = dwarf_diename(die);
	const char *inside;

	if (name || dwarf_tag(die) == DW_TAG_namespace)
		inside = arena_printf(arena, "%.*s%.*s::", NAME_BYTES_MAX, scope, NAME_BYTES_MAX,
				      name ? name : "(anonymous namespace)");
	else if (is_lambda(die))
		inside = lambda_inside(function, arena);
	else
		return scope;
	return inside ? inside : scope;
}
