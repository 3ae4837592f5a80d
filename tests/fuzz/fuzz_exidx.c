/*
 * ARM's exception index from hell: every entry of it, and what it finds for addresses.
 *
 * Input: 4 bytes of where the index is, then a segment as it would be mapped. It is copied to a block
 * of its very size, so that the address sanitizer sees a read next to it.
 */
#include "unwind/exidx.h"

#include <stdlib.h>

enum { ENTRIES_MAX = 512, BYTES_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(enum exidx_found found, const struct exidx_row *row)
{
	if (found == EXIDX_ROW && (row->reg == EXIDX_REG_PC || row->reg >= EXIDX_REGS ||
				   row->saved >> EXIDX_REGS || row->offset % 4))
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct exidx index = { 0 };
	uint8_t *segment;
	uint32_t offset;

	if (size <= sizeof(offset) || size > BYTES_MAX)
		return 0;
	memcpy(&offset, data, sizeof(offset));
	size -= sizeof(offset);
	segment = malloc(size);
	memcpy(segment, data + sizeof(offset), size);
	offset %= (uint32_t)size + 1;
	index.begin = segment;
	index.end = segment + size;
	index.entries = segment + offset;
	index.count = (size - offset) / 8;
	for (size_t i = 0; i < index.count && i < ENTRIES_MAX; i++) {
		struct exidx_row row;
		uint64_t begin;

		check(exidx_entry(&index, i, &begin, &row), &row);
		check(exidx_find(&index, begin, &row), &row);
		check(exidx_find(&index, begin - 1, &row), &row);
	}
	free(segment);
	return 0;
}
