#include "model/names.h"

#include <sys/stat.h>

#include "base/map.h"
#include "base/str.h"
#include "model/roles.h"
#include "symbol/perf_map.h"

enum { NS_PER_S = 1000000000 };

VEC_DEFINE(name_vec, struct name);

struct names {
	const struct model *model;
	struct symbolizer *symbolizer;
	struct perf_map *jit; /* NULL: none */
	bool jit_is_known;
	uint32_t *objects;  /* by module: the symbolizer's number; UINT32_MAX not asked yet */
	struct map *frames; /* by module, the last outside of all: pc -> struct name_frames * */
	struct map ids;	    /* function and module -> name */
	struct name_vec all;
	struct arena arena;
};

static const struct name_frame out_of_memory_frame = { .name = NAME_OUT_OF_MEMORY };

static const struct name special_names[] = {
	[NAME_OUT_OF_MEMORY] = { "(out of memory)", "", "", NAME_PROGRAM, false },
	[NAME_TRUNCATED] = { "(outer frames not known)", "", "", NAME_PROGRAM, false },
	[NAME_NO_STACK] = { "(no stack taken)", "", "", NAME_PROGRAM, false },
};

struct names *names_create(const struct model *model, const struct symbol_options *options)
{
	CLEAN(names_destroy) struct names *names = calloc(1, sizeof(*names));
	const size_t module_count = model_module_count(model);

	if (!names)
		return NULL;
	for (size_t i = 0; i < array_size(special_names); i++) {
		if (!name_vec_push(&names->all, special_names[i]))
			return NULL;
	}
	names->model = model;
	names->symbolizer = symbolizer_create(options);
	names->objects = arena_array(&names->arena, module_count, sizeof(*names->objects));
	names->frames = arena_array(&names->arena, module_count + 1, sizeof(*names->frames));
	if (!names->symbolizer || !names->objects || !names->frames)
		return NULL;
	for (size_t i = 0; i < module_count; i++)
		names->objects[i] = UINT32_MAX;
	return steal(names);
}

void names_destroy(struct names *names)
{
	if (!names)
		return;
	symbolizer_destroy(names->symbolizer);
	perf_map_close(names->jit);
	for (size_t i = 0; names->frames && i <= model_module_count(names->model); i++)
		map_deinit(&names->frames[i]);
	map_deinit(&names->ids);
	name_vec_deinit(&names->all);
	arena_deinit(&names->arena);
	free(names);
}

const char *names_short_path(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* function and module are kept as they are; equal functions of a module have one address. */
static uint32_t name_intern(struct names *names, const char *function, const char *module,
			    bool is_known)
{
	const uint64_t key = hash_bytes(function, strlen(function), (uintptr_t)module);
	const char *module_short = names_short_path(module);
	uint64_t *place;
	bool is_new;

	place = map_put(&names->ids, key, &is_new);
	if (!place)
		return NAME_OUT_OF_MEMORY;
	if (is_new) {
		*place = names->all.count;
		if (!name_vec_push(&names->all,
				   (struct name) { function, module, module_short,
						   role_of(function, module_short), is_known }))
			*place = NAME_OUT_OF_MEMORY;
	}
	return (uint32_t)*place;
}

/* The tables of JIT code are the process's only if they were written while it ran. */
static const struct perf_map *jit_map(struct names *names)
{
	const struct model_process *process = model_process(names->model);
	CLEAN(str_deinit) struct str path = { 0 };
	struct stat status;

	if (names->jit_is_known)
		return names->jit;
	names->jit_is_known = true;
	str_printf(&path, "/tmp/perf-%u.map", process->pid);
	if (path.failed || stat(str_text(&path), &status) != 0 ||
	    (uint64_t)status.st_mtim.tv_sec < process->start_realtime_ns / NS_PER_S)
		return NULL;
	err_destroy(perf_map_open(str_text(&path), &names->jit));
	return names->jit;
}

static struct name_frames *frames_of_stray(struct names *names, uint64_t pc)
{
	struct name_frames *frames = arena_new(&names->arena, struct name_frames);
	struct name_frame *frame = arena_new(&names->arena, struct name_frame);
	const struct perf_map *jit = jit_map(names);
	const char *function = jit ? perf_map_find(jit, pc) : NULL;
	const bool is_known = function != NULL;

	if (!function)
		function = arena_printf(&names->arena, "0x%llx", (unsigned long long)pc);
	if (!frames || !frame || !function)
		return NULL;
	frame->name = name_intern(names, function, is_known ? "[jit]" : "", is_known);
	*frames = (struct name_frames) { frame, 1 };
	return frames;
}

static uint32_t module_object(struct names *names, uint32_t index)
{
	const struct capture_module *module = model_module(names->model, index);
	const char *path = module->path;

	if (names->objects[index] == UINT32_MAX) {
		if (path[0] == '\0' && index == 0)
			path = model_process(names->model)->exe;
		names->objects[index] = symbolizer_object(names->symbolizer, path, module->build_id,
							  module->build_id_bytes);
	}
	return names->objects[index];
}

static struct name_frames *frames_of_module(struct names *names, uint32_t index, uint64_t pc)
{
	const struct capture_module *module = model_module(names->model, index);
	struct symbol_frames found = symbolizer_frames(
		names->symbolizer, module_object(names, index), pc - module->bias);
	struct name_frames *frames = arena_new(&names->arena, struct name_frames);
	struct name_frame *copy = arena_array(&names->arena, found.count, sizeof(*copy));

	if (!frames || !copy)
		return NULL;
	for (size_t i = 0; i < found.count; i++) {
		const struct symbol_frame *frame = &found.frames[i];

		copy[i] = (struct name_frame) {
			.name = name_intern(names, frame->function,
					    frame->module ? frame->module : "", frame->is_known),
			.line = frame->line,
			.file = frame->file,
			.is_inlined = frame->is_inlined,
		};
	}
	*frames = (struct name_frames) { copy, found.count };
	return frames;
}

struct name_frames names_frames(struct names *names, uint32_t stack)
{
	const struct capture_stack *node = &model_stacks(names->model)[stack];
	/* A return address belongs to the call before it. */
	const uint64_t pc = node->exact ? node->pc : node->pc - 1;
	const bool is_stray = node->module == CAPTURE_MODULE_NONE;
	const size_t module = is_stray ? model_module_count(names->model) : node->module;
	const struct name_frames *frames;
	uint64_t *place = map_put(&names->frames[module], pc, NULL);

	if (place && !*place)
		*place = (uintptr_t)(is_stray ? frames_of_stray(names, pc)
					      : frames_of_module(names, node->module, pc));
	frames = place ? (const struct name_frames *)(uintptr_t)*place : NULL;
	return frames ? *frames : (struct name_frames) { &out_of_memory_frame, 1 };
}

const struct name *names_get(const struct names *names, uint32_t name)
{
	return &names->all.items[name];
}

size_t names_count(const struct names *names)
{
	return names->all.count;
}

enum symbol_state names_module_state(const struct names *names, size_t module)
{
	if (names->objects[module] == UINT32_MAX)
		return SYMBOL_UNREAD;
	return symbolizer_object_state(names->symbolizer, names->objects[module]);
}
