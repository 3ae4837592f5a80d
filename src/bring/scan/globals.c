#include "scan/globals.h"

#include <assert.h>
#include <elf.h>

#include "base/sort.h"
#include "symbol/elf_file.h"

void globals_deinit(struct globals *globals)
{
	globals_variables_deinit(&globals->variables);
	str_deinit(&globals->texts);
}

static bool is_variable(const Elf64_Sym *symbol)
{
	const unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return (type == STT_OBJECT || type == STT_COMMON) && symbol->st_size > 0 &&
	       symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS &&
	       symbol->st_size <= UINT64_MAX - symbol->st_value;
}

static bool add_table(struct globals *globals, const struct elf_file *file,
		      const struct elf_section *table)
{
	const struct elf_section *strings =
		table->link < file->section_count ? &file->sections[table->link] : NULL;

	for (uint64_t at = 0; strings && at + sizeof(Elf64_Sym) <= table->bytes;
	     at += sizeof(Elf64_Sym)) {
		struct globals_variable variable;
		const char *name;
		Elf64_Sym symbol;

		memcpy(&symbol, file->bytes + table->offset + at, sizeof(symbol));
		if (!is_variable(&symbol) || symbol.st_name >= strings->bytes)
			continue;
		name = (const char *)file->bytes + strings->offset + symbol.st_name;
		variable = (struct globals_variable) { symbol.st_value,
						       symbol.st_value + symbol.st_size,
						       (uint32_t)globals->texts.len };
		str_add_bytes(&globals->texts, name,
			      strnlen(name, strings->bytes - symbol.st_name));
		str_add_char(&globals->texts, '\0');
		if (!globals_variables_push(&globals->variables, variable))
			return false;
	}
	return true;
}

static int compare_variables(const void *context, const void *a, const void *b)
{
	const struct globals_variable *left = a, *right = b;

	(void)context;
	return sort_compare_u64(left->begin, right->begin);
}

/* Of several names of one place the first stays. */
static void drop_overlaps(struct globals_variables *variables)
{
	size_t kept = 0;

	for (size_t i = 0; i < variables->count; i++)
		if (kept == 0 || variables->items[i].begin >= variables->items[kept - 1].end)
			variables->items[kept++] = variables->items[i];
	variables->count = kept;
}

static void add_tls(struct globals *globals, const struct elf_file *file)
{
	Elf64_Ehdr header;

	if (file->size < sizeof(header))
		return;
	memcpy(&header, file->bytes, sizeof(header));
	for (uint64_t i = 0; i < header.e_phnum; i++) {
		const uint64_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr segment;

		if (at < header.e_phoff || at > file->size || file->size - at < sizeof(segment))
			return;
		memcpy(&segment, file->bytes + at, sizeof(segment));
		if (segment.p_type == PT_TLS && segment.p_align < 4096)
			globals->tls_bytes += segment.p_memsz + segment.p_align;
	}
}

struct err *globals_read(const char *path, struct globals *globals)
{
	CLEAN(globals_deinit) struct globals own = { 0 };
	CLEAN(elf_file_close) struct elf_file *file = NULL;
	struct err *err = elf_file_open(path, &file);

	assert(path);
	*globals = (struct globals) { 0 };
	if (err || !file->is_64) {
		err_destroy(err);
		return NULL;
	}
	str_add_char(&own.texts, '\0');
	for (size_t i = 0; i < file->section_count; i++)
		if (file->sections[i].type == SHT_SYMTAB || file->sections[i].type == SHT_DYNSYM)
			if (!add_table(&own, file, &file->sections[i]))
				return err_nomem();
	if (own.texts.failed || !sort_stable(own.variables.items, own.variables.count,
					     sizeof(*own.variables.items), compare_variables, NULL))
		return err_nomem();
	drop_overlaps(&own.variables);
	add_tls(&own, file);
	*globals = own;
	own = (struct globals) { 0 };
	return NULL;
}
