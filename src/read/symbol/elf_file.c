#include "symbol/elf_file.h"

#include <assert.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "core/core.h"

enum { SECTIONS_MAX = 1 << 20 };

/* Bytes [offset, offset + bytes) of the file, or NULL if it is too short. */
static const void *file_at(const struct elf_file *file, uint64_t offset, uint64_t bytes)
{
	if (offset > file->size || bytes > file->size - offset)
		return NULL;
	return file->bytes + offset;
}

/* What a header of either class says, without its name. */
#define SECTION(file, header)                                                                      \
	((struct elf_section) {                                                                    \
		"",                                                                                \
		ELF_FILE_GET(file, (header).sh_type),                                              \
		ELF_FILE_GET(file, (header).sh_link),                                              \
		ELF_FILE_GET(file, (header).sh_addr),                                              \
		ELF_FILE_GET(file, (header).sh_offset),                                            \
		ELF_FILE_GET(file, (header).sh_size),                                              \
		ELF_FILE_GET(file, (header).sh_entsize),                                           \
	})

/* Converts a header of either class into ours; name is an offset until names are known. */
static bool section_read(const struct elf_file *file, uint64_t offset, struct elf_section *section,
			 uint32_t *name_ret)
{
	if (file->is_64) {
		Elf64_Shdr header;
		const void *ptr = file_at(file, offset, sizeof(header));

		if (!ptr)
			return false;
		memcpy(&header, ptr, sizeof(header));
		*name_ret = ELF_FILE_GET(file, header.sh_name);
		*section = SECTION(file, header);
	} else {
		Elf32_Shdr header;
		const void *ptr = file_at(file, offset, sizeof(header));

		if (!ptr)
			return false;
		memcpy(&header, ptr, sizeof(header));
		*name_ret = ELF_FILE_GET(file, header.sh_name);
		*section = SECTION(file, header);
	}
	if (section->type == SHT_NOBITS || !file_at(file, section->offset, section->bytes))
		section->offset = section->bytes = 0; /* empty, and safe to point to */
	return true;
}

static const char *string_at(const struct elf_file *file, const struct elf_section *strings,
			     uint64_t offset)
{
	const char *base;

	if (offset >= strings->bytes)
		return "";
	base = (const char *)file->bytes + strings->offset;
	return memchr(base + offset, 0, strings->bytes - offset) ? base + offset : "";
}

struct table_place {
	uint64_t offset;
	uint64_t count;
	uint64_t entry_bytes;
	uint64_t names_index;
};

#define TABLE_PLACE(file, header)                                                                  \
	((struct table_place) {                                                                    \
		ELF_FILE_GET(file, (header).e_shoff),                                              \
		ELF_FILE_GET(file, (header).e_shnum),                                              \
		ELF_FILE_GET(file, (header).e_shentsize),                                          \
		ELF_FILE_GET(file, (header).e_shstrndx),                                           \
	})

static bool table_place_read(struct elf_file *file, struct table_place *place)
{
	if (file->is_64) {
		Elf64_Ehdr header;
		const void *ptr = file_at(file, 0, sizeof(header));

		if (!ptr)
			return false;
		memcpy(&header, ptr, sizeof(header));
		file->machine = ELF_FILE_GET(file, header.e_machine);
		*place = TABLE_PLACE(file, header);
	} else {
		Elf32_Ehdr header;
		const void *ptr = file_at(file, 0, sizeof(header));

		if (!ptr)
			return false;
		memcpy(&header, ptr, sizeof(header));
		file->machine = ELF_FILE_GET(file, header.e_machine);
		*place = TABLE_PLACE(file, header);
	}
	return true;
}

static struct err *sections_read(struct elf_file *file)
{
	struct table_place place;
	struct elf_section first;
	CLEAN(free) uint32_t *names = NULL;
	uint32_t name = 0;

	if (!table_place_read(file, &place))
		return err_new(ERR_FORMAT, "the ELF header is truncated");
	if (place.offset == 0 || !section_read(file, place.offset, &first, &name))
		return NULL;	/* no section table: nothing to find here, but not an error */
	if (place.count == 0) { /* more than 65,279 sections: the counts are in the first */
		Elf64_Shdr header;

		if (!file->is_64)
			return NULL;
		memcpy(&header, file->bytes + place.offset, sizeof(header));
		place.count = ELF_FILE_FIX(file, header.sh_size);
	}
	if (place.names_index == SHN_XINDEX)
		place.names_index = first.link;
	if (place.count > SECTIONS_MAX ||
	    place.entry_bytes < (file->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		return err_new(ERR_FORMAT, "the ELF section table is damaged");
	file->sections = calloc(place.count, sizeof(*file->sections));
	names = calloc(place.count, sizeof(*names));
	if (!file->sections || !names)
		return err_nomem();
	for (; file->section_count < place.count; file->section_count++) {
		size_t i = file->section_count;

		if (!section_read(file, place.offset + i * place.entry_bytes, &file->sections[i],
				  &names[i]))
			break;
	}
	if (place.names_index < file->section_count) {
		for (size_t i = 0; i < file->section_count; i++)
			file->sections[i].name =
				string_at(file, &file->sections[place.names_index], names[i]);
	}
	return NULL;
}

/* Finds NT_GNU_BUILD_ID among notes. */
static void notes_read(struct elf_file *file, uint64_t offset, uint64_t bytes)
{
	while (bytes >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name_bytes, desc_bytes;

		memcpy(&note, file->bytes + offset, sizeof(note));
		ELF_FILE_FIX(file, note.n_namesz);
		ELF_FILE_FIX(file, note.n_descsz);
		ELF_FILE_FIX(file, note.n_type);
		name_bytes = align_up(note.n_namesz, 4);
		desc_bytes = align_up(note.n_descsz, 4);
		offset += sizeof(note);
		bytes -= sizeof(note);
		if (name_bytes > bytes || note.n_descsz > bytes - name_bytes)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(file->bytes + offset, "GNU", 4) == 0 && note.n_descsz > 0) {
			file->build_id = file->bytes + offset + name_bytes;
			file->build_id_bytes = note.n_descsz;
			return;
		}
		if (desc_bytes > bytes - name_bytes)
			return;
		offset += name_bytes + desc_bytes;
		bytes -= name_bytes + desc_bytes;
	}
}

/* A file name and, at the next multiple of four, a checksum. */
static void debug_link_read(struct elf_file *file, const struct elf_section *section)
{
	const char *name = (const char *)file->bytes + section->offset;
	const size_t name_bytes = align_up(strnlen(name, section->bytes) + 1, 4);

	if (name_bytes > section->bytes || section->bytes - name_bytes < sizeof(uint32_t))
		return;
	file->debug_link = name;
	file->debug_link_crc = elf_file_u32(file, name + name_bytes);
}

static void sections_use(struct elf_file *file)
{
	for (size_t i = 0; i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];

		if (section->bytes == 0)
			continue;
		if (section->type == SHT_NOTE && !file->build_id)
			notes_read(file, section->offset, section->bytes);
		else if (section->type == SHT_SYMTAB)
			file->has_symtab = true;
		else if (strcmp(section->name, ".gnu_debuglink") == 0)
			debug_link_read(file, section);
		else if (strcmp(section->name, ".debug_info") == 0 ||
			 strcmp(section->name, ".zdebug_info") == 0)
			file->has_debug_info = true;
		else if (strcmp(section->name, ".gnu_debugdata") == 0)
			file->has_mini_debug = true;
	}
}

