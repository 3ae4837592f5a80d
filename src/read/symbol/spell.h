/*
 * spell: names of functions as people write them. std::__cxx11::basic_string<char,
 * std::char_traits<char>, std::allocator<char> > is std::string; arguments that a template of the
 * standard library has by default are left out; so are inline namespaces and ABI tags.
 *
 * A name that cannot be read this way stays as it is. Thread-safe; owns nothing.
 */
#ifndef MEMTAPE_SYMBOL_SPELL_H
#define MEMTAPE_SYMBOL_SPELL_H

#include "symbol/symbol.h"

/* name itself where nothing changes or memory is short, else a copy in the arena. */
const char *spell_name(const char *name, enum symbol_spelling spelling, struct arena *arena);

#endif
