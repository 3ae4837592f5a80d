/*
 * own_malloc: whether an executable has a malloc of its own. Calls of it, and of the libraries it
 * loads, are bound to that one and come by no library that was preloaded.
 */
#ifndef MEMTAPE_COLLECT_OWN_MALLOC_H
#define MEMTAPE_COLLECT_OWN_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* False also for what cannot be read or is no ELF file. */
bool own_malloc_is_in(const char *path);

/* What an executable has inside, by the names in it; all false or NULL where nothing is known. */
struct own_malloc {
	const char *sanitizer; /* "AddressSanitizer"; of one that a shared library has, too */
	const char *allocator; /* "jemalloc"; one that is linked into it */
	bool is_go;	       /* the runtime of Go, with a heap of its own */
	bool has_malloc;
	bool calls_malloc; /* of a library */
	/*
	 * "pool_": a name of an allocator that --allocator could make known, for the linker has
	 * left its functions to be found when they are called; "": there is none.
	 */
	char prefix[32];
	bool prefix_is_inside; /* it exports them; libraries may call them */
};

/* Without `all` only names that other objects may be bound to are read, which is quick. */
struct own_malloc own_malloc_find(const char *path, bool all);
/* The same for a file's bytes, aligned to 8. */
struct own_malloc own_malloc_find_in(const void *bytes, size_t size, bool all);

#endif
