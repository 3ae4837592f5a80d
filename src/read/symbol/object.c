#include "symbol/object.h"

#include <assert.h>

#include "symbol/debug_file.h"
#include "symbol/demangle.h"
#include "symbol/elf_starts.h"

static const char OUT_OF_MEMORY[] = "(out of memory)";

struct object *object_create(const struct object_env *env, const char *path, const char *file,
			     const uint8_t *build_id, size_t build_id_bytes)
{
	struct object *object = calloc(1, sizeof(*object));
	const char *slash;

	assert(build_id || build_id_bytes == 0);
	assert(env->debuginfod_lock);
	if (!object)
		return NULL;
	object->env = env;
	object->path = arena_strdup(&object->arena, path);
	object->file_path = file ? arena_strdup(&object->arena, file) : object->path;
	object->build_id =
		(const uint8_t *)arena_text(&object->arena, (const char *)build_id, build_id_bytes);
	if (!object->path || !object->file_path || !object->build_id) {
		object_destroy(object);
		return NULL;
	}
	slash = strrchr(object->path, '/');
	object->short_name = slash && slash[1] ? slash + 1 : object->path;
	object->build_id_bytes = build_id_bytes;
	return object;
}

void object_destroy(struct object *object)
{
	if (!object)
		return;
	object_keep(object);
	debug_info_close(object->debug_info);
	debug_variables_close(object->variables);
	elf_names_deinit(&object->names);
	elf_file_close(object->file);
	elf_file_close(object->debug);
	cache_unload(&object->cached);
	map_deinit(&object->frames);
	map_deinit(&object->texts);
	vec_u64_deinit(&object->fresh);
	arena_deinit(&object->arena);
	free(object);
}

/* One readable copy per name, keyed by the name's own address. */
static const char *name_readable(struct object *object, const char *name)
{
	CLEAN(free) char *text = NULL;
	uint64_t *place;
	bool is_new;

	if (!demangle_is_mangled(name))
		return name;
	place = map_put(&object->texts, (uintptr_t)name, &is_new);
	if (!place)
		return name;
	if (is_new) {
		const char *copy = NULL;

		text = demangle(name);
		if (text)
			copy = arena_strdup(&object->arena, text);
		*place = (uintptr_t)(copy ? copy : name);
	}
	return (const char *)(uintptr_t)*place;
}

static struct debug_info *object_debug_info(struct object *object)
{
	if (object->dwarf_path && !object->debug_info) {
		CLEAN(err_destroy)
		struct err *err = debug_info_open(object->dwarf_path, object->env->debug_dirs,
						  &object->debug_info);

		if (err) { /* damaged: continue with the names */
			object->dwarf_path = NULL;
			object->state = SYMBOL_UNREAD;
			object_read_names(object);
		}
	}
	return object->debug_info;
}

/* "a/./b/x/../c" -> "a/b/c", in place: compilers only concatenate paths. */
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

/* One clean copy per path, keyed by the path's own address. */
static const char *path_clean(struct object *object, const char *path)
{
	uint64_t *place;
	bool is_new;

	if (!strstr(path, "/./") && !strstr(path, "/../"))
		return path;
	place = map_put(&object->texts, (uintptr_t)path, &is_new);
	if (!place)
		return path;
	if (is_new) {
		char *copy = arena_strdup(&object->arena, path);

		if (copy)
			path_collapse(copy);
		*place = (uintptr_t)(copy ? copy : path);
	}
	return (const char *)(uintptr_t)*place;
}

static const char *table_name(struct object *object, uint64_t address)
{
	const struct elf_name *entry;

	if (!object->has_names)
		object_read_names(object);
	entry = elf_names_find(&object->names, address);
	return entry ? entry->name : NULL;
}

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

/*
 * Of the two sources of a name the more informative one wins, and if equal DWARF, which has no
 * suffixes like ".part.0". C libraries have internal names for their own functions, with
 * underscores. A name that DWARF has with all its parameters is final: the symbol tables, large
 * ones, are not read.
 */
static const char *name_choose(struct object *object, const char *by_dwarf, uint64_t address)
{
	const char *by_table;

	if (by_dwarf && demangle_is_mangled(by_dwarf))
		return by_dwarf;
	by_table = table_name(object, address);
	if (!by_dwarf || !by_table)
		return by_dwarf ? by_dwarf : by_table;
	if (demangle_is_mangled(by_table) || underscores(by_table) < underscores(by_dwarf))
		return by_table;
	return by_dwarf;
}

/* Uses the start of an unknown function, so that its frames are one function and not many. */
static const char *unknown_text(struct object *object, uint64_t address)
{
	const uint64_t begin = object->file ? elf_starts_find(object->file, address) : address;
	const char *text =
		arena_printf(&object->arena, "0x%llx [%s+0x%llx]", (unsigned long long)begin,
			     object->short_name, (unsigned long long)begin);

	return text ? text : OUT_OF_MEMORY;
}

