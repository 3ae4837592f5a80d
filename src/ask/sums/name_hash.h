/*
 * name_hash: functions named by a number that is the same on every tape: of the function and the
 * short name of its module, without the module's version. The program itself has one and the same
 * module, whatever it is called. Addresses, folders and lines do not matter.
 */
#ifndef MEMTAPE_SUMS_NAME_HASH_H
#define MEMTAPE_SUMS_NAME_HASH_H

#include "model/names.h"

uint64_t name_hash(const struct model *model, const struct name *name);

/* Of a module alone, by its path and the last part of that. */
uint64_t name_hash_module(const struct model *model, const char *path, const char *module_short);

#endif
