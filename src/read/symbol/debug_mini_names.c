/* The adapter of elfutils' libdwfl, which unpacks .gnu_debugdata. */
#include <elfutils/libdwfl.h>

#include "symbol/debug_info.h"

/* libdwfl is told never to search for other files: it would query the network for them. */
static int find_no_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **path_ret)
{
	(void)module;
	(void)user;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)path_ret;
	return -1;
}

static void symbols_add(struct elf_names *names, Dwfl_Module *module, struct arena *arena)
{
	const int count = dwfl_module_getsymtab(module);
	GElf_Addr bias = 0;

	if (!dwfl_module_getelf(module, &bias))
		return;
	for (int i = 0; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *name =
			dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);
		const char *copy;

		if (!name || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0 ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		copy = arena_strdup(arena, name);
		if (!copy || !elf_names_push(names, copy, address - bias, symbol.st_size,
					     GELF_ST_BIND(symbol.st_info)))
			return;
	}
}

void debug_info_mini_names(struct elf_names *names, const char *path, struct arena *arena)
{
	const Dwfl_Callbacks callbacks = {
		.find_debuginfo = find_no_file,
		.section_address = dwfl_offline_section_address,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module;

	if (!dwfl)
		return;
	module = dwfl_report_offline(dwfl, path, path, -1);
	if (module && dwfl_report_end(dwfl, NULL, NULL) == 0)
		symbols_add(names, module, arena);
	dwfl_end(dwfl);
}
