/*
 * debug_file: where the separate debug file of an object is. Looks on disk only.
 */
#ifndef MEMTAPE_SYMBOL_DEBUG_FILE_H
#define MEMTAPE_SYMBOL_DEBUG_FILE_H

#include "symbol/elf_file.h"

struct debug_file_query {
	const char *const *dirs;       /* "/usr/lib/debug", ...; NULL ends */
	const char *object_path;       /* as recorded */
	const char *found_path;	       /* where it is here; NULL: nowhere */
	const struct elf_file *object; /* NULL: the object itself is not there any more */
	const uint8_t *build_id;       /* as recorded; NULL: not known */
	size_t build_id_bytes;
};

/*
 * By build-id, then by the object's .gnu_debuglink. Where build-ids are known they agree, where
 * they are not the link's checksum does. Returns the opened file, for the caller to close, and its
 * path, for the caller to free; or NULL.
 */
struct elf_file *debug_file_find(const struct debug_file_query *query, char **path_ret);

/* DIR/.build-id/ab/cdef.debug, where there is such a file; for the caller to free, or NULL. */
char *debug_file_by_build_id(const char *const *dirs, const uint8_t *build_id,
			     size_t build_id_bytes);

#endif
