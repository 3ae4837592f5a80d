#include "collect/own_malloc.h"

#include <assert.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

enum { SECTIONS_MAX = 4096 };

/* A mapped file; its contents are untrusted. */
struct image {
	const uint8_t *bytes;
	size_t size;
};

/* count elements of `each` bytes at offset, or NULL. */
static const void *at(const struct image *image, uint64_t offset, uint64_t count, size_t each)
{
	if (offset > image->size || count > (image->size - offset) / each || offset % 8 != 0)
		return NULL;
	return image->bytes + offset;
}

enum kind { SANITIZER, ALLOCATOR, GO, MALLOC };

/* Symbol names, each specific to one runtime or allocator. */
static const struct {
	const char *name;
	enum kind kind;
	const char *what;
} rows[] = {
	{ "__asan_init", SANITIZER, "AddressSanitizer" },
	{ "__hwasan_init", SANITIZER, "HWAddressSanitizer" },
	{ "__tsan_init", SANITIZER, "ThreadSanitizer" },
	{ "__msan_init", SANITIZER, "MemorySanitizer" },
	{ "__lsan_init", SANITIZER, "LeakSanitizer" },
	{ "mallctl", ALLOCATOR, "jemalloc" },
	{ "je_mallctl", ALLOCATOR, "jemalloc" },
	{ "je_malloc", ALLOCATOR, "jemalloc" },
	{ "_rjem_mallctl", ALLOCATOR, "jemalloc" },
	{ "_rjem_malloc", ALLOCATOR, "jemalloc" },
	{ "tc_malloc", ALLOCATOR, "tcmalloc" },
	{ "mi_malloc", ALLOCATOR, "mimalloc" },
	{ "rpmalloc", ALLOCATOR, "rpmalloc" },
	{ "scalable_malloc", ALLOCATOR, "TBB's allocator" },
	{ "runtime.mallocgc", GO, NULL },
	{ "malloc", MALLOC, NULL },
};

/* A sanitizer's runtime may be a library that the program needs; the others must be linked in. */
static bool is_there(const Elf64_Sym *symbol, enum kind kind)
{
	if (symbol->st_shndx != SHN_UNDEF)
		return kind == SANITIZER || ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
	return kind == SANITIZER && ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL;
}

static void take_name(const char *name, const Elf64_Sym *symbol, struct own_malloc *own)
{
	for (size_t i = 0; i < array_size(rows); i++) {
		if (strcmp(rows[i].name, name) != 0 || !is_there(symbol, rows[i].kind))
			continue;
		switch (rows[i].kind) {
		case SANITIZER:
			own->sanitizer = rows[i].what;
			return;
		case ALLOCATOR:
			own->allocator = rows[i].what;
			return;
		case GO:
			own->is_go = true;
			return;
		case MALLOC:
			own->has_malloc = true;
			return;
		}
	}
}

/* A symbol table and its strings; count 0: there is no valid one. */
struct table {
	const Elf64_Sym *symbols;
	size_t count;
	const char *text;
	size_t text_bytes;
};

static struct table table_of(const struct image *image, const Elf64_Shdr *symbols,
			     const Elf64_Shdr *names)
{
	struct table table = { .count = symbols->sh_size / sizeof(Elf64_Sym) };

	table.symbols = at(image, symbols->sh_offset, table.count, sizeof(*table.symbols));
	if (!table.symbols || names->sh_offset > image->size ||
	    names->sh_size > image->size - names->sh_offset)
		return (struct table) { 0 };
	table.text = (const char *)image->bytes + names->sh_offset;
	table.text_bytes = names->sh_size;
	return table;
}

/* NULL: no valid name. */
static const char *name_of(const struct table *table, size_t index)
{
	const uint32_t begin = table->symbols[index].st_name;

	if (begin >= table->text_bytes ||
	    !memchr(table->text + begin, '\0', table->text_bytes - begin))
		return NULL;
	return table->text + begin;
}

static bool has_function(const struct table *table, const char *prefix, size_t prefix_len,
			 const char *suffix)
{
	for (size_t i = 0; i < table->count; i++) {
		const char *name = name_of(table, i);

		if (name && strncmp(name, prefix, prefix_len) == 0 &&
		    strcmp(name + prefix_len, suffix) == 0)
			return true;
	}
	return false;
}

