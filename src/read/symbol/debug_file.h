/* debug_file: finds the separate debug file of an object. Searches the disk only. */
#ifndef MEMTAPE_SYMBOL_DEBUG_FILE_H
#define MEMTAPE_SYMBOL_DEBUG_FILE_H

#include "symbol/elf_file.h"

struct debug_file_query {
	const char *const *dirs;       /* "/usr/lib/debug", ...; NULL ends */
	const char *object_path;       /* as recorded */
	const char *found_path;	       /* its path here; NULL: none */
	const struct elf_file *object; /* NULL: the object itself no longer exists */
	const uint8_t *build_id;       /* as recorded; NULL: unknown */
	size_t build_id_bytes;
};

/*
 * By build-id, then by the object's .gnu_debuglink. Known build-ids must match, otherwise the
 * link's checksum must. Returns the opened file, which the caller closes, and its path, which the
 * caller frees; or NULL.
 */
struct elf_file *debug_file_find(const struct debug_file_query *query, char **path_ret);

/* DIR/.build-id/ab/cdef.debug, if that file exists; the caller frees it. Or NULL. */
char *debug_file_by_build_id(const char *const *dirs, const uint8_t *build_id,
			     size_t build_id_bytes);

#endif