static size_t frames_find(struct object *object, uint64_t address, struct symbol_frame *frames)
{
	struct debug_frame found[PACK_FRAMES_MAX];
	struct debug_info *info = object_debug_info(object);
	size_t count = info ? debug_info_frames(info, address, found, PACK_FRAMES_MAX) : 0;

	if (count == 0) {
		found[0] = (struct debug_frame) { 0 };
		count = 1;
	}
	found[count - 1].function = name_choose(object, found[count - 1].function, address);
	for (size_t i = 0; i < count; i++) {
		const char *name = found[i].function;

		frames[i] = (struct symbol_frame) {
			.function =
				name ? name_readable(object, name) : unknown_text(object, address),
			.file = found[i].file ? path_clean(object, found[i].file) : NULL,
			.line = found[i].line,
			.column = found[i].column,
			.is_inlined = found[i].is_inlined,
			.is_known = name != NULL,
			.module = object->path,
		};
	}
	return count;
}

static size_t frames_of_place(const struct object *object, const struct pack *pack,
			      const struct pack_place *place, struct symbol_frame *frames)
{
	for (uint32_t i = 0; i < place->count; i++) {
		const struct pack_frame *frame = &pack->frames[place->first + i];

		frames[i] = (struct symbol_frame) {
			.function = pack->strings + frame->function,
			.file = frame->file == PACK_NO_TEXT ? NULL : pack->strings + frame->file,
			.line = frame->line,
			.column = (uint16_t)(frame->flags >> PACK_FRAME_COLUMN_SHIFT),
			.is_inlined = (frame->flags & PACK_FRAME_INLINED) != 0,
			.is_known = (frame->flags & PACK_FRAME_KNOWN) != 0,
			.module = object->path,
		};
	}
	return place->count;
}

/* Names already stored: on the tape, in the cache. 0: none. */
static size_t frames_kept(const struct object *object, uint64_t address,
			  struct symbol_frame *frames)
{
	const struct pack *const packs[] = { object->embedded,
					     object->cached.bytes ? &object->cached.pack : NULL };

	for (size_t i = 0; i < array_size(packs); i++) {
		const struct pack_place *place = packs[i] ? pack_find(packs[i], address) : NULL;

		if (place)
			return frames_of_place(object, packs[i], place, frames);
	}
	return 0;
}

static const struct symbol_frames *frames_create(struct object *object, uint64_t address)
{
	struct symbol_frame found[PACK_FRAMES_MAX];
	size_t count = frames_kept(object, address, found);
	struct symbol_frames *frames = arena_new(&object->arena, struct symbol_frames);
	struct symbol_frame *copy;

	if (count == 0) {
		count = frames_find(object, address, found);
		/* If out of memory, this address is looked up again later. */
		if (object->identity)
			(void)!vec_u64_push(&object->fresh, address);
	}
	copy = arena_array(&object->arena, count, sizeof(*copy));
	if (!frames || !copy)
		return NULL;
	memcpy(copy, found, count * sizeof(*copy));
	*frames = (struct symbol_frames) { copy, count };
	return frames;
}

const struct symbol_frames *object_frames(struct object *object, uint64_t address)
{
	uint64_t *place;

	assert(object->kept_count <= object->fresh.count);
	object_open(object);
	place = map_put(&object->frames, address, NULL);
	if (!place)
		return NULL;
	if (!*place)
		*place = (uintptr_t)frames_create(object, address);
	return (const struct symbol_frames *)(uintptr_t)*place;
}

bool object_variable(struct object *object, uint64_t address, struct debug_variable *variable_ret)
{
	object_open(object);
	if (!object->has_variables && object->dwarf_path) {
		CLEAN(err_destroy)
		struct err *err = debug_variables_open(object->dwarf_path, &object->variables);

		(void)err; /* damaged: nothing is known */
	}
	object->has_variables = true;
	if (!object->variables || !debug_variables_find(object->variables, address, variable_ret))
		return false;
	if (variable_ret->file)
		variable_ret->file = path_clean(object, variable_ret->file);
	return true;
}

static void add_fresh(const struct object *object, uint64_t address, struct pack_builder *builder)
{
	const uint64_t *place = map_find(&object->frames, address);
	const struct symbol_frames *frames =
		place ? (const struct symbol_frames *)(uintptr_t)*place : NULL;

	if (frames)
		symbol_frames_pack(frames, address, builder);
}

void object_keep(struct object *object)
{
	CLEAN(pack_builder_deinit) struct pack_builder builder = { 0 };
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };
	struct err *err;

	assert(object->kept_count <= object->fresh.count);
	if (object->fresh.count == object->kept_count)
		return;
	if (object->cached.bytes)
		pack_add_pack(&builder, &object->cached.pack, NULL);
	for (size_t i = 0; i < object->fresh.count; i++)
		add_fresh(object, object->fresh.items[i], &builder);
	object->kept_count = object->fresh.count;
	if (!pack_write(&builder, object->state, object->identity, &bytes))
		return;
	err = cache_store(object->env->cache, object->build_id, object->build_id_bytes,
			  object->identity, bytes.items, bytes.count);
	err_destroy(err); /* a full disk only makes the next run slower */
}
