/* paths: finds files of another machine, or of another time, on this one. Immutable. */
#ifndef MEMTAPE_SYMBOL_PATHS_H
#define MEMTAPE_SYMBOL_PATHS_H

#include "base/arena.h"
#include "base/err.h"

struct path_rule {
	const char *from;
	const char *to;
};

/* All zeros: every path is unchanged. */
struct path_map {
	const struct path_rule *rules; /* the first match wins */
	size_t count;
	const char *sysroot; /* of objects; NULL: none */
};

/*
 * Parses "FROM=TO,FROM=TO ..." into rules, which live in the arena. ERR_USAGE: invalid. A rule
 * matches FROM itself and paths below it.
 */
struct err *path_map_parse(const char *text, struct arena *arena, struct path_map *map);

/* The path after applying the first matching rule, in the arena, or path itself. Never NULL. */
const char *path_map_apply(const struct path_map *map, const char *path, struct arena *arena);

/*
 * Where to search a recorded object: the mapped path if that file exists, else below the sysroot if
 * it exists there, else path itself.
 */
const char *path_map_object(const struct path_map *map, const char *path, struct arena *arena);

/* "DIR:DIR ..." as a NULL-terminated list in the arena; NULL: out of memory. */
const char *const *path_list_parse(const char *text, struct arena *arena);

#endif
