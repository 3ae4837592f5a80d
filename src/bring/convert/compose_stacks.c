/*
 * Modules, frames and stacks of a tape being composed, and their names.
 */
#include <assert.h>

#include "convert/compose_parts.h"
#include "symbol/embedded.h"
#include "symbol/symbol.h"

/*
 * Addresses where no program has code (docs/tape-format.md): a range for each module whose code
 * addresses are unknown, then space for modules loaded where others had been.
 */
static const uint64_t NAMED_BEGIN = UINT64_C(1) << 44, NAMED_BYTES = UINT64_C(1) << 28,
		      MOVED_BEGIN = UINT64_C(1) << 45, MOVED_END = UINT64_C(1) << 46,
		      MOVED_ALIGN = 1 << 21;
enum { NAMED_STEP = 16, MODULES_MAX = 1 << 16 };

static_assert(MODULES_MAX <= (UINT64_C(1) << 44 >> 28), "each has a range");

static const char UNKNOWN_PATH[] = "[unknown]";

static uint32_t failed(struct composer *composer, struct err *err)
{
	compose_fail(composer, err);
	return 0;
}

static bool is_taken(const struct composer *composer, uint64_t begin, uint64_t end)
{
	for (size_t i = 0; i < composer->modules.count; i++) {
		const struct module_row *other = &composer->modules.items[i];

		if (begin < other->end && other->begin < end)
			return true;
	}
	return end > COMPOSE_PC_END || (begin < MOVED_END && NAMED_BEGIN < end);
}

/* Space for an object loaded where another one had been. 0: none left. */
static uint64_t place_find(struct composer *composer, uint64_t bytes)
{
	const uint64_t begin = MOVED_BEGIN + composer->moved_bytes;

	if (bytes >= MOVED_END - begin)
		return 0;
	composer->moved_bytes = align_up(composer->moved_bytes + bytes, MOVED_ALIGN);
	return begin;
}

static bool module_place(struct composer *composer, const struct compose_module *module,
			 struct module_row *row)
{
	const uint64_t bytes = module->end - module->begin;
	uint64_t begin = module->begin;

	if (module->begin == module->end)
		return true;
	if (is_taken(composer, module->begin, module->end))
		begin = place_find(composer, bytes);
	row->begin = begin;
	row->end = begin + bytes;
	row->shift = begin - module->begin;
	row->bias = module->bias + row->shift;
	return begin != 0 || module->begin == 0;
}

/* The first module of the same file: they share their names. False: out of memory. */
static bool object_find(struct composer *composer, const struct compose_module *module,
			uint32_t *object_ret)
{
	CLEAN(str_deinit) struct str key = { 0 };
	uint32_t id;

	str_add_bytes(&key, (const char *)module->build_id, module->build_id_bytes);
	str_add_char(&key, '/');
	str_add(&key, module->path);
	id = key.failed ? UINT32_MAX : interner_put(&composer->object_keys, key.ptr, key.len);
	if (id == UINT32_MAX)
		return false;
	if (id == composer->objects.count &&
	    !vec_u32_push(&composer->objects, (uint32_t)composer->modules.count))
		return false;
	*object_ret = composer->objects.items[id];
	return true;
}

static uint32_t module_add(struct composer *composer, const struct compose_module *module)
{
	struct module_row row = { .build_id_bytes = module->build_id_bytes };

	if (composer->modules.count == MODULES_MAX)
		return failed(composer, err_new(ERR_LIMIT, "more than %d modules", MODULES_MAX));
	if (!object_find(composer, module, &row.object))
		return failed(composer, err_nomem());

	row.path = arena_strdup(&composer->arena, module->path);
	row.build_id = (const uint8_t *)arena_text(&composer->arena, (const char *)module->build_id,
						   module->build_id_bytes);
	if (!row.path || !row.build_id)
		return failed(composer, err_nomem());
	if (!module_place(composer, module, &row))
		return failed(composer,
			      err_new(ERR_LIMIT, "no room for the addresses of %s", module->path));
	if (!module_vec_push(&composer->modules, row))
		return failed(composer, err_nomem());
	return (uint32_t)composer->modules.count - 1;
}

