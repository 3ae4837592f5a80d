#include "symbol/symbol.h"

#include "base/map.h"
#include "base/str.h"
#include "symbol/debug_file.h"
#include "symbol/demangle.h"
#include "symbol/debug_info.h"
#include "symbol/elf_names.h"
#include "symbol/elf_starts.h"

enum { FRAMES_MAX = 64 /* of one address: inlined into each other */ };

struct object {
	const char *path;
	const char *short_name; /* the path's last part */
	const uint8_t *build_id;
	size_t build_id_bytes;
	enum symbol_state state;
	struct elf_file *file;	/* NULL where missing or stale */
	struct elf_file *debug; /* separate debug file */
	struct elf_names names;
	const char *dwarf_path;	       /* what has .debug_info; NULL: nothing */
	struct debug_info *debug_info; /* opened when first needed */
	struct map frames;	       /* address -> struct symbol_frames * */
};

VEC_DEFINE(objects, struct object *);

struct symbolizer {
	const char *const *debug_dirs;
	struct debuginfod *debuginfod; /* NULL: stay off the network */
	struct arena arena;
	struct interner object_keys; /* path and build-id; ids are those of objects */
	struct objects objects;
	struct map names; /* pointer to a linker's name -> its demangled copy */
};

static const char *const default_debug_dirs[] = { "/usr/lib/debug", NULL };

static const struct symbol_frame out_of_memory = { .function = "(out of memory)" };

struct symbolizer *symbolizer_create(const struct symbol_options *options)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return NULL;
	symbolizer->debug_dirs = default_debug_dirs;
	if (options && options->debug_dirs)
		symbolizer->debug_dirs = options->debug_dirs;
	if (options)
		symbolizer->debuginfod = options->debuginfod;
	return symbolizer;
}

static void object_destroy(struct object *object)
{
	debug_info_close(object->debug_info);
	elf_names_deinit(&object->names);
	elf_file_close(object->file);
	elf_file_close(object->debug);
	map_deinit(&object->frames);
}

void symbolizer_destroy(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	for (size_t i = 0; i < symbolizer->objects.count; i++)
		object_destroy(symbolizer->objects.items[i]);
	objects_deinit(&symbolizer->objects);
	interner_deinit(&symbolizer->object_keys);
	map_deinit(&symbolizer->names);
	arena_deinit(&symbolizer->arena);
	free(symbolizer);
}

static struct object *object_create(struct symbolizer *symbolizer, const char *path,
				    const uint8_t *build_id, size_t build_id_bytes)
{
	struct object *object = arena_new(&symbolizer->arena, struct object);
	const char *slash;

	if (!object)
		return NULL;
	object->path = arena_strdup(&symbolizer->arena, path);
	object->build_id = (const uint8_t *)arena_text(&symbolizer->arena, (const char *)build_id,
						       build_id_bytes);
	if (!object->path || !object->build_id)
		return NULL;
	slash = strrchr(object->path, '/');
	object->short_name = slash && slash[1] ? slash + 1 : object->path;
	object->build_id_bytes = build_id_bytes;
	return object;
}

uint32_t symbolizer_object(struct symbolizer *symbolizer, const char *path, const uint8_t *build_id,
			   size_t build_id_bytes)
{
	CLEAN(str_deinit) struct str key = { 0 };
	struct object *object;
	uint32_t id;

	str_add_bytes(&key, (const char *)build_id, build_id_bytes);
	str_add_char(&key, '\0');
	str_add(&key, path);
	if (key.failed)
		return UINT32_MAX;
	id = interner_put(&symbolizer->object_keys, key.ptr, key.len);
	if (id < symbolizer->objects.count || id == UINT32_MAX)
		return id;
	object = object_create(symbolizer, path, build_id, build_id_bytes);
	if (!object || !objects_push(&symbolizer->objects, object))
		return UINT32_MAX;
	return id;
}

