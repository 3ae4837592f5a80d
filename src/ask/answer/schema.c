#include "answer/schema.h"

#include <assert.h>

#include "answer/frame.h"
#include "base/str.h"

static const struct kind {
	const char *type;
	const char *format;
} kinds[] = {
	[MEMBER_COUNT] = { "integer", "count" },    [MEMBER_BYTES] = { "integer", "bytes" },
	[MEMBER_NS] = { "integer", "nanoseconds" }, [MEMBER_PLAIN] = { "integer", NULL },
	[MEMBER_ADDRESS] = { "string", "address" }, [MEMBER_HASH] = { "string", "hash" },
	[MEMBER_SIGNED] = { "integer", NULL },	    [MEMBER_RATIO] = { "number", NULL },
	[MEMBER_AMOUNT] = { "number", NULL },	    [MEMBER_HASHES] = { "array", NULL },
	[MEMBER_INDEXES] = { "array", NULL },	    [MEMBER_RATIOS] = { "array", NULL },
	[MEMBER_CELLS] = { "array", NULL },	    [MEMBER_SHARE] = { "number", "percent" },
	[MEMBER_FLAG] = { "boolean", NULL },	    [MEMBER_TEXT] = { "string", NULL },
	[MEMBER_TEXTS] = { "array", NULL },	    [MEMBER_CALLS] = { "array", NULL },
	[MEMBER_NUMBERS] = { "array", NULL },	    [MEMBER_FRAMES] = { "array", NULL },
	[MEMBER_OBJECT] = { "object", NULL },	    [MEMBER_FLAT] = { "object", NULL },
	[MEMBER_ROWS] = { "array", NULL },	    [MEMBER_KEYED] = { "object", NULL },
};

static const struct shape *shape_of(const struct member *member)
{
	return member->kind == MEMBER_FRAMES ? &shape_frame : member->shape;
}

/* Never written in JSON. */
static bool is_never_said(const struct member *member)
{
	return member->is_text || member->is_column;
}

/* Flat members have no schema of their own. */
static void parts_add(struct schemas *schemas, const struct shape *shape)
{
	for (size_t i = 0; i < shape->member_count; i++) {
		const struct member *member = &shape->members[i];

		if (is_never_said(member))
			continue;
		if (member->kind == MEMBER_OBJECT || member->kind == MEMBER_FLAT)
			assert(member->pointed || member->bytes == member->shape->bytes);
		if (member->kind == MEMBER_FLAT)
			parts_add(schemas, member->shape);
		else if (shape_of(member))
			schemas_add(schemas, shape_of(member));
	}
}

void schemas_add(struct schemas *schemas, const struct shape *shape)
{
	for (size_t i = 0; i < schemas->count; i++) {
		if (schemas->items[i] == shape)
			return;
		assert(strcmp(schemas->items[i]->name, shape->name) != 0); /* duplicate name */
	}
	assert(schemas->count < array_size(schemas->items));
	schemas->items[schemas->count++] = shape;
	parts_add(schemas, shape);
}

void schema_reference_to(struct emit *emit, const char *key, const char *name)
{
	CLEAN(str_deinit) struct str path = { 0 };

	assert(name && *name);
	str_printf(&path, "#/components/schemas/%s", name);
	emit_object(emit, key);
	emit_text(emit, "$ref", str_text(&path));
	emit_end(emit);
}

void schema_reference(struct emit *emit, const char *key, const struct shape *shape)
{
	schema_reference_to(emit, key, shape->name);
}

static const char *item_type(const struct member *member)
{
	switch (member->kind) {
	case MEMBER_NUMBERS:
	case MEMBER_INDEXES:
		return "integer";
	case MEMBER_RATIOS:
		return "number";
	default:
		return "string";
	}
}

static void words_emit(struct emit *emit, const char *const *words)
{
	emit_list(emit, "enum");
	for (; *words; words++)
		emit_text(emit, NULL, *words);
	emit_end(emit);
}

/* The rest of an open object: a list of values of any kind. */
static void cells_emit(struct emit *emit)
{
	emit_text(emit, "type", "array");
	emit_object(emit, "items");
	emit_bool(emit, "nullable", true);
	emit_end(emit);
	emit_end(emit);
}

static void items_emit(struct emit *emit, const struct member *member)
{
	if (shape_of(member)) {
		schema_reference(emit, "items", shape_of(member));
		return;
	}
	emit_object(emit, "items");
	if (member->kind == MEMBER_CELLS) {
		cells_emit(emit);
		return;
	}
	emit_text(emit, "type", item_type(member));
	if (member->kind == MEMBER_HASHES)
		emit_text(emit, "format", "hash");
	if (member->gaps)
		emit_bool(emit, "nullable", true);
	emit_end(emit);
}

/* In OpenAPI 3.0 a reference with siblings must be wrapped. */
static void property_emit(struct emit *emit, const struct member *member)
{
	const struct kind *kind = &kinds[member->kind];

	emit_object(emit, member->key);
	if (member->kind == MEMBER_OBJECT) {
		emit_list(emit, "allOf");
		schema_reference(emit, NULL, member->shape);
		emit_end(emit);
	} else {
		emit_text(emit, "type", kind->type);
	}
	if (kind->format)
		emit_text(emit, "format", kind->format);
	if (member->words)
		words_emit(emit, member->words);
	if (strcmp(kind->type, "array") == 0)
		items_emit(emit, member);
	if (member->kind == MEMBER_KEYED)
		schema_reference(emit, "additionalProperties", member->shape);
	if (member->nullable)
		emit_bool(emit, "nullable", true);
	if (member->doc)
		emit_text(emit, "description", member->doc);
	emit_end(emit);
}

static void properties_emit(struct emit *emit, const struct shape *shape)
{
	for (size_t i = 0; i < shape->member_count; i++) {
		const struct member *member = &shape->members[i];

		if (is_never_said(member))
			continue;
		if (member->kind == MEMBER_FLAT)
			properties_emit(emit, member->shape);
		else
			property_emit(emit, member);
	}
}

/* Members of a flat shape are required if it is. */
static void required_emit(struct emit *emit, const struct shape *shape)
{
	for (size_t i = 0; i < shape->member_count; i++) {
		const struct member *member = &shape->members[i];

		if (member->optional || is_never_said(member))
			continue;
		if (member->kind == MEMBER_FLAT)
			required_emit(emit, member->shape);
		else
			emit_text(emit, NULL, member->key);
	}
}

void schema_emit(struct emit *emit, const char *key, const struct shape *shape)
{
	emit_object(emit, key);
	emit_text(emit, "type", "object");
	emit_object(emit, "properties");
	properties_emit(emit, shape);
	emit_end(emit);
	emit_list(emit, "required");
	required_emit(emit, shape);
	emit_end(emit);
	emit_end(emit);
}
