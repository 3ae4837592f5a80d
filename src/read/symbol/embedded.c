#include "symbol/embedded.h"

#include <assert.h>

static const char MAGIC[8] = { 'M', 'T', 'S', 'Y', 'M', 'B', 'O', 'L' };

enum { ALIGN_BYTES = 8 };

ARCH_LITTLE_BEGIN

struct entry_header {
	uint32_t path_len;
	uint32_t build_id_bytes;
	uint64_t pack_bytes;
};

ARCH_LITTLE_END

static_assert(sizeof(struct entry_header) == 16, "format");

static struct err *damaged(void)
{
	return err_new(ERR_FORMAT, "the names on the tape are damaged");
}

/* Reads the object at bytes + *at, and advances *at past it. */
static struct err *object_read(const uint8_t *bytes, size_t size, size_t *at,
			       struct embedded_object *object)
{
	struct entry_header header;
	size_t rest = size - *at, texts;

	if (rest < sizeof(header))
		return damaged();
	memcpy(&header, bytes + *at, sizeof(header));
	*at += sizeof(header);
	rest -= sizeof(header);
	texts = align_up((uint64_t)header.path_len + header.build_id_bytes, ALIGN_BYTES);
	if (texts > rest || header.pack_bytes > rest - texts)
		return damaged();
	object->path = (const char *)bytes + *at;
	object->path_len = header.path_len;
	object->build_id = bytes + *at + header.path_len;
	object->build_id_bytes = header.build_id_bytes;
	*at += texts;
	rest -= texts;
	struct err *err = pack_view(bytes + *at, header.pack_bytes, &object->pack);
	*at += u64_min(align_up(header.pack_bytes, ALIGN_BYTES), rest);
	return err;
}

struct err *embedded_view(const void *bytes, size_t size, struct embedded *embedded_ret)
{
	CLEAN(embedded_deinit) struct embedded embedded = { 0 };
	size_t at = sizeof(MAGIC);

	assert((uintptr_t)bytes % sizeof(uint64_t) == 0);
	if (size < sizeof(MAGIC) || memcmp(bytes, MAGIC, sizeof(MAGIC)) != 0)
		return damaged();
	while (at < size) {
		struct embedded_object object;
		struct err *err = object_read(bytes, size, &at, &object);

		if (err)
			return err;
		if (!embedded_object_vec_push(&embedded.objects, object))
			return err_nomem();
	}
	*embedded_ret = embedded;
	embedded = (struct embedded) { 0 };
	return NULL;
}

void embedded_deinit(struct embedded *embedded)
{
	embedded_object_vec_deinit(&embedded->objects);
}

const struct pack *embedded_find(const struct embedded *embedded, const char *path,
				 const uint8_t *build_id, size_t build_id_bytes)
{
	const size_t len = strlen(path);

	assert(build_id || build_id_bytes == 0);
	for (size_t i = 0; embedded && i < embedded->objects.count; i++) {
		const struct embedded_object *object = &embedded->objects.items[i];

		if (object->path_len == len && memcmp(object->path, path, len) == 0 &&
		    object->build_id_bytes == build_id_bytes &&
		    (build_id_bytes == 0 ||
		     memcmp(object->build_id, build_id, build_id_bytes) == 0))
			return &object->pack;
	}
	return NULL;
}

static bool bytes_add(struct vec_u8 *out, const void *bytes, size_t count)
{
	if (!vec_u8_reserve(out, out->count + count + ALIGN_BYTES))
		return false;
	if (count > 0)
		memcpy(out->items + out->count, bytes, count);
	out->count += count;
	return true;
}

static bool zeros_add(struct vec_u8 *out)
{
	static const uint8_t zeros[ALIGN_BYTES] = { 0 };

	return bytes_add(out, zeros, align_up(out->count, ALIGN_BYTES) - out->count);
}

bool embedded_add(struct vec_u8 *out, const char *path, const uint8_t *build_id,
		  size_t build_id_bytes, uint32_t state, struct pack_builder *builder)
{
	CLEAN(vec_u8_deinit) struct vec_u8 pack = { 0 };
	struct entry_header header = { .path_len = (uint32_t)strlen(path),
				       .build_id_bytes = (uint32_t)build_id_bytes };

	assert(out->count % sizeof(uint64_t) == 0);
	assert(build_id || build_id_bytes == 0);
	if (out->count == 0 && !bytes_add(out, MAGIC, sizeof(MAGIC)))
		return false;
	if (!pack_write(builder, state, 0, &pack))
		return false;
	header.pack_bytes = pack.count;
	return bytes_add(out, &header, sizeof(header)) && bytes_add(out, path, header.path_len) &&
	       bytes_add(out, build_id, build_id_bytes) && zeros_add(out) &&
	       bytes_add(out, pack.items, pack.count) && zeros_add(out);
}
