/*
 * diff_name: functions named by a number that two builds of a program have in common (name_hash),
 * without what compilers append to functions that they split or cloned.
 */
#ifndef MEMTAPE_COMPARE_DIFF_NAME_H
#define MEMTAPE_COMPARE_DIFF_NAME_H

#include "model/names.h"

uint64_t diff_name_hash(const struct model *model, const struct name *name);

#endif
