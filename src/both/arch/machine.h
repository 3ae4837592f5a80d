/*
 * machine: processor names as uname -m prints them, for the processors that recordings come from.
 */
#ifndef MEMTAPE_ARCH_MACHINE_H
#define MEMTAPE_ARCH_MACHINE_H

#include <stdint.h>

const char *arch_machine_name(uint16_t elf_machine); /* "unknown" for others */
/* The counter that its recordings are timed by, and "counter" for others. */
const char *arch_machine_counter(uint16_t elf_machine);
uint16_t arch_machine_find(const char *name); /* EM_NONE for others */

#endif
