#include "../test.h"

#include "base/clean.h"
#include "symbol/elf_names.h"

#include <elf.h>

static void add(struct elf_names *names, const char *name, uint64_t address, uint64_t bytes,
		unsigned binding)
{
	assert_true(elf_names_push(names, name, address, bytes, binding));
}

static void expect(const struct elf_names *names, uint64_t address, const char *expected)
{
	const struct elf_name *found = elf_names_find(names, address);

	if (expected)
		assert_string_equal(found ? found->name : "(nothing)", expected);
	else
		assert_null(found);
}

static void a_function_covers_its_bytes_and_no_more(void **state)
{
	struct elf_names names = { 0 };

	(void)state;
	add(&names, "b", 0x200, 0x20, STB_GLOBAL);
	add(&names, "a", 0x100, 0x10, STB_GLOBAL);
	elf_names_sort(&names);
	expect(&names, 0xff, NULL);
	expect(&names, 0x100, "a");
	expect(&names, 0x10f, "a");
	expect(&names, 0x110, NULL); /* a static function of a stripped library may be here */
	expect(&names, 0x21f, "b");
	expect(&names, 0x220, NULL);
	elf_names_deinit(&names);
}

static void of_many_names_the_plain_public_one_is_shown(void **state)
{
	static const struct {
		const char *name;
		unsigned binding;
	} rows[] = {
		{ "__libc_strdup", STB_GLOBAL },
		{ "__GI___strdup", STB_LOCAL },
		{ "strdup", STB_WEAK },
		{ "__strdup", STB_GLOBAL },
	};
	struct elf_names names = { 0 };

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++)
		add(&names, rows[i].name, 0x1000, 0x40, rows[i].binding);
	add(&names, "local_alias", 0x2000, 0x40, STB_LOCAL);
	add(&names, "global_name", 0x2000, 0x40, STB_GLOBAL);
	elf_names_sort(&names);
	expect(&names, 0x1010, "strdup");
	expect(&names, 0x2010, "global_name");
	elf_names_deinit(&names);
}

static void a_function_inside_another_wins(void **state)
{
	struct elf_names names = { 0 };

	(void)state;
	add(&names, "outer", 0x100, 0x100, STB_GLOBAL);
	add(&names, "inner", 0x140, 0x10, STB_LOCAL);
	elf_names_sort(&names);
	expect(&names, 0x13f, "outer");
	expect(&names, 0x145, "inner");
	expect(&names, 0x150, "outer");
	elf_names_deinit(&names);
}

static void a_size_at_the_end_of_everything_does_not_wrap(void **state)
{
	struct elf_names names = { 0 };

	(void)state;
	add(&names, "huge", UINT64_MAX - 4, UINT64_MAX, STB_GLOBAL);
	elf_names_sort(&names);
	expect(&names, UINT64_MAX, "huge");
	expect(&names, 3, NULL);
	elf_names_deinit(&names);
}

static void no_names_find_nothing(void **state)
{
	struct elf_names names = { 0 };

	(void)state;
	elf_names_sort(&names);
	expect(&names, 0, NULL);
	expect(&names, UINT64_MAX, NULL);
	elf_names_deinit(&names);
}

/* Sections: none, .symtab, .strtab; no code is there, only symbols of it. */
struct arm_image {
	Elf32_Ehdr header;
	Elf32_Shdr sections[3];
	Elf32_Sym symbols[5];
	char strings[32];
};

static struct arm_image arm_image(uint16_t machine)
{
	struct arm_image image = {
		.header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_DYN,
			    .e_machine = machine,
			    .e_version = EV_CURRENT,
			    .e_shoff = offsetof(struct arm_image, sections),
			    .e_ehsize = sizeof(Elf32_Ehdr),
			    .e_shentsize = sizeof(Elf32_Shdr),
			    .e_shnum = 3 },
		.symbols = { { 0 },
			     { 1, 0x101, 0x10, ELF32_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 3 },
			     { 7, 0x110, 0x10, ELF32_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 3 },
			     { 11, 0x100, 0, ELF32_ST_INFO(STB_LOCAL, STT_NOTYPE), 0, 3 },
			     { 14, 0x110, 0, ELF32_ST_INFO(STB_LOCAL, STT_NOTYPE), 0, 3 } },
		.strings = "\0thumb\0arm\0$t\0$a",
	};

	image.sections[1] = (Elf32_Shdr) { .sh_type = SHT_SYMTAB,
					   .sh_offset = offsetof(struct arm_image, symbols),
					   .sh_size = sizeof(image.symbols),
					   .sh_link = 2,
					   .sh_entsize = sizeof(Elf32_Sym) };
	image.sections[2] = (Elf32_Shdr) { .sh_type = SHT_STRTAB,
					   .sh_offset = offsetof(struct arm_image, strings),
					   .sh_size = sizeof(image.strings) };
	return image;
}

static void thumb_code_begins_where_its_symbol_says_less_one(void **state)
{
	const struct arm_image image = arm_image(EM_ARM), other = arm_image(EM_386);
	struct elf_names names = { 0 };
	struct elf_file *file = NULL;

	(void)state;
	assert_null(elf_file_view(&image, sizeof(image), &file));
	assert_true(elf_names_add(&names, file));
	elf_names_sort(&names);
	expect(&names, 0xff, NULL);
	expect(&names, 0x100, "thumb");
	expect(&names, 0x10f, "thumb");
	expect(&names, 0x110, "arm");
	elf_names_deinit(&names);
	elf_file_close(file);
	names = (struct elf_names) { 0 };
	assert_null(elf_file_view(&other, sizeof(other), &file));
	assert_true(elf_names_add(&names, file));
	elf_names_sort(&names);
	expect(&names, 0x100, NULL);
	expect(&names, 0x101, "thumb");
	elf_names_deinit(&names);
	elf_file_close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_covers_its_bytes_and_no_more),
		cmocka_unit_test(of_many_names_the_plain_public_one_is_shown),
		cmocka_unit_test(a_function_inside_another_wins),
		cmocka_unit_test(a_size_at_the_end_of_everything_does_not_wrap),
		cmocka_unit_test(no_names_find_nothing),
		cmocka_unit_test(thumb_code_begins_where_its_symbol_says_less_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