static struct err *contents_map(struct elf_file *file, const char *path)
{
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	void *map;

	if (fd < 0)
		return err_errno("open %s", path);
	if (fstat(fd, &status) != 0)
		return err_errno("stat %s", path);
	if (!S_ISREG(status.st_mode) || status.st_size < EI_NIDENT)
		return err_new(ERR_FORMAT, "%s is not an ELF object", path);
	map = file_map(fd, (uint64_t)status.st_size, MAP_PRIVATE);
	if (map == MAP_FAILED)
		return err_errno("map %s", path);
	file->bytes = map;
	file->size = (size_t)status.st_size;
	file->is_mapped = true;
	return NULL;
}

static struct err *ident_check(struct elf_file *file)
{
	const uint8_t *ident = file->bytes;

	if (memcmp(ident, ELFMAG, SELFMAG) != 0)
		return err_new(ERR_FORMAT, "not an ELF object");
	file->is_64 = ident[EI_CLASS] == ELFCLASS64;
	file->is_big = file->is_64 && ident[EI_DATA] == ELFDATA2MSB;
	if ((ident[EI_DATA] != ELFDATA2LSB && !file->is_big) ||
	    (!file->is_64 && ident[EI_CLASS] != ELFCLASS32))
		return err_new(ERR_UNSUPPORTED, "unknown ELF class");
	return NULL;
}

static struct err *file_read(struct elf_file *file)
{
	struct err *err = ident_check(file);

	if (!err)
		err = sections_read(file);
	if (!err)
		sections_use(file);
	return err;
}

struct err *elf_file_open(const char *path, struct elf_file **file_ret)
{
	CLEAN(elf_file_close) struct elf_file *file = calloc(1, sizeof(*file));
	struct err *err;

	if (!file)
		return err_nomem();
	err = contents_map(file, path);
	if (err)
		return err;
	err = file_read(file);
	if (err)
		return err_wrap(err, "%s", path);
	*file_ret = steal(file);
	return NULL;
}

struct err *elf_file_view(const void *bytes, size_t size, struct elf_file **file_ret)
{
	CLEAN(elf_file_close) struct elf_file *file = calloc(1, sizeof(*file));
	struct err *err;

	assert(bytes || size == 0);
	if (!file)
		return err_nomem();
	if (size < EI_NIDENT)
		return err_new(ERR_FORMAT, "not an ELF object");
	file->bytes = bytes;
	file->size = size;
	err = file_read(file);
	if (err)
		return err;
	*file_ret = steal(file);
	return NULL;
}

/* It has no file; its section table is at its end. */
struct err *elf_file_open_vdso(struct elf_file **file_ret)
{
	const uintptr_t image = getauxval(AT_SYSINFO_EHDR);
	Elf64_Ehdr header;

	if (image == 0)
		return err_new(ERR_NOT_FOUND, "no vDSO");
	memcpy(&header, (const void *)image, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shoff > UINT16_MAX)
		return err_new(ERR_UNSUPPORTED, "unknown vDSO layout");
	return elf_file_view((const void *)image,
			     header.e_shoff + (size_t)header.e_shnum * header.e_shentsize,
			     file_ret);
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	if (file->is_mapped)
		munmap((void *)(uintptr_t)file->bytes, file->size);
	free(file->sections);
	free(file);
}

const struct elf_section *elf_file_section(const struct elf_file *file, const char *name)
{
	assert(file->sections || file->section_count == 0);
	for (size_t i = 0; i < file->section_count; i++) {
		if (strcmp(file->sections[i].name, name) == 0)
			return &file->sections[i];
	}
	return NULL;
}

bool elf_file_has_build_id(const struct elf_file *file, const uint8_t *id, size_t bytes)
{
	assert(id || bytes == 0);
	return bytes > 0 && file->build_id_bytes == bytes && memcmp(file->build_id, id, bytes) == 0;
}