uint32_t composer_module(struct composer *composer, const struct compose_module *module)
{
	CLEAN(str_deinit) struct str key = { 0 };
	uint32_t known = composer->module_keys.count, id;

	assert(module->build_id || module->build_id_bytes == 0);
	if (composer->err)
		return 0;
	str_printf(&key, "%llx %llx %llx %zu ", (unsigned long long)module->begin,
		   (unsigned long long)module->end, (unsigned long long)module->bias,
		   module->build_id_bytes);
	str_add_bytes(&key, (const char *)module->build_id, module->build_id_bytes);
	str_add(&key, module->path);
	id = key.failed ? UINT32_MAX : interner_put(&composer->module_keys, key.ptr, key.len);
	if (id == UINT32_MAX)
		return failed(composer, err_nomem());
	return id < known ? id : module_add(composer, module);
}

/* --- frames ----------------------------------------------------------------------------------- */

static bool names_equal(const struct composer *composer, const struct frame_row *row,
			const struct name_row *names, size_t count)
{
	return row->name_count == count &&
	       (count == 0 ||
		memcmp(&composer->names.items[row->names], names, count * sizeof(*names)) == 0);
}

/* False: out of memory. */
static bool names_intern(struct composer *composer, const struct compose_frame *frame,
			 struct name_row *names)
{
	for (size_t i = 0; i < frame->name_count; i++) {
		const struct compose_name *name = &frame->names[i];

		names[i] = (struct name_row) {
			.function = interner_put(&composer->texts, name->function,
						 strlen(name->function)),
			.file = UINT32_MAX,
			.line = name->line,
			.column = name->column,
		};
		if (name->file && name->file[0]) {
			names[i].file =
				interner_put(&composer->texts, name->file, strlen(name->file));
			if (names[i].file == UINT32_MAX)
				return false;
		}
		if (names[i].function == UINT32_MAX)
			return false;
	}
	return true;
}

/* The frame with this content, or UINT32_MAX; *key is advanced to its slot. */
static uint32_t frame_find(const struct composer *composer, const struct frame_row *row,
			   const struct name_row *names, uint64_t *key)
{
	const uint64_t *known;

	while ((known = map_find(&composer->frame_ids, *key)) != NULL) {
		const struct frame_row *other = &composer->frames.items[*known];

		if (other->key == row->key && other->module == row->module &&
		    other->exact == row->exact &&
		    names_equal(composer, other, names, row->name_count))
			return (uint32_t)*known;
		*key = hash_mix(*key + 1);
	}
	return UINT32_MAX;
}

/* A unique address for a frame that has none, or whose address has other names already. */
static uint64_t named_pc(struct composer *composer, struct module_row *module)
{
	static const uint64_t count_max = NAMED_BYTES / NAMED_STEP - 1;

	if (module->named_begin == 0)
		module->named_begin =
			NAMED_BEGIN + (uint64_t)(module - composer->modules.items) * NAMED_BYTES;
	if (module->named_count == count_max)
		return failed(composer,
			      err_new(ERR_LIMIT, "too many different frames in %s", module->path));
	return module->named_begin + (uint64_t)++module->named_count * NAMED_STEP;
}

static bool is_within(const struct module_row *module, uint64_t pc, bool exact)
{
	return pc - !exact >= module->begin && pc - !exact < module->end;
}

/* The address to look up names by. No bias applies to addresses that we assigned. */
static uint64_t lookup_address(const struct module_row *module, uint64_t pc, bool exact)
{
	return pc - !exact - (is_within(module, pc, exact) ? module->bias : 0);
}

/* Assigns names to the address; false: it has others. *ok: false if out of memory. */
static bool place_take(struct composer *composer, const struct frame_row *row,
		       const struct name_row *names, bool *ok)
{
	struct module_row *module = &composer->modules.items[row->module];
	struct map *places = &composer->modules.items[module->object].places;
	bool is_new = false;
	uint64_t *place = map_put(places, lookup_address(module, row->pc, row->exact), &is_new);

	*ok = place != NULL;
	if (!place)
		return false;
	if (is_new)
		*place = composer->frames.count + 1;
	return is_new ||
	       names_equal(composer, &composer->frames.items[*place - 1], names, row->name_count);
}

