#include "collect/own_malloc.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

enum { SECTIONS_MAX = 4096 };

/* A file as it is mapped; nothing in it is trusted. */
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

/* Names that only one thing has. */
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

/* A sanitizer's runtime may be a library that the program needs; the others are in it or not. */
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

static void take_table(const struct image *image, const Elf64_Shdr *table, const Elf64_Shdr *names,
		       struct own_malloc *own)
{
	const size_t count = table->sh_size / sizeof(Elf64_Sym);
	const Elf64_Sym *symbols = at(image, table->sh_offset, count, sizeof(*symbols));
	const char *text;

	if (!symbols || names->sh_offset > image->size ||
	    names->sh_size > image->size - names->sh_offset)
		return;
	text = (const char *)image->bytes + names->sh_offset;
	for (size_t i = 0; i < count; i++) {
		const uint32_t begin = symbols[i].st_name;

		if (begin < names->sh_size && memchr(text + begin, '\0', names->sh_size - begin))
			take_name(text + begin, &symbols[i], own);
	}
}

struct own_malloc own_malloc_find_in(const void *bytes, size_t size, bool all)
{
	const struct image image = { bytes, size };
	const Elf64_Ehdr *elf = at(&image, 0, 1, sizeof(*elf));
	struct own_malloc own = { 0 };
	const Elf64_Shdr *sections;

	if (!elf || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_shnum > SECTIONS_MAX)
		return own;
	sections = at(&image, elf->e_shoff, elf->e_shnum, sizeof(*sections));
	for (unsigned i = 0; sections && i < elf->e_shnum; i++) {
		const Elf64_Shdr *section = &sections[i];

		if ((section->sh_type == SHT_DYNSYM || (all && section->sh_type == SHT_SYMTAB)) &&
		    section->sh_link < elf->e_shnum)
			take_table(&image, section, &sections[section->sh_link], &own);
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
