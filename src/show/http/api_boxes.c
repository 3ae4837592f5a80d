#include "http/api_boxes.h"

#include <assert.h>

#include "base/map.h"

const struct name api_boxes_all = {
	.function = "all", .brief = "all", .module = "", .module_short = ""
};

static const struct member boxes_members[] = {
	MEMBER(struct api_boxes, boxes, COUNT, "how many there are in the columns below"),
	MEMBER(struct api_boxes, of, COUNT, "nodes of the whole tree"),
	MEMBER(struct api_boxes, root, HASHES, "the way to box 0, functions"),
	MEMBER(struct api_boxes, root_names, TEXTS, "their names"),
	MEMBER(struct api_boxes, root_briefs, TEXTS, "the same, shortened for people"),
	MEMBER(struct api_boxes, names, TEXTS, "of functions, each once"),
	MEMBER(struct api_boxes, briefs, TEXTS,
	       "the same, shortened for people: without return types and libraries' template "
	       "arguments"),
	MEMBER(struct api_boxes, hashes, HASHES, "of these functions"),
	MEMBER(struct api_boxes, name_module, INDEXES, "by name: which of modules; -1: in none"),
	MEMBER(struct api_boxes, role, INDEXES, "by name: 0 program, 1 allocator, 2 start"),
	MEMBER(struct api_boxes, modules, TEXTS, "short names, each once"),
	MEMBER(struct api_boxes, name, INDEXES,
	       "by box: which of names; -1: what is too small to draw, together"),
	MEMBER(struct api_boxes, parent, INDEXES, "by box; of box 0: -1"),
	MEMBER(struct api_boxes, depth, INDEXES, "by box, below box 0"),
	MEMBER(struct api_boxes, count, NUMBERS, "by box: allocations; where name is -1, subtrees"),
	MEMBER(struct api_boxes, file, TEXTS, "by box: where its function was called or allocates",
	       .gaps = true),
	MEMBER(struct api_boxes, line, INDEXES, "by box: in that file; 0: not known"),
};
const struct shape api_shape_boxes = SHAPE("FlameBoxes", struct api_boxes, boxes_members);

/* --- the table of names -------------------------------------------------------------------- */

struct table {
	const struct api_box *boxes;
	struct map place_of; /* name -> index in the table + 1 */
	size_t *shown;	     /* by index, a box with the name */
	size_t count;
	struct interner modules;
};

static void table_deinit(struct table *table)
{
	map_deinit(&table->place_of);
	interner_deinit(&table->modules);
}

CLEAN_DEFINE_DEINIT(table_deinit, struct table);

static struct err *table_fill(struct table *table, size_t box_count, int32_t *places)
{
	for (size_t i = 0; i < box_count; i++) {
		const struct name *name = table->boxes[i].name;
		uint64_t *place;

		places[i] = -1;
		if (!name)
			continue;
		place = map_put(&table->place_of, (uintptr_t)name, NULL);
		if (!place)
			return err_nomem();
		if (*place == 0) {
			table->shown[table->count++] = i;
			*place = table->count;
		}
		places[i] = (int32_t)*place - 1;
	}
	return NULL;
}

/* Index of a name's module; -1: none. */
static int32_t module_place(struct table *table, const struct name *name)
{
	const char *module = api_module(name);

	return module ? (int32_t)interner_put(&table->modules, module, strlen(module)) : -1;
}

static struct err *modules_fill(const struct interner *modules, struct arena *arena,
				struct shape_texts *texts)
{
	const char **items = arena_array(arena, modules->count, sizeof(*items));

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < modules->count; i++) {
		items[i] = arena_strdup(arena, modules->texts[i]);
		if (!items[i])
			return err_nomem();
	}
	*texts = (struct shape_texts) { items, modules->count };
	return NULL;
}

static struct err *names_fill(struct table *table, api_box_hash *hash, const void *context,
			      struct arena *arena, struct api_boxes *filled)
{
	const size_t count = table->count;
	const char **texts = arena_array(arena, count, sizeof(*texts));
	const char **briefs = arena_array(arena, count, sizeof(*briefs));
	uint64_t *hashes = arena_array(arena, count, sizeof(*hashes));
	int32_t *modules = arena_array(arena, count, sizeof(*modules));
	int32_t *roles = arena_array(arena, count, sizeof(*roles));

	if (!texts || !briefs || !hashes || !modules || !roles)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct name *name = table->boxes[table->shown[i]].name;

		texts[i] = name->function;
		briefs[i] = name->brief;
		roles[i] = (int32_t)name->role;
		modules[i] = module_place(table, name);
		hashes[i] = name == &api_boxes_all ? 0 : hash(context, table->shown[i]);
	}
	filled->names = (struct shape_texts) { texts, count };
	filled->briefs = (struct shape_texts) { briefs, count };
	filled->hashes = (struct shape_numbers) { hashes, count };
	filled->name_module = (struct shape_indexes) { modules, count };
	filled->role = (struct shape_indexes) { roles, count };
	return modules_fill(&table->modules, arena, &filled->modules);
}

/* --- the boxes ----------------------------------------------------------------------------- */

static struct err *columns_fill(const struct api_box *boxes, size_t count, struct arena *arena,
				struct api_boxes *filled)
{
	int32_t *parents = arena_array(arena, count, sizeof(*parents));
	int32_t *depths = arena_array(arena, count, sizeof(*depths));
	int32_t *lines = arena_array(arena, count, sizeof(*lines));
	uint64_t *counts = arena_array(arena, count, sizeof(*counts));
	const char **files = arena_array(arena, count, sizeof(*files));

	if (!parents || !depths || !lines || !counts || !files)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		parents[i] = boxes[i].parent == UINT32_MAX ? -1 : (int32_t)boxes[i].parent;
		depths[i] = (int32_t)boxes[i].depth;
		lines[i] = (int32_t)boxes[i].line;
		counts[i] = boxes[i].count;
		files[i] = boxes[i].file;
	}
	filled->parent = (struct shape_indexes) { parents, count };
	filled->depth = (struct shape_indexes) { depths, count };
	filled->line = (struct shape_indexes) { lines, count };
	filled->count = (struct shape_numbers) { counts, count };
	filled->file = (struct shape_texts) { files, count };
	return NULL;
}

struct err *api_boxes_fill(const struct api_box *boxes, size_t count, api_box_hash *hash,
			   const void *context, struct arena *arena, struct api_boxes *filled)
{
	CLEAN(table_deinit) struct table table = { .boxes = boxes };
	int32_t *places = arena_array(arena, count, sizeof(*places));
	struct err *err;

	assert(boxes || count == 0);
	assert(hash);
	table.shown = arena_array(arena, count, sizeof(*table.shown));
	if (!places || !table.shown)
		return err_nomem();
	err = table_fill(&table, count, places);
	if (!err)
		err = names_fill(&table, hash, context, arena, filled);
	if (!err)
		err = columns_fill(boxes, count, arena, filled);
	filled->boxes = count;
	filled->name = (struct shape_indexes) { places, count };
	return err;
}
