#include "../test.h"
#include "tables.h"

enum { FUNCTIONS = 3, HEADER_BYTES = 128 };

/* Function i pushes i words: its rules are told apart by their offsets. */
static size_t put_function(struct tables *tables, uint8_t encoding, size_t i)
{
	const uint8_t program[] = { 0x41, 0x0e, (uint8_t)(8 * (i + 2)) };

	return tables_put_fde(tables, encoding, tables_code(tables, i), program, sizeof(program));
}

static uint32_t rule_of_function(size_t i)
{
	return unwind_rule_make(UNWIND_SP, 0, (uint32_t)i + 2);
}

/* A header with a table of all functions, in order[] or, without one, sorted. */
static void put_all(struct tables *tables, uint8_t fde_encoding, uint8_t table_encoding,
		    const size_t *order)
{
	size_t fde[FUNCTIONS];

	*tables = (struct tables) { .used = HEADER_BYTES, .frames = HEADER_BYTES };
	tables_put_cie(tables, fde_encoding, "zR");
	for (size_t i = 0; i < FUNCTIONS; i++)
		fde[i] = put_function(tables, fde_encoding, i);
	tables_put_number(tables, 0, 4);
	tables->used = 0;
	tables_put_number(tables, 1, 1);
	tables_put_number(tables, EH_PE_PCREL | EH_PE_SDATA4, 1);
	tables_put_number(tables, EH_PE_UDATA4, 1);
	tables_put_number(tables, table_encoding, 1);
	tables_put_encoded(tables, EH_PE_PCREL | EH_PE_SDATA4,
			   tables_address(tables, tables->frames), false);
	tables_put_number(tables, FUNCTIONS, 4);
	for (size_t n = 0; n < FUNCTIONS && table_encoding != EH_PE_OMIT; n++) {
		size_t i = order ? order[n] : n;

		tables_put_encoded(tables, table_encoding, tables_code(tables, i), false);
		tables_put_encoded(tables, table_encoding, tables_address(tables, fde[i]), false);
	}
}

static void expect_all_found(const struct tables *tables)
{
	struct unwind_object object;

	assert_true(tables_load(tables, HEADER_BYTES, &object));
	for (size_t i = 0; i < FUNCTIONS; i++) {
		const uint64_t code = tables_code(tables, i);

		assert_int_equal(unwind_rule_compile(&object, code),
				 unwind_rule_make(UNWIND_SP, 0, 1));
		assert_int_equal(unwind_rule_compile(&object, code + 1), rule_of_function(i));
		assert_int_equal(unwind_rule_compile(&object, code + TABLES_FUNCTION - 1),
				 rule_of_function(i));
	}
	assert_int_equal(unwind_rule_compile(&object, tables_code(tables, 0) - 2), UNWIND_NONE);
	assert_int_equal(unwind_rule_compile(&object, tables_code(tables, 0) - 1), UNWIND_END);
	assert_int_equal(unwind_rule_compile(&object, tables_code(tables, FUNCTIONS)), UNWIND_NONE);
}

static void functions_are_found_in_every_encoding(void **state)
{
	static const uint8_t fde_encodings[] = {
		EH_PE_ABSPTR,
		EH_PE_UDATA8,
		EH_PE_ULEB128,
		EH_PE_PCREL | EH_PE_SDATA2,
		EH_PE_PCREL | EH_PE_SDATA4,
		EH_PE_PCREL | EH_PE_SDATA8,
		EH_PE_PCREL | EH_PE_UDATA2,
		EH_PE_PCREL | EH_PE_UDATA4,
	};
	static const uint8_t table_encodings[] = {
		EH_PE_DATAREL | EH_PE_SDATA4,
		EH_PE_DATAREL | EH_PE_SDATA8,
		EH_PE_DATAREL | EH_PE_UDATA2,
		EH_PE_PCREL | EH_PE_SDATA4,
		EH_PE_PCREL | EH_PE_SDATA2,
		EH_PE_UDATA8,
		EH_PE_ABSPTR,
		EH_PE_DATAREL | EH_PE_ULEB128,
		EH_PE_OMIT,
	};
	struct tables tables;

	(void)state;
	for (size_t i = 0; i < array_size(fde_encodings); i++)
		for (size_t j = 0; j < array_size(table_encodings); j++) {
			put_all(&tables, fde_encodings[i], table_encodings[j], NULL);
			expect_all_found(&tables);
		}
}

