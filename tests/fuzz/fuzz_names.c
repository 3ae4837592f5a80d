/*
 * Tables of names from hell: the file of a cache that somebody else wrote, and the names on a tape.
 * Checksums are made right first, so that what they protect is looked at.
 */
#include <stdlib.h>

#include "symbol/embedded.h"
#include "symbol/spell.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void texts_read(const struct pack *pack, struct arena *arena)
{
	for (uint32_t i = 0; i < pack->header->place_count; i++) {
		const struct pack_place *place = pack_find(pack, pack->places[i].address);

		if (!place)
			abort(); /* addresses are sorted */
		for (uint32_t at = 0; at < place->count; at++) {
			const struct pack_frame *frame = &pack->frames[place->first + at];
			const char *name = pack->strings + frame->function;

			if (strlen(name) > pack->header->string_bytes ||
			    (frame->file != PACK_NO_TEXT &&
			     strlen(pack->strings + frame->file) > pack->header->string_bytes))
				abort();
			spell_name(name, SYMBOL_SPELL_SHORT, arena);
			spell_name(name, SYMBOL_SPELL_NO_ARGUMENTS, arena);
		}
	}
	pack_find(pack, 0);
	pack_find(pack, UINT64_MAX);
}

static void pack_read(uint8_t *bytes, size_t size)
{
	struct pack_header *header = (void *)bytes;
	struct arena arena = { 0 };
	struct pack pack;
	struct err *err;

	if (size >= sizeof(*header))
		header->checksum = hash_bytes(header + 1, size - sizeof(*header), 0);
	err = pack_view(bytes, size, &pack);
	if (!err)
		texts_read(&pack, &arena);
	err_destroy(err);
	arena_deinit(&arena);
}

static void embedded_read(const uint8_t *bytes, size_t size)
{
	struct embedded embedded;
	struct err *err = embedded_view(bytes, size, &embedded);

	if (!err) {
		embedded_find(&embedded, "[jit]", NULL, 0);
		embedded_deinit(&embedded);
	}
	err_destroy(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	embedded_read(bytes, size);
	pack_read(bytes, size);
	free(bytes);
	return 0;
}
