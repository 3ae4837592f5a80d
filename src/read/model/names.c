#include "model/names_parts.h"

#include <assert.h>

#include "model/roles.h"
#include "model/scans.h"
#include "symbol/spell.h"

VEC_DEFINE(request_vec, struct symbol_request);

static const struct name_frame out_of_memory_frame = { .name = NAME_OUT_OF_MEMORY };
static const struct name_frames out_of_memory_frames = { &out_of_memory_frame, 1 };

static const struct name special_names[] = {
	[NAME_OUT_OF_MEMORY] = { "(out of memory)", "", "", NAME_MINE, false, "",
				 "(out of memory)" },
	[NAME_TRUNCATED] = { "(outer frames not known)", "", "", NAME_MINE, false, "",
			     "(outer frames not known)" },
	[NAME_NO_STACK] = { "(no stack taken)", "", "", NAME_MINE, false, "", "(no stack taken)" },
};

struct names *names_create(const struct model *model, const struct symbol_options *options)
{
	CLEAN(names_destroy) struct names *names = calloc(1, sizeof(*names));
	const size_t module_count = model_module_count(model);

	if (!names)
		return NULL;
	for (size_t i = 0; i < array_size(special_names); i++) {
		if (!name_vec_push(&names->all, &special_names[i]))
			return NULL;
	}
	names->model = model;
	names->module_count = module_count;
	names->paths = options ? options->paths : NULL;
	names->roles = options ? options->roles : NULL;
	names->spelling = options ? options->spelling : SYMBOL_SPELL_SHORT;
	if (options)
		names->embedded_jit = embedded_find(options->embedded, NAMES_JIT_MODULE, NULL, 0);
	names->symbolizer = symbolizer_create(options);
	names->objects = arena_array(&names->arena, module_count, sizeof(*names->objects));
	names->places_by_pc =
		arena_array(&names->arena, module_count, sizeof(*names->places_by_pc));
	names->is_shown = arena_array(&names->arena, module_count, sizeof(*names->is_shown));
	if (!names->symbolizer || !names->objects || !names->places_by_pc || !names->is_shown ||
	    !place_vec_push(&names->places, (struct place) { .frames = &out_of_memory_frames,
							     .module = CAPTURE_MODULE_NONE }))
		return NULL;
	for (size_t i = 0; i < module_count; i++)
		names->objects[i] = UINT32_MAX;
	return steal(names);
}

bool names_follow(struct names *names, const struct model *model)
{
	const size_t before = names->module_count, count = model_module_count(model);
	uint32_t *objects;
	struct map *places_by_pc;
	bool *is_shown;

	assert(!names->is_view && count >= before);
	if (count > before) {
		objects = arena_array(&names->arena, count, sizeof(*objects));
		places_by_pc = arena_array(&names->arena, count, sizeof(*places_by_pc));
		is_shown = arena_array(&names->arena, count, sizeof(*is_shown));
		if (!objects || !places_by_pc || !is_shown)
			return false;
		memcpy(objects, names->objects, before * sizeof(*objects));
		memcpy(places_by_pc, names->places_by_pc, before * sizeof(*places_by_pc));
		memcpy(is_shown, names->is_shown, before * sizeof(*is_shown));
		for (size_t i = before; i < count; i++)
			objects[i] = UINT32_MAX;
		names->objects = objects;
		names->places_by_pc = places_by_pc;
		names->is_shown = is_shown;
	}
	names->model = model;
	names->module_count = count;
	return true;
}

void names_destroy(struct names *names)
{
	if (!names)
		return;
	if (names->is_view) {
		free(names->is_shown);
		free(names);
		return;
	}
	symbolizer_destroy(names->symbolizer);
	jit_names_close(names->jit);
	for (size_t i = 0; names->places_by_pc && i < names->module_count; i++)
		map_deinit(&names->places_by_pc[i]);
	place_vec_deinit(&names->places);
	vec_u32_deinit(&names->places_of);
	vec_u8_deinit(&names->has_mine);
	map_deinit(&names->ids);
	map_deinit(&names->shown);
	map_deinit(&names->files);
	map_deinit(&names->variables);
	name_vec_deinit(&names->all);
	arena_deinit(&names->arena);
	free(names);
}

