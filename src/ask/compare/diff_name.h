/*
 * diff_name: hashes of function names (name_hash) that are equal in two builds of a program:
 * without the suffixes compilers append to split or cloned functions.
 */
#ifndef MEMTAPE_COMPARE_DIFF_NAME_H
#define MEMTAPE_COMPARE_DIFF_NAME_H

#include "model/names.h"

uint64_t diff_name_hash(const struct model *model, const struct name *name);

#endif