static void tables_of_known_widths_are_searched_others_are_not(void **state)
{
	struct unwind_object object;
	struct tables tables;

	(void)state;
	put_all(&tables, EH_PE_ABSPTR, EH_PE_DATAREL | EH_PE_SDATA4, NULL);
	assert_true(tables_load(&tables, HEADER_BYTES, &object));
	assert_int_equal(object.table_count, FUNCTIONS);
	put_all(&tables, EH_PE_ABSPTR, EH_PE_DATAREL | EH_PE_ULEB128, NULL);
	assert_true(tables_load(&tables, HEADER_BYTES, &object));
	assert_null(object.table);
}

static void an_unsorted_table_is_not_believed(void **state)
{
	static const size_t order[] = { 2, 1, 0 };
	struct unwind_object object;
	struct tables tables;

	(void)state;
	put_all(&tables, EH_PE_PCREL | EH_PE_SDATA4, EH_PE_DATAREL | EH_PE_SDATA4, order);
	assert_true(tables_load(&tables, HEADER_BYTES, &object));
	for (size_t i = 0; i < FUNCTIONS; i++)
		assert_int_equal(unwind_rule_compile(&object, tables_code(&tables, i) + 1),
				 rule_of_function(i));
}

static void a_table_longer_than_its_section_is_not_believed(void **state)
{
	struct unwind_object object;
	struct tables tables;

	(void)state;
	put_all(&tables, EH_PE_PCREL | EH_PE_SDATA4, EH_PE_DATAREL | EH_PE_SDATA4, NULL);
	assert_true(tables_load(&tables, 12 + 8 * FUNCTIONS - 1, &object));
	assert_null(object.table);
	assert_int_equal(unwind_rule_compile(&object, tables_code(&tables, 1) + 1),
			 rule_of_function(1));
	assert_true(tables_load(&tables, 12 + 8 * FUNCTIONS, &object));
	assert_non_null(object.table);
}

static void pointers_are_followed_only_inside_the_segment(void **state)
{
	const uint8_t encoding = EH_PE_INDIRECT | EH_PE_PCREL | EH_PE_SDATA4;
	const size_t cell = 2048;
	struct unwind_object object;
	struct tables tables = { .used = 64, .frames = 64 };
	uint64_t code = tables_code(&tables, 0);

	(void)state;
	tables_put_cie(&tables, encoding, "zR");
	tables_put_fde(&tables, encoding, tables_address(&tables, cell), NULL, 0);
	memcpy(tables.bytes + cell, &code, sizeof(code));
	unwind_object_init_frames(&object, tables.bytes + tables.frames);
	object.frames_end = tables.bytes + TABLES_BYTES;
	assert_int_equal(unwind_rule_compile(&object, code), unwind_rule_make(UNWIND_SP, 0, 1));
	object.frames_end = tables.bytes + cell + 7;
	assert_int_equal(unwind_rule_compile(&object, code), UNWIND_NONE);
}

static void an_empty_function_does_not_hide_the_next(void **state)
{
	struct unwind_object object;
	struct tables tables;
	size_t range_at;

	(void)state;
	/* Function 1 becomes empty and function 2 begins where it did. */
	put_all(&tables, EH_PE_ABSPTR, EH_PE_DATAREL | EH_PE_SDATA4, NULL);
	range_at = load_u32(tables.bytes + 12 + 8 + 4) + 4 + 4 + 8;
	memset(tables.bytes + range_at, 0, 8);
	memcpy(tables.bytes + 12 + 8, tables.bytes + 12 + 16, 4);
	assert_true(tables_load(&tables, HEADER_BYTES, &object));
	assert_int_equal(unwind_rule_compile(&object, tables_code(&tables, 2) + 1),
			 rule_of_function(2));
	/* And in the other order. */
	for (size_t i = 0; i < 4; i++) {
		uint8_t byte = tables.bytes[12 + 8 + 4 + i];

		tables.bytes[12 + 8 + 4 + i] = tables.bytes[12 + 16 + 4 + i];
		tables.bytes[12 + 16 + 4 + i] = byte;
	}
	assert_int_equal(unwind_rule_compile(&object, tables_code(&tables, 2) + 1),
			 rule_of_function(2));
}

