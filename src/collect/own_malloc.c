#include "collect/own_malloc.h"

#include <elf.h>
#include <fcntl.h>
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

static bool is_malloc(const struct image *image, const Elf64_Shdr *names, const Elf64_Sym *symbol)
{
	static const char name[] = "malloc";

	return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
	       symbol->st_name < names->sh_size &&
	       names->sh_size - symbol->st_name >= sizeof(name) &&
	       memcmp(image->bytes + names->sh_offset + symbol->st_name, name, sizeof(name)) == 0;
}

static bool table_has(const struct image *image, const Elf64_Shdr *table, const Elf64_Shdr *names)
{
	const size_t count = table->sh_size / sizeof(Elf64_Sym);
	const Elf64_Sym *symbols = at(image, table->sh_offset, count, sizeof(*symbols));

	if (!symbols || names->sh_offset > image->size ||
	    names->sh_size > image->size - names->sh_offset)
		return false;
	for (size_t i = 0; i < count; i++)
		if (is_malloc(image, names, &symbols[i]))
			return true;
	return false;
}

static bool image_has(const struct image *image)
{
	const Elf64_Ehdr *elf = at(image, 0, 1, sizeof(*elf));
	const Elf64_Shdr *sections;

	if (!elf || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_shnum > SECTIONS_MAX)
		return false;
	sections = at(image, elf->e_shoff, elf->e_shnum, sizeof(*sections));
	for (unsigned i = 0; sections && i < elf->e_shnum; i++) {
		const Elf64_Shdr *section = &sections[i];

		if ((section->sh_type == SHT_DYNSYM || section->sh_type == SHT_SYMTAB) &&
		    section->sh_link < elf->e_shnum &&
		    table_has(image, section, &sections[section->sh_link]))
			return true;
	}
	return false;
}

bool own_malloc_is_in(const char *path)
{
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct image image;
	struct stat status;
	void *map;
	bool has;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
		return false;
	map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return false;
	image = (struct image) { map, (size_t)status.st_size };
	has = image_has(&image);
	munmap(map, image.size);
	return has;
}
