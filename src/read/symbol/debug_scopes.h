/*
 * debug_scopes: what stands around the functions of debug information: "namespace::class::". A part
 * of the adapter of elfutils' libdw. Internal to symbol.
 */
#ifndef MEMTAPE_SYMBOL_DEBUG_SCOPES_H
#define MEMTAPE_SYMBOL_DEBUG_SCOPES_H

#include <elfutils/libdw.h>

#include "base/arena.h"

/* A function that has others inside; or a namespace, class or unit. */
struct debug_function {
	Dwarf_Die *die;	       /* NULL: no function */
	const char *scope;     /* around it; if it is no function, it too */
	unsigned lambda_count; /* so far */
};

/*
 * What stands around the functions in a namespace or type, which itself is inside `scope` and in
 * function. The class of a lambda has no name: it is called after the function, as in names of
 * symbols; outside of functions after the namespace or class. In the arena; scope itself if memory
 * runs out.
 */
const char *debug_scope_inside(Dwarf_Die *die, const char *scope, struct debug_function *function,
			       struct arena *arena);

#endif
