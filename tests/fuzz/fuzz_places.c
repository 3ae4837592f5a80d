/*
 * Programs from hell, as they are prepared for the kernel: unwind tables as rows, the functions of
 * an allocator and their first instructions.
 *
 * Input: a file, which is also taken for code. It is copied to a block of its very size, so that the
 * address sanitizer sees a read next to it.
 */
#include "bpf/places.h"
#include "bpf/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_file(const uint8_t *bytes, size_t size)
{
	CLEAN(elf_file_close) struct elf_file *file = NULL;
	CLEAN(tables_rows_deinit) struct tables_rows rows = { 0 };
	CLEAN(places_deinit) struct places places = { 0 };
	struct err *err = elf_file_view(bytes, size, &file);

	if (!err)
		err = tables_read(file, &rows);
	if (!err && !places_find(file, &places))
		__builtin_trap();
	err_destroy(err);
	for (size_t i = 1; i < rows.count; i++)
		if (rows.items[i].pc <= rows.items[i - 1].pc)
			__builtin_trap();
	for (size_t i = 0; i < places.count; i++)
		if (places.items[i].offset >= size)
			__builtin_trap();
}

static void read_code(const uint8_t *bytes, size_t size)
{
	for (unsigned arguments = 0; arguments < 8; arguments++) {
		bool is_cheap;
		const size_t at = places_cheap(bytes, size, arguments, arguments % 2, &is_cheap);

		if (at > 0 && (at >= size || !is_cheap))
			__builtin_trap();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(free) uint8_t *bytes = malloc(size ? size : 1);

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	read_file(bytes, size);
	read_code(bytes, size);
	return 0;
}
