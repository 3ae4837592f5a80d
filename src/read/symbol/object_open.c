/* Finds an object and its debug information on this machine. No table is read here. */
#include <assert.h>
#include <sys/stat.h>

#include "symbol/debug_file.h"
#include "symbol/embedded.h"
#include "symbol/object.h"
#include "symbol/paths.h"

/* Incremented when names are found differently: cached names of older versions are not used. */
enum { LOOKUP_VERSION = 5 };

/* Opens the object itself, if it is still the recorded one. */
static void open_file(struct object *object)
{
	CLEAN(err_destroy) struct err *err = NULL;

	object->found_path = path_map_object(object->env->paths, object->file_path, &object->arena);
	err = elf_file_open(object->found_path, &object->file);
	if (err) {
		object->state = SYMBOL_MISSING;
		return;
	}
	if (object->build_id_bytes > 0 &&
	    !elf_file_has_build_id(object->file, object->build_id, object->build_id_bytes)) {
		object->state = SYMBOL_STALE;
		elf_file_close(object->file);
		object->file = NULL;
	}
}

/* From a server, now or earlier; the file is checked like any other. */
static struct elf_file *debug_file_fetch(const struct object_env *env,
					 const struct debug_file_query *query, char **path_ret)
{
	CLEAN(free)
	char *path = debuginfod_find_fetched(query->build_id, query->build_id_bytes);
	struct elf_file *file = NULL;

	if (!path && env->debuginfod) {
		pthread_mutex_lock(env->debuginfod_lock);
		path = debuginfod_find(env->debuginfod, query->build_id, query->build_id_bytes);
		pthread_mutex_unlock(env->debuginfod_lock);
	}
	if (!path)
		return NULL;
	err_destroy(elf_file_open(path, &file));
	if (file && !elf_file_has_build_id(file, query->build_id, query->build_id_bytes)) {
		elf_file_close(file);
		file = NULL;
	}
	if (file)
		*path_ret = steal(path);
	return file;
}

static void open_debug(struct object *object)
{
	struct debug_file_query query = {
		.dirs = object->env->debug_dirs,
		.object_path = object->file_path,
		.found_path = object->found_path,
		.object = object->file,
		.build_id = object->build_id_bytes ? object->build_id : NULL,
		.build_id_bytes = object->build_id_bytes,
	};
	CLEAN(free) char *path = NULL;

	if (object->file && object->file->has_debug_info) {
		object->dwarf_path = object->found_path;
		return;
	}
	if (!query.build_id && object->file) {
		query.build_id = object->file->build_id;
		query.build_id_bytes = object->file->build_id_bytes;
	}
	object->debug = debug_file_find(&query, &path);
	if (!object->debug && query.build_id) {
		object->debug = debug_file_fetch(object->env, &query, &path);
		object->is_fetched = object->debug != NULL;
	}
	if (object->debug)
		object->debug_path = arena_strdup(&object->arena, path);
	if (object->debug && object->debug->has_debug_info)
		object->dwarf_path = object->debug_path;
}

/* Objects made by the kernel; names only if the running kernel's is the same. */
static void open_virtual(struct object *object)
{
	if (strstr(object->path, "vdso"))
		err_destroy(elf_file_open_vdso(&object->file));
	if (object->file &&
	    !elf_file_has_build_id(object->file, object->build_id, object->build_id_bytes)) {
		elf_file_close(object->file);
		object->file = NULL;
	}
	object->state = object->file ? SYMBOL_EXPORTS : SYMBOL_VIRTUAL;
}

static bool identity_add(struct str *text, const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return false;
	str_printf(text, "%s %lld %lld.%09ld\n", path, (long long)status.st_size,
		   (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
	return !text->failed;
}

/* 0: nothing here is worth caching. */
static uint64_t identity_of(const struct object *object)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_printf(&text, "%d %s ", LOOKUP_VERSION, object->path);
	for (size_t i = 0; i < object->build_id_bytes; i++)
		str_printf(&text, "%02x", object->build_id[i]);
	str_add_char(&text, '\n');
	if (!object->file && !object->debug)
		return 0;
	if (object->file && (!object->found_path || !identity_add(&text, object->found_path)))
		return 0;
	if (object->debug && object->debug_path && !identity_add(&text, object->debug_path))
		return 0;
	return hash_bytes(text.ptr, text.len, 0) | 1;
}

/* As far as known without reading the tables. */
static enum symbol_state state_guess(const struct object *object)
{
	const struct elf_file *file = object->file;

	if (object->dwarf_path)
		return SYMBOL_LINES;
	if ((object->debug && object->debug->has_symtab) ||
	    (file && (file->has_symtab || file->has_mini_debug)))
		return SYMBOL_NAMES;
	if (object->state != SYMBOL_UNREAD)
		return object->state;
	return file && elf_file_section(file, ".dynsym") ? SYMBOL_EXPORTS : SYMBOL_NONE;
}

static bool is_worse(enum symbol_state a, enum symbol_state b)
{
	static const uint8_t goodness[SYMBOL_STATE_COUNT] = {
		[SYMBOL_LINES] = 3,
		[SYMBOL_NAMES] = 2,
		[SYMBOL_EXPORTS] = 1,
	};

	return goodness[a] < goodness[b];
}

/* The guess is an upper bound; reading the tables may yield less. */
static void use_cached(struct object *object)
{
	const struct pack *pack = &object->cached.pack;

	if (!object->embedded && pack->header->state < SYMBOL_STATE_COUNT &&
	    is_worse(pack->header->state, object->state))
		object->state = pack->header->state;
}

/* The tape's own names are for missing files: better ones found here take precedence. */
static void use_embedded(struct object *object)
{
	const struct pack *pack = embedded_find(object->env->embedded, object->path,
						object->build_id, object->build_id_bytes);

	if (!pack || pack->header->state >= SYMBOL_STATE_COUNT ||
	    is_worse(pack->header->state, object->state))
		return;
	object->embedded = pack;
	object->state = pack->header->state;
}

void object_open(struct object *object)
{
	assert(object->state <= SYMBOL_VIRTUAL);
	if (object->state != SYMBOL_UNREAD)
		return;
	if (object->path[0] != '/') {
		open_virtual(object);
	} else {
		open_file(object);
		open_debug(object);
		object->state = state_guess(object);
	}
	use_embedded(object);
	if (!object->env->cache)
		return;
	object->identity = identity_of(object);
	if (object->identity &&
	    cache_load(object->env->cache, object->build_id, object->build_id_bytes,
		       object->identity, &object->cached))
		use_cached(object);
}

void object_read_names(struct object *object)
{
	bool has_symtab = (object->debug && object->debug->has_symtab) ||
			  (object->file && object->file->has_symtab);

	assert(object->state != SYMBOL_UNREAD);
	assert(!object->has_names);
	object->has_names = true;
	if (object->debug && object->debug->has_symtab)
		elf_names_add(&object->names, object->debug);
	if (object->file && (object->file->has_symtab || !has_symtab))
		elf_names_add(&object->names, object->file);
	if (!has_symtab && object->file && object->file->has_mini_debug) {
		const size_t exported = object->names.count;

		debug_info_mini_names(&object->names, object->found_path, &object->arena);
		has_symtab = object->names.count > exported;
	}
	elf_names_sort(&object->names);
	if (object->state == SYMBOL_LINES || object->embedded)
		return;
	if (object->names.count > 0)
		object->state = has_symtab ? SYMBOL_NAMES : SYMBOL_EXPORTS;
	else if (object->file)
		object->state = SYMBOL_NONE;
}
