/*
 * demangle: source names of linkage names.
 *
 * C++ (Itanium), Rust (v0 and legacy), D and Ada. Thread-safe; owns nothing.
 */
#ifndef MEMTAPE_SYMBOL_DEMANGLE_H
#define MEMTAPE_SYMBOL_DEMANGLE_H

#include <stdbool.h>

/*
 * The readable form, which the caller frees, or NULL if name is not mangled (a C function) or
 * invalid. Parameters are kept, return types of templates are not.
 */
char *demangle(const char *name);

/* Whether a compiler made this name: it says more than the function's plain name. */
bool demangle_is_mangled(const char *name);

#endif