const char *names_short_path(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static uint64_t name_key(const char *function, const char *module)
{
	return hash_bytes(function, strlen(function), (uintptr_t)module);
}

static const char *brief_of(struct names *names, const char *function, enum name_role role)
{
	return names->spelling == SYMBOL_SPELL_FULL
		       ? function
		       : spell_function(function, role == NAME_LIBRARY, &names->arena);
}

/* Functions that are shown alike share a name: with template arguments elided there are many. */
static uint32_t name_show(struct names *names, const struct role_subject *subject, bool is_known)
{
	const char *full = subject->function, *module = subject->module;
	const char *function = is_known ? spell_name(full, names->spelling, &names->arena) : full;
	struct name *name;
	bool is_new;
	uint64_t *place = map_put(&names->shown, name_key(function, module), &is_new);

	if (!place)
		return NAME_OUT_OF_MEMORY;
	if (!is_new)
		return (uint32_t)*place;
	*place = NAME_OUT_OF_MEMORY;
	name = arena_new(&names->arena, struct name);
	if (!name)
		return NAME_OUT_OF_MEMORY;
	*name = (struct name) { function,
				module,
				names_short_path(module),
				role_of(subject, names->roles),
				is_known,
				full,
				function };
	if (is_known)
		name->brief = brief_of(names, function, name->role);
	if (name_vec_push(&names->all, name))
		*place = names->all.count - 1;
	return (uint32_t)*place;
}

/* function and module are kept as they are; equal functions of a module have one address. */
static uint32_t name_intern(struct names *names, const struct role_subject *subject, bool is_known)
{
	bool is_new;
	uint64_t *place =
		map_put(&names->ids, name_key(subject->function, subject->module), &is_new);

	if (!place)
		return NAME_OUT_OF_MEMORY;
	if (is_new)
		*place = name_show(names, subject, is_known);
	return (uint32_t)*place;
}

const char *names_file_here(struct names *names, const char *file)
{
	bool is_new;
	uint64_t *place;

	if (!file || !names->paths || names->paths->count == 0)
		return file;
	place = map_put(&names->files, (uintptr_t)file, &is_new);
	if (!place)
		return file;
	if (is_new)
		*place = (uintptr_t)path_map_apply(names->paths, file, &names->arena);
	return (const char *)(uintptr_t)*place;
}

/* What is known of JIT code: from the tape, or from a file that the program left. */
static bool jit_place(struct names *names, uint32_t stack, uint64_t pc, struct jit_place *place_ret)
{
	const struct pack *pack = names->embedded_jit;
	const struct pack_place *place = pack ? pack_find(pack, stack) : NULL;
	const struct pack_frame *frame;

	if (!place) {
		if (!names->jit)
			names->jit = jit_names_open(model_process(names->model));
		return names->jit &&
		       jit_names_find(names->jit, pc, model_stack_first_ns(names->model, stack),
				      place_ret);
	}
	frame = &pack->frames[place->first];
	*place_ret = (struct jit_place) {
		.function = pack->strings + frame->function,
		.file = frame->file == PACK_NO_TEXT ? NULL : pack->strings + frame->file,
		.line = frame->line,
	};
	return true;
}

static struct name_frames *frames_of_stray(struct names *names, uint32_t stack, uint64_t pc)
{
	struct name_frames *frames = arena_new(&names->arena, struct name_frames);
	struct name_frame *frame = arena_new(&names->arena, struct name_frame);
	struct jit_place place = { 0 };
	const bool is_known = jit_place(names, stack, pc, &place);

	if (!is_known)
		place.function = arena_printf(&names->arena, "0x%llx", (unsigned long long)pc);
	if (!frames || !frame || !place.function)
		return NULL;
	frame->file = names_file_here(names, place.file);
	frame->name =
		name_intern(names,
			    &(struct role_subject) {
				    place.function, is_known ? NAMES_JIT_MODULE : "", frame->file },
			    is_known);
	frame->line = place.line;
	*frames = (struct name_frames) { frame, 1 };
	return frames;
}

const char *names_module_path(const struct names *names, size_t module)
{
	const char *path = model_module(names->model, module)->path;

	return path[0] == '\0' && module == 0 ? model_process(names->model)->exe : path;
}

/* NULL: the path is no link. */
static const char *linked_of(const struct capture_module *module)
{
	return module->file[0] ? module->file : NULL;
}

uint32_t names_object(struct names *names, size_t module)
{
	const struct capture_module *known = model_module(names->model, module);

	assert(!names->is_view);
	if (names->objects[module] == UINT32_MAX)
		names->objects[module] =
			symbolizer_object(names->symbolizer, names_module_path(names, module),
					  linked_of(known), known->build_id, known->build_id_bytes);
	return names->objects[module];
}

static struct name_frames *frames_of_module(struct names *names, uint32_t index, uint64_t pc)
{
	const struct capture_module *module = model_module(names->model, index);
	struct symbol_frames found =
		symbolizer_frames(names->symbolizer, names_object(names, index), pc - module->bias);
	struct name_frames *frames = arena_new(&names->arena, struct name_frames);
	struct name_frame *copy = arena_array(&names->arena, found.count, sizeof(*copy));

	if (!frames || !copy)
		return NULL;
	for (size_t i = 0; i < found.count; i++) {
		const struct symbol_frame *frame = &found.frames[i];
		const struct role_subject subject = { names_function(names, frame),
						      frame->module ? frame->module : "",
						      names_file_here(names, frame->file),
						      linked_of(module) };

		copy[i] = (struct name_frame) {
			.name = name_intern(names, &subject, frame->is_known),
			.line = frame->line,
			.column = frame->column,
			.file = subject.file,
			/* a pack may claim it for the last, which has nothing to be inlined into */
			.is_inlined = frame->is_inlined && i + 1 < found.count,
		};
	}
	names_glue_find(names, copy, found.count);
	*frames = (struct name_frames) { copy, found.count };
	return frames;
}

/* A return address belongs to the call before it. */
static uint64_t stack_address(const struct capture_stack *node)
{
	return node->exact ? node->pc : node->pc - 1;
}

/* The new last place, or the first. */
static uint32_t place_add(struct names *names, uint32_t stack, uint64_t pc, uint32_t module)
{
	const struct place place = { .pc = pc, .stack = stack, .module = module };

	if (!place_vec_push(&names->places, place))
		return 0;
	return (uint32_t)names->places.count - 1;
}

/* The place of an address in a module; it is requested when it is new. */
static uint32_t place_in_module(struct names *names, uint32_t stack, uint64_t pc, uint32_t module,
				struct request_vec *requests)
{
	struct symbol_request request;
	bool is_new = false;
	uint64_t *place = map_put(&names->places_by_pc[module], pc, &is_new);

	if (!place || !is_new)
		return place ? (uint32_t)*place : 0;
	*place = place_add(names, stack, pc, module);
	request.object = names_object(names, module);
	request.address = pc - model_module(names->model, module)->bias;
	/* If out of memory here, the address is looked up by itself, later. */
	(void)!request_vec_push(requests, request);
	return (uint32_t)*place;
}

/*
 * The stack's place; if no other stack has it, it is requested. Outside of modules an address has a
 * meaning only together with its time, so each stack has its own.
 */
static uint32_t place_of(struct names *names, uint32_t stack, struct request_vec *requests)
{
	const struct capture_stack *node = &model_stacks(names->model)[stack];
	const uint64_t pc = stack_address(node);

	if (node->module == CAPTURE_MODULE_NONE)
		return place_add(names, stack, pc, node->module);
	return place_in_module(names, stack, pc, node->module, requests);
}

static void scan_places_add(struct names *names, const struct model_scan *scan,
			    struct request_vec *requests)
{
	for (uint64_t i = 0; i < scan->frame_count; i++)
		if (scan->frames[i].module != CAPTURE_MODULE_NONE)
			(void)place_in_module(names, CAPTURE_STACK_NONE, scan->frames[i].pc,
					      scan->frames[i].module, requests);
}

/* NULL, and retried later, if out of memory. */
static void place_name(struct names *names, struct place *place)
{
	place->frames = place->module == CAPTURE_MODULE_NONE
				? frames_of_stray(names, place->stack, place->pc)
				: frames_of_module(names, place->module, place->pc);
}

/*
 * Names are numbered here, in the order of the tape and not of the requests: sorting and numbering
 * by them is independent of earlier requests.
 */
void names_prepare(struct names *names)
{
	CLEAN(request_vec_deinit) struct request_vec requests = { 0 };
	const size_t stack_count = model_stack_count(names->model);
	const size_t first = names->places.count;

	if (names->places_of.count >= stack_count)
		return;
	while (names->places_of.count < stack_count) {
		const uint32_t stack = (uint32_t)names->places_of.count;
		const uint32_t place =
			stack < CAPTURE_STACK_FIRST ? 0 : place_of(names, stack, &requests);

		if (!vec_u32_push(&names->places_of, place))
			break;
	}
	for (size_t i = 0; i < model_scan_count(names->model); i++)
		scan_places_add(names, model_scan_get(names->model, i), &requests);
	symbolizer_resolve(names->symbolizer, requests.items, requests.count);
	for (size_t i = first; i < names->places.count; i++)
		place_name(names, &names->places.items[i]);
	(void)names_mine_find(names); /* without memory: library frames are shown */
}

/* The place of the stack's innermost address, with its frames; NULL: out of memory. */
static const struct place *place_find(struct names *names, uint32_t stack)
{
	struct place *place;

	if (unlikely(stack >= names->places_of.count))
		names_prepare(names);
	if (unlikely(stack >= names->places_of.count))
		return NULL;
	place = &names->places.items[names->places_of.items[stack]];
	if (unlikely(!place->frames))
		place_name(names, place);
	return place->frames ? place : NULL;
}

struct name_frames names_look(struct names *names, uint32_t stack)
{
	const struct place *place = place_find(names, stack);

	assert(stack < model_stack_count(names->model));
	return place ? *place->frames : out_of_memory_frames;
}

struct name_frames names_frames(struct names *names, uint32_t stack)
{
	const struct place *place = place_find(names, stack);

	assert(stack < model_stack_count(names->model));
	if (!place)
		return out_of_memory_frames;
	if (place->module != CAPTURE_MODULE_NONE && unlikely(!names->is_shown[place->module]))
		names->is_shown[place->module] = true;
	return *place->frames;
}

bool names_scan_frame(struct names *names, const struct model_scan_frame *frame,
		      struct name_frames *frames_ret)
{
	const uint64_t *number;
	struct place *place;

	if (frame->module == CAPTURE_MODULE_NONE)
		return false;
	names_prepare(names);
	number = map_find(&names->places_by_pc[frame->module], frame->pc);
	place = number ? &names->places.items[*number] : NULL;
	if (place && !place->frames)
		place_name(names, place);
	if (!place || !place->frames)
		return false;
	if (!names->is_shown[frame->module])
		names->is_shown[frame->module] = true;
	*frames_ret = *place->frames;
	return true;
}

void names_settle(struct names *names)
{
	assert(!names->is_view);
	names_prepare(names);
	for (uint32_t i = CAPTURE_STACK_FIRST; i < model_stack_count(names->model); i++)
		(void)names_frames(names, i);
	for (size_t i = 0; i < model_module_count(names->model); i++)
		(void)names_object(names, i);
	names_settle_variables(names);
	names->is_settled = true;
}

struct names *names_view(const struct names *names)
{
	CLEAN(free) struct names *view = malloc(sizeof(*view));

	assert(!names->is_view);
	if (!view)
		return NULL;
	*view = *names;
	view->is_view = true;
	view->is_shown = calloc(model_module_count(names->model) + 1, sizeof(*view->is_shown));
	return view->is_shown ? steal(view) : NULL;
}

struct symbolizer *names_symbolizer(struct names *names)
{
	return names->symbolizer;
}

const struct name *names_get(const struct names *names, uint32_t name)
{
	assert(name < names->all.count);
	return names->all.items[name];
}

size_t names_count(const struct names *names)
{
	return names->all.count;
}

void names_show_anew(struct names *names)
{
	memset(names->is_shown, 0, model_module_count(names->model) * sizeof(*names->is_shown));
}

enum symbol_state names_module_state(const struct names *names, size_t module)
{
	assert(module < model_module_count(names->model));
	if (!names->is_shown[module])
		return SYMBOL_UNREAD;
	return symbolizer_object_state(names->symbolizer, names->objects[module]);
}