static void objects_without_tables_have_no_rules(void **state)
{
	const Elf64_Phdr load = { .p_type = PT_LOAD, .p_flags = PF_R, .p_memsz = 4096 };
	const Elf64_Phdr outside[] = {
		load, { .p_type = PT_GNU_EH_FRAME, .p_vaddr = 4096, .p_memsz = 8 }
	};
	const Elf64_Phdr around = {
		.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 8, .p_memsz = UINT64_MAX
	};
	struct unwind_object object;

	(void)state;
	assert_false(unwind_object_init(&object, 0, &load, 0));
	assert_false(unwind_object_init(&object, 0, &around, 1));
	assert_true(unwind_object_init(&object, 0x1000, &load, 1));
	assert_int_equal(object.begin, 0x1000);
	assert_int_equal(object.end, 0x2000);
	assert_null(object.eh_frame_hdr);
	assert_int_equal(unwind_rule_compile(&object, 0x1800), UNWIND_NONE);
	assert_true(unwind_object_init(&object, 0x1000, outside, array_size(outside)));
	assert_null(object.eh_frame_hdr);
	assert_int_equal(unwind_rule_compile(&object, 0x1800), UNWIND_NONE);
}

static void bare_frames_are_walked_to_their_terminator(void **state)
{
	struct unwind_object object;
	struct unwind_regs before, regs = { .exact = true };
	uint64_t stack[4] = { 0, 0, 0x1234, 0 };
	const struct unwind_memory anywhere = { 0 };
	const struct unwind_memory theirs = { .begin = 0x7000,
					      .end = 0x7000 + sizeof(stack),
					      .copy = (const uint8_t *)stack };
	struct tables tables;
	bool is_end;

	(void)state;
	put_all(&tables, EH_PE_PCREL | EH_PE_SDATA4, EH_PE_OMIT, NULL);
	for (size_t i = 0; i < FUNCTIONS; i++)
		assert_int_equal(unwind_rule_compile_frames(tables.bytes + HEADER_BYTES,
							    tables_code(&tables, i) + 1),
				 rule_of_function(i));
	assert_int_equal(unwind_rule_compile_frames(tables.bytes + HEADER_BYTES,
						    tables_code(&tables, FUNCTIONS)),
			 UNWIND_NONE);
	unwind_object_init_frames(&object, tables.bytes + HEADER_BYTES);
	regs.known = 1U << ARCH_REG_PC | 1U << ARCH_REG_SP;
	regs.value[ARCH_REG_PC] = tables_code(&tables, 1) + 1;
	regs.value[ARCH_REG_SP] = (uintptr_t)stack;
	before = regs;
	assert_true(unwind_full_step(&object, &regs, &anywhere, &is_end));
	assert_int_equal(regs.value[ARCH_REG_PC], 0x1234);
	assert_int_equal(regs.value[ARCH_REG_SP], (uintptr_t)&stack[3]);
	/* The same, of another process. */
	regs = before;
	regs.value[ARCH_REG_SP] = theirs.begin;
	assert_true(unwind_full_step(&object, &regs, &theirs, &is_end));
	assert_int_equal(regs.value[ARCH_REG_PC], 0x1234);
	assert_int_equal(regs.value[ARCH_REG_SP], theirs.begin + 3 * sizeof(*stack));
	/* Its return address is not in the copy. */
	regs = before;
	regs.value[ARCH_REG_SP] = theirs.begin + sizeof(stack) - 2 * sizeof(*stack);
	assert_false(unwind_full_step(&object, &regs, &theirs, &is_end));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_found_in_every_encoding),
		cmocka_unit_test(tables_of_known_widths_are_searched_others_are_not),
		cmocka_unit_test(an_unsorted_table_is_not_believed),
		cmocka_unit_test(a_table_longer_than_its_section_is_not_believed),
		cmocka_unit_test(pointers_are_followed_only_inside_the_segment),
		cmocka_unit_test(an_empty_function_does_not_hide_the_next),
		cmocka_unit_test(objects_without_tables_have_no_rules),
		cmocka_unit_test(bare_frames_are_walked_to_their_terminator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
