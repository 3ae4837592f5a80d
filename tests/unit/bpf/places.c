#include "../test.h"

#include "bpf/places.h"

#define CODE(...) { __VA_ARGS__ }, sizeof((const uint8_t[]) { __VA_ARGS__ })

enum { FIRST = 1, SECOND = 2, THIRD = 4 };

static const struct {
	const char *what;
	uint8_t code[32];
	size_t bytes;
	unsigned arguments;
	bool is_returning;
	size_t at;
	bool is_cheap;
} rows[] = {
	{ "a push", CODE(0x53, 0x48, 0x89, 0xfb), FIRST, true, 0, true },
	{ "a push of a high register", CODE(0x41, 0x57), FIRST, true, 0, true },
	{ "endbr64 and a push", CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x55), FIRST, true, 4, true },
	{ "glibc's free: test, je", CODE(0x48, 0x85, 0xff, 0x74, 0x10), FIRST, false, 3, true },
	{ "glibc's memalign: cmpb, je", CODE(0x80, 0x3d, 1, 2, 3, 4, 0, 0x74, 7), SECOND, true, 7,
	  true },
	{ "a nop", CODE(0x90), FIRST, true, 0, true },
	{ "a nop of five bytes", CODE(0x0f, 0x1f, 0x44, 0, 0), FIRST, true, 0, true },
	{ "another nop is stepped over", CODE(0x0f, 0x1f, 0x40, 0, 0x50), FIRST, true, 4, true },
	{ "jumps", CODE(0xe9, 1, 0, 0, 0), FIRST, true, 0, true },
	{ "a far conditional jump", CODE(0x48, 0x39, 0xf7, 0x0f, 0x84, 1, 2, 3, 4), FIRST, true, 3,
	  true },
	{ "the first argument is overwritten", CODE(0x48, 0x89, 0xf7, 0x55), FIRST, true, 0,
	  false },
	{ "but it is not looked at", CODE(0x48, 0x89, 0xf7, 0x55), SECOND, true, 3, true },
	{ "the second is loaded", CODE(0x48, 0x8b, 0x37, 0x55), SECOND, true, 0, false },
	{ "the third is a sum", CODE(0x48, 0x01, 0xca, 0x55), THIRD, true, 0, false },
	{ "the first is set", CODE(0xbf, 1, 2, 3, 4, 0x55), FIRST, true, 0, false },
	{ "r15 is not rdi", CODE(0x49, 0x89, 0xff, 0x55), FIRST, true, 3, true },
	{ "memory is written, not rdi", CODE(0x48, 0x89, 0x37, 0x55), FIRST, true, 3, true },
	{ "the stack has moved", CODE(0x48, 0x83, 0xec, 0x18, 0x74, 1), FIRST, true, 0, false },
	{ "which a free does not mind", CODE(0x48, 0x83, 0xec, 0x18, 0x74, 1), FIRST, false, 4,
	  true },
	{ "a large constant", CODE(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0x55), FIRST, true, 10,
	  true },
	{ "an address with an index", CODE(0x48, 0x8d, 0x04, 0x37, 0x55), FIRST, true, 4, true },
	{ "fs", CODE(0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0, 0x55), FIRST, true, 9, true },
	{ "not understood", CODE(0xc5, 0xf8, 0x77, 0x55), FIRST, true, 0, false },
	{ "too far away", CODE(0xf3, 0x0f, 0x1e, 0xfa), FIRST, true, 0, false },
	{ "nothing", CODE(0xf3), FIRST, true, 0, false },
};

static void the_first_cheap_instruction_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		bool is_cheap = !rows[i].is_cheap;
		const size_t at = places_cheap(rows[i].code, rows[i].bytes, rows[i].arguments,
					       rows[i].is_returning, &is_cheap);

		if (at != rows[i].at || is_cheap != rows[i].is_cheap)
			print_error("%s: %zu\n", rows[i].what, at);
		assert_int_equal(at, rows[i].at);
		assert_int_equal(is_cheap, rows[i].is_cheap);
	}
}

static void code_is_not_read_beyond_its_end(void **state)
{
	bool is_cheap;

	(void)state;
	for (size_t bytes = 0; bytes < 8; bytes++) {
		CLEAN(free) uint8_t *code = malloc(bytes + 1); /* for the address sanitizer */

		memset(code, 0x48, bytes);
		places_cheap(code, bytes, FIRST, true, &is_cheap);
		assert_false(is_cheap && bytes == 0);
	}
}

static void an_object_without_malloc_has_no_places(void **state)
{
	CLEAN(places_deinit) struct places places = { 0 };
	CLEAN(elf_file_close) struct elf_file *file = NULL;

	(void)state;
	assert_null(elf_file_open("/proc/self/exe", &file));
	assert_true(places_find(file, &places));
	assert_int_equal(places.count, 0);
}

static void operator_new_is_known_by_its_linkage_name(void **state)
{
	enum tape_fn fn = TAPE_FN_FREE;

	(void)state;
	assert_true(places_is_new("_ZnwmSt11align_val_t", &fn));
	assert_int_equal(fn, TAPE_FN_NEW_ALIGNED);
	assert_false(places_is_new("_Znw", &fn));
	assert_false(places_is_new("malloc", &fn));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_cheap_instruction_is_found),
		cmocka_unit_test(code_is_not_read_beyond_its_end),
		cmocka_unit_test(an_object_without_malloc_has_no_places),
		cmocka_unit_test(operator_new_is_known_by_its_linkage_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
