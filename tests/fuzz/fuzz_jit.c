/*
 * Tables of JIT code from hell: a jitdump and a map of perf, both left by the recorded program.
 */
#include <stdlib.h>

#include "symbol/jitdump.h"
#include "symbol/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void dump_read(const uint8_t *bytes, size_t size)
{
	struct jitdump *dump = NULL;
	struct err *err = jitdump_view(bytes, size, &dump);
	struct jit_place place;

	for (size_t i = 0; dump && i + 8 <= size; i += 8) {
		if (jitdump_find(dump, load_u64(bytes + i), i, &place) &&
		    (strlen(place.function) > size || (place.file && strlen(place.file) > size)))
			abort();
	}
	err_destroy(err);
	jitdump_close(dump);
}

static void map_read(const uint8_t *bytes, size_t size)
{
	struct perf_map *map = NULL;
	struct err *err = perf_map_parse((const char *)bytes, size, &map);

	for (uint64_t address = 0; map && address < 64; address++)
		perf_map_find(map, address << (address % 48));
	err_destroy(err);
	perf_map_close(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	dump_read(bytes, size);
	map_read(bytes, size);
	free(bytes);
	return 0;
}
