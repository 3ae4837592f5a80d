/* roles: which functions belong to the machinery of allocation or of program start, by name. */
#ifndef MEMTAPE_MODEL_ROLES_H
#define MEMTAPE_MODEL_ROLES_H

#include "model/names.h"

/* module_short is "" for code outside of every object. */
enum name_role role_of(const char *function, const char *module_short);

#endif
