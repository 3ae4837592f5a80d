/*
 * demangle: what a linker's name was in the source.
 *
 * C++ (Itanium), Rust (v0 and legacy), D and Ada. Thread-safe; owns nothing.
 */
#ifndef MEMTAPE_SYMBOL_DEMANGLE_H
#define MEMTAPE_SYMBOL_DEMANGLE_H

#include <stdbool.h>

/*
 * The readable form, for the caller to free(), or NULL when name is not mangled (a C function) or
 * cannot be read. Parameters are kept, return types of templates are not.
 */
char *demangle(const char *name);

/* Whether a compiler made this name: it says more than the plain name of the same function. */
bool demangle_is_mangled(const char *name);

#endif
