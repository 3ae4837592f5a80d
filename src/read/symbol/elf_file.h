/*
 * elf_file: an ELF object on disk, as far as needed for names. Little-endian, 32 or 64 bits, read
 * through a private mapping; every offset in it is untrusted.
 *
 * Immutable once opened; returned pointers live as long as the file. Truncation of the file while
 * it is mapped cannot be guarded against (SIGBUS), as in any tool that maps files.
 */
#ifndef MEMTAPE_SYMBOL_ELF_FILE_H
#define MEMTAPE_SYMBOL_ELF_FILE_H

#include "base/err.h"
#include "core/core.h"

struct elf_section {
	const char *name; /* "" if the name table is damaged */
	uint32_t type;
	uint32_t link;
	uint64_t address;
	uint64_t offset; /* offset and bytes are inside the file, or bytes is 0 */
	uint64_t bytes;
	uint64_t entry_bytes;
};

struct elf_file {
	const uint8_t *bytes;
	size_t size;
	bool is_mapped; /* bytes are owned */
	bool is_64;
	bool is_big; /* its numbers are big-endian; of 64-bit files only */
	uint16_t machine;
	struct elf_section *sections;
	size_t section_count;
	const uint8_t *build_id; /* NULL: has none */
	size_t build_id_bytes;
	const char *debug_link;	 /* file name of the separate debug file, or NULL */
	uint32_t debug_link_crc; /* of that file (CRC-32 of ISO 3309) */
	bool has_debug_info;	 /* non-empty .debug_info */
	bool has_symtab;
	bool has_mini_debug; /* .gnu_debugdata: a compressed .symtab */
};

/* A number of the file, of so many bytes, that was read as if its byte order were that of this processor. */
static inline uint64_t elf_file_number(const struct elf_file *file, uint64_t value, size_t bytes)
{
	return file->is_big != ARCH_IS_BIG ? __builtin_bswap64(value) >> (64 - 8 * bytes) : value;
}

/* Four bytes of it. */
static inline uint32_t elf_file_u32(const struct elf_file *file, const void *ptr)
{
	const uint32_t value = load_u32(ptr);

	return file->is_big ? __builtin_bswap32(value) : value;
}

/* A member of its structures, which keeps its type: its value, and in place. */
#define ELF_FILE_GET(file, member)                                                                 \
	((__typeof__(member))elf_file_number((file), (member), sizeof(member)))
#define ELF_FILE_FIX(file, member) ((member) = ELF_FILE_GET((file), (member)))

/* ERR_FORMAT, ERR_UNSUPPORTED: not a supported ELF object. */
struct err *elf_file_open(const char *path, struct elf_file **file_ret);

/* The same for bytes in memory, which must outlive the file. */
struct err *elf_file_view(const void *bytes, size_t size, struct elf_file **file_ret);

/*
 * This process's vDSO from the kernel: another process's is the same if its build-id is.
 * ERR_NOT_FOUND: there is none.
 */
struct err *elf_file_open_vdso(struct elf_file **file_ret);

/* Accepts NULL. */
void elf_file_close(struct elf_file *file);
CLEAN_DEFINE(elf_file_close, struct elf_file *);

/* NULL: there is no such section. */
const struct elf_section *elf_file_section(const struct elf_file *file, const char *name);

/* Build-ids are compared as a whole; false if either side has none. */
bool elf_file_has_build_id(const struct elf_file *file, const uint8_t *id, size_t bytes);

#endif
