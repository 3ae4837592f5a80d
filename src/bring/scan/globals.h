/*
 * globals: the variables of loaded objects, from the symbol tables of their files.
 */
#ifndef MEMTAPE_SCAN_GLOBALS_H
#define MEMTAPE_SCAN_GLOBALS_H

#include "base/str.h"
#include "base/vec.h"

struct globals_variable {
	uint64_t begin, end; /* in the file's address space: minus the module's bias */
	uint32_t name;	     /* offset in texts */
};

VEC_DEFINE(globals_variables, struct globals_variable);

struct globals {
	struct globals_variables variables; /* by address, not overlapping */
	struct str texts;
	uint64_t tls_bytes; /* of its thread-local variables in each thread */
};

/* Of a file that is no longer there, or has no symbols, there are none: not an error. */
struct err *globals_read(const char *path, struct globals *globals);
void globals_deinit(struct globals *globals);
CLEAN_DEFINE_DEINIT(globals_deinit, struct globals);

#endif
