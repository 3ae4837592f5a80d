#include "model/embed.h"

#include <assert.h>

#include "base/sort.h"
#include "model/scans.h"

VEC_DEFINE(embed_places, struct symbol_request);

struct embed {
	const struct model *model;
	struct names *names;
	struct vec_u8 *out;
	struct embed_counts *counts;
};

static bool place_push(const struct embed *embed, uint32_t module, uint64_t pc,
		       struct embed_places *places)
{
	return embed_places_push(places,
				 (struct symbol_request) {
					 .object = names_object(embed->names, module),
					 .address = pc - model_module(embed->model, module)->bias,
				 });
}

/* Of functions that hold something on their stacks. */
static bool scan_places_collect(const struct embed *embed, const struct model_scan *scan,
				struct embed_places *places)
{
	for (uint64_t i = 0; i < scan->frame_count; i++)
		if (scan->frames[i].module != CAPTURE_MODULE_NONE &&
		    !place_push(embed, scan->frames[i].module, scan->frames[i].pc, places))
			return false;
	return true;
}

/* All addresses in modules, sorted by object; equal ones stand together. */
static struct err *places_collect(const struct embed *embed, struct embed_places *places)
{
	const struct capture_stack *stacks = model_stacks(embed->model);

	for (size_t i = CAPTURE_STACK_FIRST; i < model_stack_count(embed->model); i++) {
		if (stacks[i].module != CAPTURE_MODULE_NONE &&
		    !place_push(embed, stacks[i].module, stacks[i].pc - !stacks[i].exact, places))
			return err_nomem();
	}
	for (size_t i = 0; i < model_scan_count(embed->model); i++)
		if (!scan_places_collect(embed, model_scan_get(embed->model, i), places))
			return err_nomem();
	return sort_stable(places->items, places->count, sizeof(*places->items),
			   symbol_request_compare, NULL)
		       ? NULL
		       : err_nomem();
}

static void place_add(const struct embed *embed, const struct symbol_request *place,
		      struct pack_builder *builder)
{
	const struct symbol_frames frames =
		symbolizer_frames(names_symbolizer(embed->names), place->object, place->address);

	symbol_frames_pack(&frames, place->address, builder);
	embed->counts->address_count++;
	embed->counts->named_count += frames.frames[frames.count - 1].is_known;
	embed->counts->lined_count += frames.frames[0].line > 0;
}

static bool places_equal(const struct symbol_request *a, const struct symbol_request *b)
{
	return a->object == b->object && a->address == b->address;
}

static struct err *object_add(const struct embed *embed, size_t module,
			      const struct symbol_request *places, size_t count)
{
	CLEAN(pack_builder_deinit) struct pack_builder builder = { 0 };
	const struct capture_module *known = model_module(embed->model, module);
	enum symbol_state state;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || !places_equal(&places[i], &places[i - 1]))
			place_add(embed, &places[i], &builder);
	}
	state = symbolizer_object_state(names_symbolizer(embed->names), places[0].object);
	embed->counts->module_count++;
	return embedded_add(embed->out, names_module_path(embed->names, module), known->build_id,
			    known->build_id_bytes, state, &builder)
		       ? NULL
		       : err_nomem();
}

/* The first module with this object: one loaded twice is listed twice. */
static size_t module_of(const struct embed *embed, uint32_t object)
{
	size_t module = 0;

	while (names_object(embed->names, module) != object)
		module++;
	return module;
}

/* Code without a file is identified by its stack: at another time its address is other code. */
static struct err *jit_add(const struct embed *embed)
{
	CLEAN(pack_builder_deinit) struct pack_builder builder = { 0 };
	const struct capture_stack *stacks = model_stacks(embed->model);

	for (size_t i = CAPTURE_STACK_FIRST; i < model_stack_count(embed->model); i++) {
		struct name_frames frames;

		if (stacks[i].module != CAPTURE_MODULE_NONE)
			continue;
		frames = names_frames(embed->names, (uint32_t)i);
		if (!names_get(embed->names, frames.frames[0].name)->is_known)
			continue;
		pack_add_place(&builder, i);
		pack_add_frame(&builder, names_get(embed->names, frames.frames[0].name)->full,
			       frames.frames[0].file, frames.frames[0].line, PACK_FRAME_KNOWN);
		embed->counts->jit_count++;
	}
	if (embed->counts->jit_count == 0)
		return NULL;
	return embedded_add(embed->out, NAMES_JIT_MODULE, NULL, 0, SYMBOL_NAMES, &builder)
		       ? NULL
		       : err_nomem();
}

struct err *embed_names(const struct model *model, struct names *names, struct vec_u8 *out,
			struct embed_counts *counts_ret)
{
	CLEAN(embed_places_deinit) struct embed_places places = { 0 };
	const struct embed embed = { model, names, out, counts_ret };
	struct err *err = places_collect(&embed, &places);

	assert(out->count == 0);
	*counts_ret = (struct embed_counts) { 0 };
	names_prepare(names);
	for (size_t begin = 0, end; begin < places.count && !err; begin = end) {
		const uint32_t object = places.items[begin].object;

		for (end = begin; end < places.count && places.items[end].object == object;)
			end++;
		err = object_add(&embed, module_of(&embed, object), places.items + begin,
				 end - begin);
	}
	return err ? err : jit_add(&embed);
}
