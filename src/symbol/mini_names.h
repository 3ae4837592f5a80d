/*
 * mini_names: names from .gnu_debugdata, a compressed symbol table that some distributions leave in
 * stripped objects.
 */
#ifndef MEMTAPE_SYMBOL_MINI_NAMES_H
#define MEMTAPE_SYMBOL_MINI_NAMES_H

#include "base/arena.h"
#include "symbol/elf_names.h"

/* Adds them; texts are kept in the arena. Adds nothing when they cannot be read. */
void mini_names_add(struct elf_names *names, const char *path, struct arena *arena);

#endif
