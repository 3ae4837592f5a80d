/*
 * elf_names: functions of one object by address, from .symtab and .dynsym.
 *
 * Borrows names from the elf_file it was filled from, which must outlive it. Filled once, then
 * immutable.
 */
#ifndef MEMTAPE_SYMBOL_ELF_NAMES_H
#define MEMTAPE_SYMBOL_ELF_NAMES_H

#include "symbol/elf_file.h"

struct elf_name {
	uint64_t address; /* as in the file: pc - bias */
	uint64_t bytes;
	const char *name; /* linkage name */
	uint32_t rank;	  /* the lowest of an address is shown */
	bool is_open;	  /* unknown size: also ends where another name begins */
};

struct elf_names {
	struct elf_name *names; /* sorted by address, then by rank */
	size_t count;
	size_t capacity;
};

/* Adds the functions of every symbol table of file. False: out of memory. */
bool elf_names_add(struct elf_names *names, const struct elf_file *file);

/* Adds one function; binding as in st_info. name is borrowed. False: out of memory. */
bool elf_names_push(struct elf_names *names, const char *name, uint64_t address, uint64_t bytes,
		    unsigned binding);

/* Call once after the last add. False: out of memory, and all names are dropped. */
bool elf_names_sort(struct elf_names *names);

/* NULL: no function covers the address. */
const struct elf_name *elf_names_find(const struct elf_names *names, uint64_t address);

void elf_names_deinit(struct elf_names *names);

#endif
