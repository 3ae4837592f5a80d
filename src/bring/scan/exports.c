#include "scan/exports.h"

#include <assert.h>
#include <elf.h>

#include "base/sort.h"

enum {
	OLD_VERSION = 0x8000, /* of .gnu.version */
	ALIASES_MAX = 8	      /* names of one place, also of no size */
};

void exports_deinit(struct exports *exports)
{
	exports_functions_deinit(&exports->functions);
	str_deinit(&exports->texts);
}

static bool is_function(const Elf64_Sym *symbol)
{
	const unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_value != 0 && symbol->st_size <= UINT64_MAX - symbol->st_value;
}

static bool is_old(const struct elf_file *file, uint64_t index)
{
	const struct elf_section *versions = elf_file_section(file, ".gnu.version");
	uint16_t version;

	if (!versions || (index + 1) * sizeof(version) > versions->bytes)
		return false;
	memcpy(&version, file->bytes + versions->offset + index * sizeof(version), sizeof(version));
	return version & OLD_VERSION;
}

static bool add(struct exports *exports, const struct elf_file *file,
		const struct elf_section *table, const struct elf_section *strings)
{
	const uint64_t count = table->bytes / sizeof(Elf64_Sym);

	for (uint64_t i = 0; i < count; i++) {
		struct exports_function function;
		const char *name;
		Elf64_Sym symbol;

		memcpy(&symbol, file->bytes + table->offset + i * sizeof(symbol), sizeof(symbol));
		if (!is_function(&symbol) || symbol.st_name >= strings->bytes)
			continue;
		name = (const char *)file->bytes + strings->offset + symbol.st_name;
		function =
			(struct exports_function) { symbol.st_value,
						    symbol.st_value + symbol.st_size,
						    (uint32_t)exports->texts.len, is_old(file, i) };
		str_add_bytes(&exports->texts, name,
			      strnlen(name, strings->bytes - symbol.st_name));
		str_add_char(&exports->texts, '\0');
		if (!exports_functions_push(&exports->functions, function))
			return false;
	}
	return !exports->texts.failed;
}

bool exports_read(const char *path, struct exports *exports)
{
	CLEAN(elf_file_close) struct elf_file *file = NULL;
	struct err *err = elf_file_open(path, &file);

	*exports = (struct exports) { 0 };
	if (!err)
		return exports_of(file, exports);
	err_destroy(err);
	return true;
}

bool exports_of(const struct elf_file *file, struct exports *exports)
{
	const struct elf_section *table, *strings;

	*exports = (struct exports) { 0 };
	if (!file->is_64)
		return true;
	table = elf_file_section(file, ".dynsym");
	strings = table && table->link < file->section_count ? &file->sections[table->link] : NULL;
	if (!strings)
		return true;
	return add(exports, file, table, strings) &&
	       sort_by_u64(exports->functions.items, exports->functions.count,
			   sizeof(*exports->functions.items),
			   offsetof(struct exports_function, begin));
}

const struct exports_function *exports_find(const struct exports *exports, const char *name)
{
	assert(name);
	for (size_t i = 0; i < exports->functions.count; i++) {
		const struct exports_function *function = &exports->functions.items[i];

		if (!function->is_old && strcmp(exports->texts.ptr + function->name, name) == 0)
			return function;
	}
	return NULL;
}

const char *exports_name(const struct exports *exports, uint64_t address)
{
	size_t low = 0, high = exports->functions.count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (exports->functions.items[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- > 0 && low - i <= ALIASES_MAX;)
		if (address < exports->functions.items[i].end)
			return exports->texts.ptr + exports->functions.items[i].name;
	return NULL;
}
