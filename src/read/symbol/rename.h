/* rename: copies embedded names (symbol/embedded.h) with texts replaced. */
#ifndef MEMTAPE_SYMBOL_RENAME_H
#define MEMTAPE_SYMBOL_RENAME_H

#include "symbol/embedded.h"

/*
 * Replacement texts; they live at least until the next call of the same function. A function that
 * is NULL changes nothing. A text that is NULL means out of memory.
 */
struct renamer {
	void *context;
	/* False: the object is left out. *build_id may be replaced, of the same length. */
	bool (*object)(void *context, const struct embedded_object *object, const char **path_ret,
		       const uint8_t **build_id_ret);
	/* Of the object passed last. */
	const char *(*function)(void *context, const char *name);
	const char *(*file)(void *context, const char *path);
};

/* Appends to out, which is empty. */
struct err *names_rename(const struct embedded *embedded, const struct renamer *renamer,
			 struct vec_u8 *out);

#endif
