/*
 * elf_starts: start addresses of functions in an object without their names. The unwind search
 * table (.eh_frame_hdr) is sorted by them, and stripping never removes it.
 */
#ifndef MEMTAPE_SYMBOL_ELF_STARTS_H
#define MEMTAPE_SYMBOL_ELF_STARTS_H

#include "symbol/elf_file.h"

/* The start of the function around address; address itself if unknown. */
uint64_t elf_starts_find(const struct elf_file *file, uint64_t address);

#endif
