/*
 * spell: names of functions as people write them. std::__cxx11::basic_string<char,
 * std::char_traits<char>, std::allocator<char> > is std::string; default arguments of standard
 * library templates are left out; so are inline namespaces and ABI tags.
 *
 * A name that cannot be parsed is unchanged. Thread-safe; owns nothing.
 */
#ifndef MEMTAPE_SYMBOL_SPELL_H
#define MEMTAPE_SYMBOL_SPELL_H

#include "symbol/symbol.h"

/* name itself if nothing changes or memory runs out, else a copy in the arena. */
const char *spell_name(const char *name, enum symbol_spelling spelling, struct arena *arena);

/* Where the name of a function is in a demangled one: without return type and parameters. */
struct spell_parts {
	const char *name; /* in the text */
	size_t name_bytes;
	bool has_parameters;
};

struct spell_parts spell_parts_of(const char *full);

/*
 * A function's name without its return type, and without what says nothing of a lambda:
 * main::{lambda}. A library's is without template arguments and parameters, too:
 * std::vector::resize. Names that are not of C++ are unchanged. As spell_name otherwise.
 */
const char *spell_function(const char *name, bool is_library, struct arena *arena);

/* A function that compilers make of a lambda for pointers to it: "main::{lambda()#1}::_FUN()". */
bool spell_is_of_pointer(const char *name);

#endif
