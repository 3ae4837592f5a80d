#include "symbol/elf_names.h"

#include <assert.h>
#include <elf.h>
#include <stdlib.h>

#include "base/sort.h"

enum {
	/* Functions overlap only by accident of assembly; limit the search. */
	NESTING_MAX = 16
};

static bool names_reserve(struct elf_names *names, size_t more)
{
	size_t count, bytes;
	void *ptr;

	if (size_add_overflows(names->count, more, &count) ||
	    size_mul_overflows(count, sizeof(*names->names), &bytes))
		return false;
	if (count <= names->capacity)
		return true;
	if (more == 1) { /* one of many */
		count += names->capacity / 2;
		bytes = count * sizeof(*names->names);
	}
	ptr = realloc(names->names, bytes);
	if (!ptr)
		return false;
	names->names = ptr;
	names->capacity = count;
	return true;
}

/*
 * Of several names of one address, readers know the public, plain one: malloc, not __libc_malloc,
 * and puts rather than _IO_puts.
 */
static uint32_t name_rank(const char *name, unsigned binding, unsigned type)
{
	uint32_t underscores = 0;
	uint32_t by_binding = binding == STB_GLOBAL || binding == STB_GNU_UNIQUE ? 0
			      : binding == STB_WEAK				 ? 1
										 : 2;

	while (name[underscores] == '_' && underscores < 3)
		underscores++;
	if (strncmp(name, "_Z", 2) == 0)
		underscores = 0;
	return (type == STT_NOTYPE) << 8 | underscores << 4 | by_binding;
}

static bool symbol_is_function(unsigned type, unsigned section, const char *name)
{
	if (section == SHN_UNDEF || section == SHN_ABS || name[0] == '\0')
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	/* Assembly without .type, but not the mapping symbols of ARM ($x) or local labels. */
	return type == STT_NOTYPE && name[0] != '$' && name[0] != '.';
}

/* Of ARM's Thumb code an address is odd in symbols, and not where the code is. */
static uint64_t symbol_address(const struct elf_file *file, const Elf64_Sym *symbol)
{
	const unsigned type = ELF64_ST_TYPE(symbol->st_info);
	const bool is_code = type == STT_FUNC || type == STT_GNU_IFUNC;

	return symbol->st_value & ~(uint64_t)(file->machine == EM_ARM && is_code);
}

/* How far a symbol without a size may reach: to the end of its section. */
static uint64_t section_rest(const struct elf_file *file, const Elf64_Sym *symbol)
{
	const struct elf_section *section;

	if (symbol->st_shndx >= file->section_count)
		return 0;
	section = &file->sections[symbol->st_shndx];
	if (symbol->st_value < section->address ||
	    symbol->st_value - section->address >= section->bytes)
		return 0;
	return section->bytes - (symbol->st_value - section->address);
}

static void symbol_add(struct elf_names *names, const struct elf_file *file, const char *strings,
		       uint64_t strings_bytes, const Elf64_Sym *symbol)
{
	const unsigned type = ELF64_ST_TYPE(symbol->st_info);
	const bool is_open = symbol->st_size == 0;
	const char *name;

	if (symbol->st_name >= strings_bytes)
		return;
	name = strings + symbol->st_name;
	if (!symbol_is_function(type, symbol->st_shndx, name))
		return;
	names->names[names->count++] = (struct elf_name) {
		.address = symbol_address(file, symbol),
		.bytes = is_open ? section_rest(file, symbol) : symbol->st_size,
		.name = name,
		.is_open = is_open,
		.rank = name_rank(name, ELF64_ST_BIND(symbol->st_info), type),
	};
}

static Elf64_Sym symbol_widen(const struct elf_file *file, const Elf32_Sym *narrow)
{
	return (Elf64_Sym) {
		.st_name = ELF_FILE_GET(file, narrow->st_name),
		.st_info = narrow->st_info,
		.st_shndx = ELF_FILE_GET(file, narrow->st_shndx),
		.st_value = ELF_FILE_GET(file, narrow->st_value),
		.st_size = ELF_FILE_GET(file, narrow->st_size),
	};
}

