/*
 * object: one object of a symbolizer: its files, and the names at its addresses. Internal to
 * symbol.
 *
 * One thread at a time may use an object; different objects are independent. Opening finds the
 * files and the cache and reads no tables; these are read on the first lookup of an address that is
 * neither on the tape nor in the cache.
 */
#ifndef MEMTAPE_SYMBOL_OBJECT_H
#define MEMTAPE_SYMBOL_OBJECT_H

#include <pthread.h>

#include "symbol/cache.h"
#include "symbol/debug_info.h"
#include "symbol/debug_variables.h"
#include "symbol/elf_names.h"
#include "symbol/symbol.h"

/* Shared by all objects of a symbolizer. */
struct object_env {
	const char *const *debug_dirs;
	const struct path_map *paths;
	struct debuginfod *debuginfod; /* NULL: stay off the network */
	pthread_mutex_t *debuginfod_lock;
	const struct cache *cache;	 /* NULL: none */
	const struct embedded *embedded; /* NULL: none */
};

struct object {
	const struct object_env *env;
	const char *path;	/* as recorded: its name */
	const char *file_path;	/* as recorded: of its file, which path may be a link to */
	const char *found_path; /* its path here */
	const char *short_name; /* last part of the path */
	const uint8_t *build_id;
	size_t build_id_bytes;
	enum symbol_state state;
	struct elf_file *file;	/* NULL if missing or stale */
	struct elf_file *debug; /* separate debug file */
	const char *debug_path; /* its path */
	bool is_fetched;	/* debug came from a server */
	const char *dwarf_path; /* what has .debug_info; NULL: nothing */
	struct debug_info *debug_info;
	struct debug_variables *variables; /* NULL: not read yet, or none */
	bool has_variables;		   /* they were read */
	struct elf_names names;		   /* of symbol tables */
	bool has_names;			   /* they were read */
	struct map frames;		   /* address -> struct symbol_frames * */
	struct map texts;		   /* pointer to a text -> its readable copy */
	struct vec_u64 fresh;		   /* addresses that `cached` does not have */
	size_t kept_count;		   /* of them: already in the cache's file */
	const struct pack *embedded;
	struct cache_file cached; /* bytes NULL: none */
	uint64_t identity;	  /* 0: do not cache */
	struct arena arena;
};

/* file: where it was; NULL: at path. */
struct object *object_create(const struct object_env *env, const char *path, const char *file,
			     const uint8_t *build_id, size_t build_id_bytes);
void object_destroy(struct object *object); /* accepts NULL; saves new names in the cache */

/* Finds its files. Once; later calls do nothing. */
void object_open(struct object *object);

/* NULL: out of memory. Lives as long as the object. */
const struct symbol_frames *object_frames(struct object *object, uint64_t address);

/* The variable at an address of the file. False: nothing is known of it. */
bool object_variable(struct object *object, uint64_t address, struct debug_variable *variable_ret);

/* Saves new names in the cache; on failure they are looked up again next time. */
void object_keep(struct object *object);

/* --- object_open.c, for object.c ------------------------------------------------------------- */

/* Reads the symbol tables; state is final after that. */
void object_read_names(struct object *object);

#endif
