/*
 * paths: where files of another machine, or of another time, are on this one. Immutable.
 */
#ifndef MEMTAPE_SYMBOL_PATHS_H
#define MEMTAPE_SYMBOL_PATHS_H

#include "base/arena.h"
#include "base/err.h"

struct path_rule {
	const char *from;
	const char *to;
};

/* All zeros: every path is where it says. */
struct path_map {
	const struct path_rule *rules; /* the first that fits */
	size_t count;
	const char *sysroot; /* of objects; NULL: none */
};

/*
 * "FROM=TO,FROM=TO ..." into rules, which live in the arena. ERR_USAGE: it is none. A rule fits a
 * path that is FROM or lies below it.
 */
struct err *path_map_parse(const char *text, struct arena *arena, struct path_map *map);

/* The path after the first rule that fits, in the arena, or path itself. Never NULL. */
const char *path_map_apply(const struct path_map *map, const char *path, struct arena *arena);

/*
 * Where to look for a recorded object: what the rules say if there is such a file, else below the
 * sysroot if there is one, else path itself.
 */
const char *path_map_object(const struct path_map *map, const char *path, struct arena *arena);

/* "DIR:DIR ..." as a NULL-terminated list in the arena; NULL: no memory. */
const char *const *path_list_parse(const char *text, struct arena *arena);

#endif