/* Allocators that are detected by default, and names that precede malloc's. */
static bool is_no_news(const char *prefix)
{
	static const char *const prefixes[] = { "",	     "je_", "_rjem_", "mi_",	 "tc_",
						"scalable_", "x",   "g_",     "sqlite3_" };

	for (size_t i = 0; i < array_size(prefixes); i++)
		if (strcmp(prefixes[i], prefix) == 0)
			return true;
	return strncmp(prefix, "__", 2) == 0;
}

/* Finds PREFIXmalloc with a PREFIXfree in a table of dynamically bound symbols. */
static void take_prefix(const struct table *table, size_t index, const char *name,
			struct own_malloc *own)
{
	static const char suffix[] = "malloc";
	const size_t len = strlen(name);
	const size_t prefix_len = len - (sizeof(suffix) - 1);
	char prefix[sizeof(own->prefix)];

	if (len < sizeof(suffix) - 1 || strcmp(name + prefix_len, suffix) != 0 ||
	    prefix_len >= sizeof(prefix))
		return;
	memcpy(prefix, name, prefix_len);
	prefix[prefix_len] = '\0';
	if (own->prefix[0] || is_no_news(prefix) ||
	    !has_function(table, prefix, prefix_len, "free"))
		return;
	memcpy(own->prefix, prefix, prefix_len + 1);
	own->prefix_is_inside = table->symbols[index].st_shndx != SHN_UNDEF;
}

static void take_bound(const struct table *table, size_t index, const char *name,
		       struct own_malloc *own)
{
	if (table->symbols[index].st_shndx == SHN_UNDEF && strcmp(name, "malloc") == 0)
		own->calls_malloc = true;
	else if (!own->prefix[0])
		take_prefix(table, index, name, own);
}

static void take_table(const struct table *table, bool is_bound, struct own_malloc *own)
{
	for (size_t i = 0; i < table->count; i++) {
		const char *name = name_of(table, i);

		if (!name)
			continue;
		take_name(name, &table->symbols[i], own);
		if (is_bound)
			take_bound(table, i, name, own);
	}
}

/* Go's sections remain when its symbols are stripped. */
static void take_section(const struct image *image, const Elf64_Shdr *section,
			 const Elf64_Shdr *names, struct own_malloc *own)
{
	static const char name[] = ".gopclntab";

	if (names->sh_offset <= image->size && names->sh_size <= image->size - names->sh_offset &&
	    section->sh_name < names->sh_size &&
	    names->sh_size - section->sh_name >= sizeof(name) &&
	    memcmp(image->bytes + names->sh_offset + section->sh_name, name, sizeof(name)) == 0)
		own->is_go = true;
}

struct own_malloc own_malloc_find_in(const void *bytes, size_t size, bool all)
{
	const struct image image = { bytes, size };
	const Elf64_Ehdr *elf = at(&image, 0, 1, sizeof(*elf));
	struct own_malloc own = { 0 };
	const Elf64_Shdr *sections;

	assert(bytes || size == 0);
	if (!elf || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_shnum > SECTIONS_MAX)
		return own;
	sections = at(&image, elf->e_shoff, elf->e_shnum, sizeof(*sections));
	for (unsigned i = 0; sections && i < elf->e_shnum; i++) {
		const Elf64_Shdr *section = &sections[i];
		struct table table;

		if (elf->e_shstrndx < elf->e_shnum)
			take_section(&image, section, &sections[elf->e_shstrndx], &own);
		if ((section->sh_type != SHT_DYNSYM && (!all || section->sh_type != SHT_SYMTAB)) ||
		    section->sh_link >= elf->e_shnum)
			continue;
		table = table_of(&image, section, &sections[section->sh_link]);
		take_table(&table, section->sh_type == SHT_DYNSYM, &own);
	}
	return own;
}

struct own_malloc own_malloc_find(const char *path, bool all)
{
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct own_malloc own = { 0 };
	struct stat status;
	void *map;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
		return own;
	map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return own;
	own = own_malloc_find_in(map, (size_t)status.st_size, all);
	munmap(map, (size_t)status.st_size);
	return own;
}

bool own_malloc_is_in(const char *path)
{
	return own_malloc_find(path, true).has_malloc;
}
