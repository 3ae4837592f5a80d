/*
 * debug_variables: debug information of one object: address of a variable -> its type and where it
 * is declared. An adapter of elfutils' libdw.
 *
 * Opening reads all variables with a fixed address, so it costs a pass over the object's debug
 * information: open it only if something is asked. Not thread-safe.
 */
#ifndef MEMTAPE_SYMBOL_DEBUG_VARIABLES_H
#define MEMTAPE_SYMBOL_DEBUG_VARIABLES_H

#include "base/err.h"

struct debug_variables;

struct debug_variable {
	const char *type; /* "std::map<int, Session *>", "struct node *[16]"; NULL: unknown */
	const char *file; /* of its declaration, as passed to the compiler; NULL: unknown */
	uint32_t line;	  /* 0: unknown */
};

/* path: an object with .debug_info. ERR_FORMAT: it has none. */
struct err *debug_variables_open(const char *path, struct debug_variables **variables_ret);
void debug_variables_close(struct debug_variables *variables); /* accepts NULL */
CLEAN_DEFINE(debug_variables_close, struct debug_variables *);

/*
 * The variable that begins at an address of the file (address - bias). False: none. Texts live as
 * long as the debug_variables. The type's name is full (symbol/spell.h).
 */
bool debug_variables_find(struct debug_variables *variables, uint64_t address,
			  struct debug_variable *variable_ret);

#endif
