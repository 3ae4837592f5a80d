/*
 * Objects from hell: sections, symbols, build-ids, function starts, unwind tables and exported
 * functions of a hostile ELF file. It
 * lies in a block of its very size, so that the address sanitizer sees a read next to it.
 */
#include <stdlib.h>

#include "scan/exports.h"
#include "scan/stack_frames.h"
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

static void look_at_exports(const struct elf_file *file)
{
	struct exports exports;

	if (exports_of(file, &exports)) {
		exports_find(&exports, "malloc");
		for (size_t i = 0; i < exports.functions.count && i < 100; i++)
			exports_name(&exports, exports.functions.items[i].begin);
	}
	exports_deinit(&exports);
}

/* Steps from many places of the code, with a stack of another process. */
static void unwind(const struct elf_file *file)
{
	enum { WORDS = 64, PLACES = 64 };
	uint64_t words[WORDS], bias;
	const struct unwind_memory stack = { .begin = 0x7000,
					     .end = 0x7000 + sizeof(words),
					     .copy = (const uint8_t *)words };
	struct unwind_object object;

	if (!stack_frames_tables(file, &object, &bias))
		return;
	for (uint64_t i = 0; i < WORDS; i++)
		words[i] = i % 2 ? 0x7000 + i * 8 : i * 16;
	for (uint64_t i = 0; i < PLACES; i++) {
		struct unwind_regs regs = { .known = (1U << ARCH_REGS) - 1, .exact = i % 2 };
		bool is_end;

		for (size_t reg = 0; reg < ARCH_REGS; reg++)
			regs.value[reg] = 0x7000 + reg * 8;
		regs.value[ARCH_REG_PC] =
			object.begin + (object.end - object.begin) / PLACES * i + i;
		unwind_full_step(&object, &regs, &stack, &is_end);
	}
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
		look_at_exports(file);
		unwind(file);
	}
	err_destroy(err);
	elf_names_deinit(&names);
	elf_file_close(file);
	free(bytes);
	return 0;
}
