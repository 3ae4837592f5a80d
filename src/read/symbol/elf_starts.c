#include "symbol/elf_starts.h"

#include <assert.h>

enum {
	/* What every linker writes: count as u32, table of pairs of s32 relative to the section. */
	HEADER_BYTES = 12,
	POINTER_ENCODING = 0x1b,
	COUNT_ENCODING = 0x03,
	TABLE_ENCODING = 0x3b,
	ENTRY_BYTES = 8
};

static uint64_t entry_begin(const struct elf_file *file, const struct elf_section *section,
			    const uint8_t *table, uint64_t i)
{
	const uint64_t offset = elf_file_u32(file, table + i * ENTRY_BYTES);

	return section->address + (uint64_t)(int64_t)(int32_t)offset;
}

uint64_t elf_starts_find(const struct elf_file *file, uint64_t address)
{
	const struct elf_section *section = elf_file_section(file, ".eh_frame_hdr");
	const uint8_t *bytes;
	uint64_t low = 0, high;

	assert(file->bytes);
	if (!section || section->bytes < HEADER_BYTES)
		return address;
	bytes = file->bytes + section->offset;
	if (bytes[0] != 1 || bytes[1] != POINTER_ENCODING || bytes[2] != COUNT_ENCODING ||
	    bytes[3] != TABLE_ENCODING)
		return address;
	high = u64_min(elf_file_u32(file, bytes + 8),
		       (section->bytes - HEADER_BYTES) / ENTRY_BYTES);
	while (low < high) { /* the first that begins after address */
		const uint64_t middle = low + (high - low) / 2;

		if (entry_begin(file, section, bytes + HEADER_BYTES, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? entry_begin(file, section, bytes + HEADER_BYTES, low - 1) : address;
}