static bool frame_place(struct composer *composer, const struct compose_frame *frame,
			const struct name_row *names, struct frame_row *row)
{
	struct module_row *module = &composer->modules.items[row->module];
	bool ok = true;

	row->pc = frame->pc + module->shift;
	if (row->name_count == 0) {
		if (!is_within(module, row->pc, row->exact))
			row->pc = frame->pc & (COMPOSE_PC_END - 1);
		return true;
	}
	if (frame->pc && is_within(module, row->pc, row->exact) &&
	    place_take(composer, row, names, &ok))
		return true;
	row->exact = false;
	row->pc = named_pc(composer, module);
	return ok && !composer->err && place_take(composer, row, names, &ok);
}

static bool frame_add(struct composer *composer, const struct compose_frame *frame,
		      struct frame_row *row, const struct name_row *names, uint64_t key)
{
	uint64_t *slot;

	row->names = (uint32_t)composer->names.count;
	if (!frame_place(composer, frame, names, row))
		return false;
	for (size_t i = 0; i < frame->name_count; i++)
		if (!name_vec_push(&composer->names, names[i]))
			return false;
	slot = map_put(&composer->frame_ids, key, NULL);
	if (!slot)
		return false;
	*slot = composer->frames.count;
	return frame_vec_push(&composer->frames, *row);
}

/*
 * A frame without names in an object with unknown location: only its address can be shown, though
 * the object is known.
 */
static bool is_bare(const struct composer *composer, const struct compose_frame *frame)
{
	const struct module_row *module = &composer->modules.items[frame->module];

	return frame->name_count == 0 && frame->module != COMPOSE_NO_MODULE &&
	       module->begin == module->end;
}

static uint32_t frame_put(struct composer *composer, const struct compose_frame *frame,
			  bool is_bare)
{
	struct name_row names[PACK_FRAMES_MAX] = { 0 };
	struct compose_frame cut = *frame;
	struct frame_row row = { .module = frame->module, .exact = frame->exact };
	uint64_t key;
	uint32_t id;

	cut.name_count = u64_min(frame->name_count, PACK_FRAMES_MAX);
	if (!names_intern(composer, &cut, names))
		return failed(composer, err_nomem());
	names[0].is_address = is_bare;
	row.name_count = (uint32_t)cut.name_count;
	key = hash_bytes(names, cut.name_count * sizeof(*names),
			 frame->pc ^ (uint64_t)frame->module << 48);
	row.key = frame->pc;
	id = frame_find(composer, &row, names, &key);
	if (id != UINT32_MAX)
		return id;
	if (!frame_add(composer, &cut, &row, names, key))
		return failed(composer, err_nomem());
	return (uint32_t)composer->frames.count - 1;
}

uint32_t composer_frame(struct composer *composer, const struct compose_frame *frame)
{
	char text[STR_SHORT_BYTES];
	struct compose_frame bare = *frame;

	assert(frame->names || frame->name_count == 0);
	if (composer->err)
		return 0;
	assert(frame->module < composer->modules.count);
	assert(frame->pc || frame->name_count);
	if (!is_bare(composer, frame))
		return frame_put(composer, frame, false);
	bare.names = &(struct compose_name) {
		.function = str_format(text, sizeof(text), "0x%llx",
				       (unsigned long long)(frame->pc - !frame->exact)),
	};
	bare.name_count = 1;
	return frame_put(composer, &bare, true);
}