static bool table_add(struct elf_names *names, const struct elf_file *file,
		      const struct elf_section *table)
{
	const size_t entry_bytes = file->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	const uint64_t count = table->bytes / entry_bytes;
	const struct elf_section *section;
	const char *strings;

	if (table->link >= file->section_count)
		return true;
	section = &file->sections[table->link];
	strings = (const char *)file->bytes + section->offset;
	/* Names are borrowed as C strings, so the string table must end in a NUL. */
	if (section->bytes == 0 || strings[section->bytes - 1] != '\0')
		return true;
	if (!names_reserve(names, count))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		const uint8_t *at = file->bytes + table->offset + i * entry_bytes;
		Elf64_Sym symbol;

		if (file->is_64) {
			memcpy(&symbol, at, sizeof(symbol));
			ELF_FILE_FIX(file, symbol.st_name);
			ELF_FILE_FIX(file, symbol.st_shndx);
			ELF_FILE_FIX(file, symbol.st_value);
			ELF_FILE_FIX(file, symbol.st_size);
		} else {
			Elf32_Sym narrow;

			memcpy(&narrow, at, sizeof(narrow));
			symbol = symbol_widen(file, &narrow);
		}
		symbol_add(names, file, strings, section->bytes, &symbol);
	}
	return true;
}

bool elf_names_add(struct elf_names *names, const struct elf_file *file)
{
	for (size_t i = 0; i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];

		/* Everything in .dynsym is in .symtab too. */
		if (section->type == SHT_SYMTAB ||
		    (section->type == SHT_DYNSYM && !file->has_symtab)) {
			if (!table_add(names, file, section))
				return false;
		}
	}
	return true;
}

bool elf_names_push(struct elf_names *names, const char *name, uint64_t address, uint64_t bytes,
		    unsigned binding)
{
	assert(names->count <= names->capacity);
	assert(name);
	if (names->count == names->capacity && !names_reserve(names, names->count + 1))
		return false;
	names->names[names->count++] = (struct elf_name) {
		.address = address,
		.bytes = bytes,
		.name = name,
		.rank = name_rank(name, binding, STT_FUNC),
	};
	return true;
}

static int name_compare(const void *context, const void *a, const void *b)
{
	const struct elf_name *left = a;
	const struct elf_name *right = b;

	(void)context;
	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	return strcmp(left->name, right->name);
}

bool elf_names_sort(struct elf_names *names)
{
	CLEAN(free) struct sort_pair *pairs = calloc(names->count + 1, sizeof(*pairs));
	struct elf_name *sorted = calloc(names->count + 1, sizeof(*sorted));

	for (size_t i = 0; pairs && i < names->count; i++)
		pairs[i] = (struct sort_pair) { names->names[i].address, (uint32_t)i };
	if (!pairs || !sorted || !sort_pairs(pairs, names->count)) {
		free(sorted);
		names->count = 0; /* unsorted names would be wrong names */
		return false;
	}
	for (size_t i = 0; i < names->count; i++)
		sorted[i] = names->names[pairs[i].index];
	for (size_t i = 0, end; i < names->count; i = end) {
		for (end = i + 1; end < names->count && sorted[end].address == sorted[i].address;)
			end++;
		/* If out of memory, the order among names of one address stays. */
		if (end - i > 1)
			sort_stable(sorted + i, end - i, sizeof(*sorted), name_compare, NULL);
	}
	free(names->names);
	names->names = sorted;
	names->capacity = names->count + 1;
	return true;
}

/* Whether name i, which begins at or before address, covers it. */
static bool name_covers(const struct elf_names *names, size_t i, uint64_t address)
{
	const struct elf_name *name = &names->names[i];

	if (address - name->address >= name->bytes)
		return false;
	if (!name->is_open)
		return true;
	while (++i < names->count && names->names[i].address == name->address)
		;
	return i == names->count || address < names->names[i].address;
}

const struct elf_name *elf_names_find(const struct elf_names *names, uint64_t address)
{
	size_t low = 0, high = names->count;
	unsigned groups = 0;

	assert(names->names || names->count == 0);
	while (low < high) { /* the first that begins after address */
		size_t middle = low + (high - low) / 2;

		if (names->names[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low > 0 && groups < NESTING_MAX) {
		const struct elf_name *best = NULL;
		const uint64_t begin = names->names[low - 1].address;

		for (; low > 0 && names->names[low - 1].address == begin; low--) {
			if (name_covers(names, low - 1, address))
				best = &names->names[low - 1];
		}
		if (best)
			return best;
		groups++;
	}
	return NULL;
}

void elf_names_deinit(struct elf_names *names)
{
	free(names->names);
	*names = (struct elf_names) { 0 };
}
