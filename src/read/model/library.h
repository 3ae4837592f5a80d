/* library: which functions are of libraries and language runtimes. Internal to model. */
#ifndef MEMTAPE_MODEL_LIBRARY_H
#define MEMTAPE_MODEL_LIBRARY_H

#include "model/roles.h"

bool library_has(const struct role_subject *subject);

/* See role_builtin. */
bool library_builtin(size_t index, struct role_builtin *builtin_ret);

#endif
