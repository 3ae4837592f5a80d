/*
 * machine: processors by the names that uname -m has for them, as far as recordings come from them.
 */
#ifndef MEMTAPE_ARCH_MACHINE_H
#define MEMTAPE_ARCH_MACHINE_H

#include <stdint.h>

const char *arch_machine_name(uint16_t elf_machine); /* "unknown" for others */
uint16_t arch_machine_find(const char *name);	     /* EM_NONE for others */

#endif
