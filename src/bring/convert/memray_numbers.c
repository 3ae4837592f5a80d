#include "convert/memray.h"

#include <assert.h>

enum { TEXT_MAX = 1 << 16 };

void memray_fail(struct memray *memray, const char *why)
{
	assert(why);
	if (!memray->why)
		memray->why = why;
}

void memray_put(struct memray *memray, struct map *map, uint64_t key, uint64_t value)
{
	uint64_t *place = map_put(map, key, NULL);

	if (place)
		*place = value;
	else
		memray_fail(memray, "out of memory");
}

void memray_bytes_read(struct memray *memray, void *out, size_t count)
{
	assert(out || count == 0);
	if (memray->why || !source_take(memray->source, out, count)) {
		memset(out, 0, count);
		memray_fail(memray, "the file ends in the middle of a record");
	}
}

uint8_t memray_u8_read(struct memray *memray)
{
	uint8_t value;

	memray_bytes_read(memray, &value, sizeof(value));
	return value;
}

uint32_t memray_u32_read(struct memray *memray)
{
	uint8_t bytes[4];

	memray_bytes_read(memray, bytes, sizeof(bytes));
	return load_u32(bytes);
}

uint64_t memray_u64_read(struct memray *memray)
{
	uint8_t bytes[8];

	memray_bytes_read(memray, bytes, sizeof(bytes));
	return load_u64(bytes);
}

uint64_t memray_varint_read(struct memray *memray)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		const uint8_t byte = memray_u8_read(memray);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	memray_fail(memray, "a number is longer than any is");
	return 0;
}

uint64_t memray_delta_read(struct memray *memray)
{
	const uint64_t value = memray_varint_read(memray);

	return value >> 1 ^ (0 - (value & 1));
}

/* Into memray->text. */
const char *memray_text_read(struct memray *memray)
{
	str_clear(&memray->text);
	while (!memray->why && memray->text.len < TEXT_MAX) {
		const uint8_t byte = memray_u8_read(memray);

		if (byte == 0)
			break;
		str_add_char(&memray->text, (char)byte);
	}
	if (memray->text.len == TEXT_MAX)
		memray_fail(memray, "a string is too long");
	if (memray->text.failed)
		memray_fail(memray, "out of memory");
	return str_text(&memray->text);
}
