/*
 * exports: the functions that a loaded object defines for others, by its dynamic symbols.
 */
#ifndef MEMTAPE_SCAN_EXPORTS_H
#define MEMTAPE_SCAN_EXPORTS_H

#include "base/str.h"
#include "base/vec.h"
#include "symbol/elf_file.h"

struct exports_function {
	uint64_t begin, end; /* in the file: address - bias */
	uint32_t name;	     /* offset in texts */
	bool is_old;	     /* a version that new programs are not linked with */
};

VEC_DEFINE(exports_functions, struct exports_function);

/* All zeros: of an object without functions. */
struct exports {
	struct exports_functions functions; /* by address */
	struct str texts;
};

/* Of a file; one that cannot be read has none. False: out of memory. */
bool exports_read(const char *path, struct exports *exports);
bool exports_of(const struct elf_file *file, struct exports *exports);
void exports_deinit(struct exports *exports);
CLEAN_DEFINE_DEINIT(exports_deinit, struct exports);

/* The function of that name, the current version; NULL: none. */
const struct exports_function *exports_find(const struct exports *exports, const char *name);

/* The name of the function at an address of the file; NULL: none that is exported. */
const char *exports_name(const struct exports *exports, uint64_t address);

#endif
