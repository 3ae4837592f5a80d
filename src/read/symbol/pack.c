#include "symbol/pack.h"

#include <assert.h>

#include "base/sort.h"

static const char MAGIC[8] = { 'M', 'T', 'N', 'A', 'M', 'E', 'S', '\n' };

enum { STRING_BYTES_MAX = 1 << 30, PLACES_MAX = 1 << 26 };

static_assert(sizeof(struct pack_header) == 48, "format");
static_assert(sizeof(struct pack_place) == 16, "format");
static_assert(sizeof(struct pack_frame) == 16, "format");

static struct err *damaged(const char *what)
{
	return err_new(ERR_FORMAT, "table of names: %s", what);
}

static struct err *places_check(const struct pack *pack)
{
	const struct pack_header *header = pack->header;

	for (uint32_t i = 0; i < header->place_count; i++) {
		const struct pack_place *place = &pack->places[i];

		if (i > 0 && place->address <= pack->places[i - 1].address)
			return damaged("addresses are not sorted");
		if (place->count == 0 || place->count > PACK_FRAMES_MAX ||
		    place->first > header->frame_count ||
		    place->count > header->frame_count - place->first)
			return damaged("frames lie outside");
	}
	return NULL;
}

static struct err *frames_check(const struct pack *pack)
{
	const struct pack_header *header = pack->header;

	for (uint32_t i = 0; i < header->frame_count; i++) {
		const struct pack_frame *frame = &pack->frames[i];

		if (frame->function >= header->string_bytes ||
		    (frame->file >= header->string_bytes && frame->file != PACK_NO_TEXT))
			return damaged("texts lie outside");
	}
	if (header->string_bytes > 0 && pack->strings[header->string_bytes - 1] != '\0')
		return damaged("texts do not end");
	return NULL;
}

struct err *pack_view(const void *bytes, size_t size, struct pack *pack_ret)
{
	struct pack pack = { .header = bytes };
	const uint8_t *rest = (const uint8_t *)bytes + sizeof(*pack.header);
	struct err *err;
	uint64_t total;

	if (size < sizeof(*pack.header) || (uintptr_t)bytes % sizeof(uint64_t) != 0)
		return damaged("too short");
	if (memcmp(pack.header->magic, MAGIC, sizeof(MAGIC)) != 0 ||
	    pack.header->version != PACK_VERSION)
		return damaged("of another version");
	total = sizeof(*pack.header) + (uint64_t)pack.header->place_count * sizeof(*pack.places) +
		(uint64_t)pack.header->frame_count * sizeof(*pack.frames) +
		pack.header->string_bytes;
	if (total != size)
		return damaged("of another length");
	if (hash_bytes(rest, size - sizeof(*pack.header), 0) != pack.header->checksum)
		return damaged("checksum is wrong");
	pack.places = (const void *)rest;
	pack.frames = (const void *)(pack.places + pack.header->place_count);
	pack.strings = (const void *)(pack.frames + pack.header->frame_count);
	err = places_check(&pack);
	if (!err)
		err = frames_check(&pack);
	if (!err)
		*pack_ret = pack;
	return err;
}

const struct pack_place *pack_find(const struct pack *pack, uint64_t address)
{
	size_t low = 0, high = pack->header->place_count;

	assert(pack->header);
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (pack->places[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == pack->header->place_count || pack->places[low].address != address)
		return NULL;
	return &pack->places[low];
}

void pack_builder_deinit(struct pack_builder *builder)
{
	pack_place_vec_deinit(&builder->places);
	pack_frame_vec_deinit(&builder->frames);
	interner_deinit(&builder->texts);
	vec_u32_deinit(&builder->offsets);
	str_deinit(&builder->strings);
}

void pack_add_place(struct pack_builder *builder, uint64_t address)
{
	const struct pack_place place = { .address = address,
					  .first = (uint32_t)builder->frames.count };

	if (builder->places.count >= PLACES_MAX || !pack_place_vec_push(&builder->places, place))
		builder->failed = true;
}

static uint32_t text_add(struct pack_builder *builder, const char *text)
{
	const size_t len = strlen(text);
	const uint32_t id = interner_put(&builder->texts, text, len);

	if (id == UINT32_MAX || builder->strings.len + len + 1 > STRING_BYTES_MAX) {
		builder->failed = true;
		return 0;
	}
	if (id == builder->offsets.count) {
		if (!vec_u32_push(&builder->offsets, (uint32_t)builder->strings.len))
			builder->failed = true;
		str_add_bytes(&builder->strings, text, len + 1);
	}
	return builder->failed ? 0 : builder->offsets.items[id];
}

void pack_add_frame(struct pack_builder *builder, const char *function, const char *file,
		    uint32_t line, uint32_t flags)
{
	const struct pack_frame frame = {
		.function = text_add(builder, function),
		.file = file ? text_add(builder, file) : PACK_NO_TEXT,
		.line = line,
		.flags = flags,
	};

	assert(builder->places.count > 0 || builder->failed);
	assert(function);
	if (builder->failed || !pack_frame_vec_push(&builder->frames, frame))
		builder->failed = true;
	else
		builder->places.items[builder->places.count - 1].count++;
}

void pack_add_pack(struct pack_builder *builder, const struct pack *pack, const struct map *skip)
{
	for (uint32_t i = 0; i < pack->header->place_count && !builder->failed; i++) {
		const struct pack_place *place = &pack->places[i];

		if (skip && map_find(skip, place->address))
			continue;
		pack_add_place(builder, place->address);
		for (uint32_t at = 0; at < place->count; at++) {
			const struct pack_frame *frame = &pack->frames[place->first + at];
			const char *file =
				frame->file == PACK_NO_TEXT ? NULL : pack->strings + frame->file;

			pack_add_frame(builder, pack->strings + frame->function, file, frame->line,
				       frame->flags);
		}
	}
}

static int place_compare(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct pack_place *)a)->address,
				((const struct pack_place *)b)->address);
}

static bool bytes_add(struct vec_u8 *out, const void *bytes, size_t count)
{
	if (!vec_u8_reserve(out, out->count + count))
		return false;
	if (count > 0)
		memcpy(out->items + out->count, bytes, count);
	out->count += count;
	return true;
}

bool pack_write(struct pack_builder *builder, uint32_t state, uint64_t identity, struct vec_u8 *out)
{
	struct pack_header header = {
		.version = PACK_VERSION,
		.state = state,
		.place_count = (uint32_t)builder->places.count,
		.frame_count = (uint32_t)builder->frames.count,
		.string_bytes = (uint32_t)builder->strings.len,
		.identity = identity,
	};
	const size_t begin = out->count;

	if (builder->failed || builder->strings.failed ||
	    !sort_stable(builder->places.items, builder->places.count,
			 sizeof(*builder->places.items), place_compare, NULL))
		return false;
	memcpy(header.magic, MAGIC, sizeof(MAGIC));
	if (!bytes_add(out, &header, sizeof(header)) ||
	    !bytes_add(out, builder->places.items,
		       builder->places.count * sizeof(*builder->places.items)) ||
	    !bytes_add(out, builder->frames.items,
		       builder->frames.count * sizeof(*builder->frames.items)) ||
	    !bytes_add(out, builder->strings.ptr, builder->strings.len))
		return false;
	header.checksum = hash_bytes(out->items + begin + sizeof(header),
				     out->count - begin - sizeof(header), 0);
	memcpy(out->items + begin, &header, sizeof(header));
	return true;
}
