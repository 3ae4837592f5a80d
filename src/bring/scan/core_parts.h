/* core_parts: what the files of core.h share. */
#ifndef MEMTAPE_SCAN_CORE_PARTS_H
#define MEMTAPE_SCAN_CORE_PARTS_H

#include "scan/core.h"

/* A program header. */
struct core_load {
	uint64_t begin, bytes; /* addresses */
	uint64_t offset, file_bytes;
	uint32_t flags; /* PF_ */
};

/* A mapping of a file, by NT_FILE. */
struct core_mapped {
	uint64_t begin, end, file_offset;
	uint32_t name; /* offset in texts */
};

VEC_DEFINE(core_loads, struct core_load);
VEC_DEFINE(core_mappings, struct core_mapped);

/* What a core says, before it becomes mappings. */
struct core_content {
	struct core_loads loads;
	struct core_mappings mapped;
	struct str texts;
	bool failed; /* out of memory */
};

/* core_elf.c: the only file that knows libelf. Threads go to the core. */
struct err *core_elf_read(int fd, uint64_t file_bytes, struct core *core,
			  struct core_content *content);

/* How an ELF file is mapped at an offset, PF_; 0: it is none, or nothing of it is there. */
uint32_t core_elf_flags(int fd, uint64_t offset);

/* core_notes.c: any bytes. owner: "CORE", "LINUX" ...; not terminated. */
struct core_note {
	uint32_t type;
	const char *owner;
	size_t owner_bytes;
	const uint8_t *bytes;
	size_t count;
};
void core_note_take(struct core *core, struct core_content *content, const struct core_note *note);

#endif
