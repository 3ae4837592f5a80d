/*
 * elf_starts: where functions begin in an object that does not name them. The table for unwinding
 * (.eh_frame_hdr) is sorted by it, and no stripping removes it.
 */
#ifndef MEMTAPE_SYMBOL_ELF_STARTS_H
#define MEMTAPE_SYMBOL_ELF_STARTS_H

#include "symbol/elf_file.h"

/* The beginning of the function around address; address itself when it is not known. */
uint64_t elf_starts_find(const struct elf_file *file, uint64_t address);

#endif