uint32_t composer_stack(struct composer *composer, uint32_t caller, uint32_t frame)
{
	struct stack_row row = { .caller = caller, .frame = frame };
	bool is_new;
	uint64_t *place;

	if (composer->err)
		return COMPOSE_NO_STACK;
	assert(caller < composer->stacks.count);
	assert(frame < composer->frames.count);
	if (caller == COMPOSE_NO_STACK)
		row.caller = caller = COMPOSE_TRUNCATED;
	row.depth = composer->stacks.items[caller].depth + 1;
	if (row.depth > COMPOSE_DEPTH_MAX)
		return failed(composer, err_new(ERR_LIMIT, "a stack is deeper than %d frames",
						COMPOSE_DEPTH_MAX));
	place = map_put(&composer->stack_ids, (uint64_t)caller << 32 | frame, &is_new);
	if (!place)
		return failed(composer, err_nomem());
	if (!is_new)
		return (uint32_t)*place;
	*place = composer->stacks.count;
	if (composer->stacks.count >= UINT32_MAX / 2 || !stack_vec_push(&composer->stacks, row))
		return failed(composer, err_nomem());
	return (uint32_t)*place;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void module_write(struct composer *composer, struct strand *strand, uint32_t id,
			 const struct tape_module *range)
{
	const struct module_row *module = &composer->modules.items[id];
	CLEAN(str_deinit) struct str tail = { 0 };
	struct tape_module record = *range;

	record.build_id_bytes = (uint32_t)module->build_id_bytes;
	str_add_bytes(&tail, (const char *)module->build_id, module->build_id_bytes);
	str_add(&tail, module->path);
	if (tail.failed)
		compose_fail(composer, err_nomem());
	compose_record(composer, strand, 0,
		       &(struct compose_record) { .type = TAPE_EXT_MODULE,
						  .payload = &record,
						  .bytes = sizeof(record),
						  .tail = str_text(&tail),
						  .tail_bytes = tail.len + 1 });
}

void compose_write_modules(struct composer *composer, struct strand *strand)
{
	uint32_t next = 1;

	for (uint32_t i = 0; i < composer->modules.count; i++) {
		const struct module_row *module = &composer->modules.items[i];

		if (module->begin < module->end)
			module_write(composer, strand, i,
				     &(struct tape_module) { .id = next++,
							     .bias = module->bias,
							     .begin = module->begin,
							     .end = module->end });
		if (module->named_count > 0)
			module_write(
				composer, strand, i,
				&(struct tape_module) { .id = next++,
							.begin = module->named_begin,
							.end = module->named_begin + NAMED_BYTES });
	}
}

struct naming {
	const struct composer *composer;
	struct pack_builder builder;
};

static bool place_write(void *context, uint64_t address, uint64_t *frame)
{
	struct naming *naming = context;
	const struct composer *composer = naming->composer;
	const struct frame_row *row = &composer->frames.items[*frame - 1];

	pack_add_place(&naming->builder, address);
	for (uint32_t i = 0; i < row->name_count; i++) {
		const struct name_row *name = &composer->names.items[row->names + i];

		pack_add_frame(&naming->builder, composer->texts.texts[name->function],
			       name->file == UINT32_MAX ? NULL : composer->texts.texts[name->file],
			       name->line,
			       (name->is_address ? 0 : PACK_FRAME_KNOWN) |
				       (i + 1 < row->name_count ? PACK_FRAME_INLINED : 0) |
				       (uint32_t)name->column << PACK_FRAME_COLUMN_SHIFT);
	}
	return true;
}

struct err *compose_names(const struct composer *composer, struct vec_u8 *out)
{
	assert(out->count == 0);
	for (size_t i = 0; i < composer->modules.count; i++) {
		const struct module_row *module = &composer->modules.items[i];
		struct naming naming = { .composer = composer };
		bool ok = true;

		map_each(&module->places, place_write, &naming);
		if (naming.builder.places.count > 0)
			ok = embedded_add(out, module->path, module->build_id,
					  module->build_id_bytes, SYMBOL_LINES, &naming.builder);
		pack_builder_deinit(&naming.builder);
		if (!ok)
			return err_nomem();
	}
	return NULL;
}

bool compose_stacks_init(struct composer *composer)
{
	static const struct compose_module unknown = { .path = UNKNOWN_PATH };

	assert(composer->stacks.count == 0 && composer->modules.count == 0);
	for (uint32_t i = 0; i < TAPE_NODE_FIRST; i++)
		if (!stack_vec_push(&composer->stacks, (struct stack_row) { 0 }))
			return false;
	composer_module(composer, &unknown);
	return !composer->err;
}

void compose_stacks_deinit(struct composer *composer)
{
	for (size_t i = 0; i < composer->modules.count; i++)
		map_deinit(&composer->modules.items[i].places);
	module_vec_deinit(&composer->modules);
	frame_vec_deinit(&composer->frames);
	name_vec_deinit(&composer->names);
	stack_vec_deinit(&composer->stacks);
	interner_deinit(&composer->texts);
	interner_deinit(&composer->module_keys);
	interner_deinit(&composer->object_keys);
	vec_u32_deinit(&composer->objects);
	map_deinit(&composer->frame_ids);
	map_deinit(&composer->stack_ids);
}
