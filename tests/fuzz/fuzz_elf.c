/*
 * Objects from hell: sections, symbols, build-ids and function starts of a hostile ELF file. It
 * lies in a block of its very size, so that the address sanitizer sees a read next to it.
 */
#include <stdlib.h>

#include "symbol/elf_names.h"
#include "symbol/elf_starts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const struct elf_file *file, const struct elf_names *names, uint64_t address)
{
	const struct elf_name *name = elf_names_find(names, address);

	if (name && strlen(name->name) > file->size)
		abort(); /* names lie in the file */
	elf_starts_find(file, address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);
	struct elf_names names = { 0 };
	struct elf_file *file = NULL;
	struct err *err;

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	err = elf_file_view(bytes, size, &file);
	if (!err) {
		elf_names_add(&names, file);
		elf_names_sort(&names);
		for (size_t i = 0; i < names.count; i++)
			look_up(file, &names, names.names[i].address + i % 3);
		look_up(file, &names, 0);
		look_up(file, &names, UINT64_MAX);
		elf_file_has_build_id(file, data, u64_min(size, 20));
	}
	err_destroy(err);
	elf_names_deinit(&names);
	elf_file_close(file);
	free(bytes);
	return 0;
}
