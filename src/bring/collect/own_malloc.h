/*
 * own_malloc: whether an executable has its own malloc. Its calls, and those of the libraries it
 * loads, are bound to that one and bypass a preloaded library.
 */
#ifndef MEMTAPE_COLLECT_OWN_MALLOC_H
#define MEMTAPE_COLLECT_OWN_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* Also false if the file cannot be read or is not ELF. */
bool own_malloc_is_in(const char *path);

/* What an executable contains, by its symbol names; all false or NULL if unknown. */
struct own_malloc {
	const char *sanitizer; /* "AddressSanitizer"; also if it is in a shared library */
	const char *allocator; /* "jemalloc"; statically linked */
	bool is_go;	       /* the Go runtime, which has its own heap */
	bool has_malloc;
	bool calls_malloc; /* from a library */
	/*
	 * "pool_": prefix of an allocator that --allocator could name, because its functions are
	 * bound at run time; "": none.
	 */
	char prefix[32];
	bool prefix_is_inside; /* it exports them; libraries may call them */
};

/* Without `all`, reads only names that other objects may bind to, which is fast. */
struct own_malloc own_malloc_find(const char *path, bool all);
/* The same for a file's bytes, aligned to 8. */
struct own_malloc own_malloc_find_in(const void *bytes, size_t size, bool all);

#endif
