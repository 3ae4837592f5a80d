/*
 * symbols: names that loaded objects define, read without the loader's help. Neither locks nor
 * allocates; any thread, any time.
 */
#ifndef MEMTAPE_REC_SYMBOLS_H
#define MEMTAPE_REC_SYMBOLS_H

#include "core/core.h"

struct rec_symbol {
	uint64_t address;
	const void
		*dynamic; /* the first entry of its object's dynamic section, which no other has */
	bool is_resolver; /* of an IFUNC: it must be called to have the function's address */
};

/* Like dlsym(RTLD_NEXT, name) in our library; false: not defined. */
bool rec_symbol_next(const char *name, struct rec_symbol *symbol_ret);
/* In one object, of which only l_addr and l_ld are used. */
struct link_map;
bool rec_symbol_in(const struct link_map *map, const char *name, struct rec_symbol *symbol_ret);
/* In any loaded object except ours. */
bool rec_symbol_any(const char *name, struct rec_symbol *symbol_ret);

/*
 * A function that old C libraries have in a library of its own (libdl, libpthread); NULL: not loaded.
 * Any thread, any time.
 */
void *rec_libc_function(const char *name);

/* Visits the loaded objects, as dl_iterate_phdr. Takes the loader's lock. */
struct dl_phdr_info;
int rec_objects_each(int (*visit)(struct dl_phdr_info *info, size_t bytes, void *context),
		     void *context);

/* Whether an object with this dynamic section (its first entry) is the one that we are in. */
bool rec_object_is_own(const void *dynamic);

/*
 * dlsym() itself, or where there is none yet a search of our own. What we would reach by its name may be the way to it of an executable that is not
 * position-independent, and that is led to us (slots.c).
 */
extern void *(*rec_dlsym)(void *handle, const char *name);

#endif