/* Opens the object itself, if it is still the one that was recorded. */
static void object_open_file(struct object *object)
{
	CLEAN(err_destroy) struct err *err = elf_file_open(object->path, &object->file);

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

/* From a server; the file is checked like one that was found. */
static struct elf_file *debug_file_fetch(struct debuginfod *debuginfod,
					 const struct debug_file_query *query, char **path_ret)
{
	CLEAN(free)
	char *path = debuginfod_find(debuginfod, query->build_id, query->build_id_bytes);
	struct elf_file *file = NULL;

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

static void object_open_debug(struct symbolizer *symbolizer, struct object *object)
{
	struct debug_file_query query = {
		.dirs = symbolizer->debug_dirs,
		.object_path = object->path,
		.object = object->file,
		.build_id = object->build_id_bytes ? object->build_id : NULL,
		.build_id_bytes = object->build_id_bytes,
	};
	CLEAN(free) char *path = NULL;

	if (object->file && object->file->has_debug_info) {
		object->dwarf_path = object->path;
		return;
	}
	if (!query.build_id && object->file) {
		query.build_id = object->file->build_id;
		query.build_id_bytes = object->file->build_id_bytes;
	}
	object->debug = debug_file_find(&query, &path);
	if (!object->debug && symbolizer->debuginfod)
		object->debug = debug_file_fetch(symbolizer->debuginfod, &query, &path);
	if (object->debug && object->debug->has_debug_info)
		object->dwarf_path = arena_strdup(&symbolizer->arena, path);
}

static void object_read_names(struct symbolizer *symbolizer, struct object *object)
{
	bool has_symtab = (object->debug && object->debug->has_symtab) ||
			  (object->file && object->file->has_symtab);

	if (object->debug && object->debug->has_symtab)
		elf_names_add(&object->names, object->debug);
	if (object->file && (object->file->has_symtab || !has_symtab))
		elf_names_add(&object->names, object->file);
	if (!has_symtab && object->file && object->file->has_mini_debug) {
		const size_t exported = object->names.count;

		debug_info_mini_names(&object->names, object->path, &symbolizer->arena);
		has_symtab = object->names.count > exported;
	}
	elf_names_sort(&object->names);
	if (object->dwarf_path)
		object->state = SYMBOL_LINES;
	else if (object->names.count > 0)
		object->state = has_symtab ? SYMBOL_NAMES : SYMBOL_EXPORTS;
	else if (object->state == SYMBOL_UNREAD)
		object->state = SYMBOL_NONE;
}

static void object_open(struct symbolizer *symbolizer, struct object *object)
{
	if (object->path[0] != '/') {
		object->state = SYMBOL_VIRTUAL;
		return;
	}
	object_open_file(object);
	object_open_debug(symbolizer, object);
	object_read_names(symbolizer, object);
}

/* One readable copy per name, kept by the name's own address. */
static const char *name_readable(struct symbolizer *symbolizer, const char *name)
{
	CLEAN(free) char *text = NULL;
	uint64_t *place;
	bool is_new;

	if (!demangle_is_mangled(name))
		return name;
	place = map_put(&symbolizer->names, (uintptr_t)name, &is_new);
	if (!place)
		return name;
	if (is_new) {
		const char *copy = NULL;

		text = demangle(name);
		if (text)
			copy = arena_strdup(&symbolizer->arena, text);
		*place = (uintptr_t)(copy ? copy : name);
	}
	return (const char *)(uintptr_t)*place;
}

static struct debug_info *object_debug_info(struct object *object)
{
	if (object->dwarf_path && !object->debug_info) {
		CLEAN(err_destroy)
		struct err *err = debug_info_open(object->dwarf_path, &object->debug_info);

		if (err) { /* damaged: live with the names */
			object->dwarf_path = NULL;
			object->state = object->names.count ? SYMBOL_NAMES : SYMBOL_NONE;
		}
	}
	return object->debug_info;
}

/* "a/./b/x/../c" -> "a/b/c", in place: compilers join what they were told. */
static void path_collapse(char *path)
{
	char *out = path;
	const char *in = path;

	while (*in) {
		if (strncmp(in, "/./", 3) == 0) {
			in += 2;
		} else if (strncmp(in, "/../", 4) == 0 && out > path && out[-1] != '.' &&
			   memrchr(path, '/', (size_t)(out - path))) {
			out = memrchr(path, '/', (size_t)(out - path));
			in += 3;
		} else {
			*out++ = *in++;
		}
	}
	*out = '\0';
}

/* One clean copy per path, kept by the path's own address. */
static const char *path_clean(struct symbolizer *symbolizer, const char *path)
{
	uint64_t *place;
	bool is_new;

	if (!strstr(path, "/./") && !strstr(path, "/../"))
		return path;
	place = map_put(&symbolizer->names, (uintptr_t)path, &is_new);
	if (!place)
		return path;
	if (is_new) {
		char *copy = arena_strdup(&symbolizer->arena, path);

		if (copy)
			path_collapse(copy);
		*place = (uintptr_t)(copy ? copy : path);
	}
	return (const char *)(uintptr_t)*place;
}

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

/*
 * Of the two sources of a name the one that says more wins, and of equal ones DWARF, which has no
 * suffixes like ".part.0". C libraries have inner names for their own functions, with underscores.
 */
static const char *name_choose(const char *by_dwarf, const char *by_table)
{
	if (!by_dwarf || !by_table)
		return by_dwarf ? by_dwarf : by_table;
	if (demangle_is_mangled(by_dwarf))
		return by_dwarf;
	if (demangle_is_mangled(by_table) || underscores(by_table) < underscores(by_dwarf))
		return by_table;
	return by_dwarf;
}

/* Where the unknown function begins, so that its frames are one function and not many. */
static const char *unknown_text(struct symbolizer *symbolizer, const struct object *object,
				uint64_t address)
{
	const uint64_t begin = object->file ? elf_starts_find(object->file, address) : address;
	const char *text =
		arena_printf(&symbolizer->arena, "0x%llx [%s+0x%llx]", (unsigned long long)begin,
			     object->short_name, (unsigned long long)begin);

	return text ? text : out_of_memory.function;
}

static size_t frames_find(struct symbolizer *symbolizer, struct object *object, uint64_t address,
			  struct symbol_frame *frames)
{
	struct debug_frame found[FRAMES_MAX];
	struct debug_info *info = object_debug_info(object);
	const struct elf_name *entry = elf_names_find(&object->names, address);
	size_t count = info ? debug_info_frames(info, address, found, FRAMES_MAX) : 0;

	if (count == 0) {
		found[0] = (struct debug_frame) { 0 };
		count = 1;
	}
	found[count - 1].function =
		name_choose(found[count - 1].function, entry ? entry->name : NULL);
	for (size_t i = 0; i < count; i++) {
		const char *name = found[i].function;

		frames[i] = (struct symbol_frame) {
			.function = name ? name_readable(symbolizer, name)
					 : unknown_text(symbolizer, object, address),
			.file = found[i].file ? path_clean(symbolizer, found[i].file) : NULL,
			.line = found[i].line,
			.is_inlined = found[i].is_inlined,
			.is_known = name != NULL,
			.module = object->path,
		};
	}
	return count;
}

static const struct symbol_frames *frames_create(struct symbolizer *symbolizer,
						 struct object *object, uint64_t address)
{
	struct symbol_frame found[FRAMES_MAX];
	size_t count = frames_find(symbolizer, object, address, found);
	struct symbol_frames *frames = arena_new(&symbolizer->arena, struct symbol_frames);
	struct symbol_frame *copy = arena_array(&symbolizer->arena, count, sizeof(*copy));

	if (!frames || !copy)
		return NULL;
	memcpy(copy, found, count * sizeof(*copy));
	*frames = (struct symbol_frames) { copy, count };
	return frames;
}

struct symbol_frames symbolizer_frames(struct symbolizer *symbolizer, uint32_t object_id,
				       uint64_t address)
{
	const struct symbol_frames none = { &out_of_memory, 1 };
	const struct symbol_frames *frames;
	struct object *object;
	uint64_t *place;

	if (object_id >= symbolizer->objects.count)
		return none;
	object = symbolizer->objects.items[object_id];
	if (object->state == SYMBOL_UNREAD)
		object_open(symbolizer, object);
	place = map_put(&object->frames, address, NULL);
	if (!place)
		return none;
	if (!*place)
		*place = (uintptr_t)frames_create(symbolizer, object, address);
	frames = (const struct symbol_frames *)(uintptr_t)*place;
	return frames ? *frames : none;
}

enum symbol_state symbolizer_object_state(const struct symbolizer *symbolizer, uint32_t object)
{
	if (object >= symbolizer->objects.count)
		return SYMBOL_UNREAD;
	return symbolizer->objects.items[object]->state;
}

const char *symbol_state_text(enum symbol_state state)
{
	switch (state) {
	case SYMBOL_UNREAD:
		return "not needed";
	case SYMBOL_LINES:
		return "functions and lines";
	case SYMBOL_NAMES:
		return "functions, no lines: no debug information installed";
	case SYMBOL_EXPORTS:
		return "exported functions only: stripped, no debug information installed";
	case SYMBOL_NONE:
		return "no symbols at all";
	case SYMBOL_MISSING:
		return "file is gone";
	case SYMBOL_STALE:
		return "changed on disk since it was recorded";
	case SYMBOL_VIRTUAL:
		return "made by the kernel";
	}
	return "?";
}
