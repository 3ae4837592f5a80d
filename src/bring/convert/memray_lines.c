#include "convert/memray_lines.h"

/* Varint: six bits per byte, lowest first; another bit is set if more follow. */
static uint32_t varint(const uint8_t **at, const uint8_t *end)
{
	uint32_t value = 0;

	for (unsigned shift = 0; *at < end && shift < 32; shift += 6) {
		const uint8_t byte = *(*at)++;

		value |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value;
}

static int64_t signed_varint(const uint8_t **at, const uint8_t *end)
{
	const uint32_t value = varint(at, end);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

uint32_t memray_line(uint32_t version, const uint8_t *table, size_t bytes, int64_t first_line,
		     int64_t offset)
{
	enum { NONE = 15, LONG = 14, NO_COLUMNS = 13, ONE_LINE = 10, UNIT_BYTES = 2 };
	const uint32_t first_version = 0x030b0000;
	const uint8_t *at = table, *end = table + bytes;
	int64_t line = first_line, begin = 0;

	if (version < first_version || offset < 0)
		return 0;
	while (at < end) {
		const uint8_t head = *at++;
		const uint8_t form = head >> 3 & 15;
		const int64_t next = begin + ((head & 7) + 1) * UNIT_BYTES;

		if (form == LONG || form == NO_COLUMNS)
			line += signed_varint(&at, end);
		else if (form >= ONE_LINE && form < NO_COLUMNS)
			line += form - ONE_LINE;
		if (offset < next)
			return form != NONE && line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
		/* skips the columns: the bytes up to the next head */
		while (at < end && !(*at & 128))
			at++;
		begin = next;
	}
	return 0;
}
