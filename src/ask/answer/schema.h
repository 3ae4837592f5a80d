/*
 * schema: a shape as a JSON Schema, in the dialect of OpenAPI 3.0. Amounts have a `format`: bytes,
 * nanoseconds, count, address or hash.
 */
#ifndef MEMTAPE_ANSWER_SCHEMA_H
#define MEMTAPE_ANSWER_SCHEMA_H

#include "answer/shape.h"
#include "base/emit.h"

/* Names of shapes, without duplicates; nested shapes are included. */
struct schemas {
	const struct shape *items[256];
	size_t count;
};

/* Adds the shape and all shapes it uses, except those flattened into it. */
void schemas_add(struct schemas *schemas, const struct shape *shape);

/* {"type": "object", "properties": ...} with references to #/components/schemas/NAME. */
void schema_emit(struct emit *emit, const char *key, const struct shape *shape);

/* {"$ref": ...} to the shape, or to the schema of that name. */
void schema_reference_to(struct emit *emit, const char *key, const char *name);
void schema_reference(struct emit *emit, const char *key, const struct shape *shape);

#endif
