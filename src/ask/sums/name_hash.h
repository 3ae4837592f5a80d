/*
 * name_hash: a hash of a function that is equal on every tape: of its name and its module's short
 * name without version. All programs count as the same module, whatever their name. Addresses,
 * folders and lines do not matter.
 */
#ifndef MEMTAPE_SUMS_NAME_HASH_H
#define MEMTAPE_SUMS_NAME_HASH_H

#include "model/names.h"

uint64_t name_hash(const struct model *model, const struct name *name);

/* For a module, by its path and the last part of the path. */
uint64_t name_hash_module(const struct model *model, const char *path, const char *module_short);

#endif
