#include "rec/symbols.h"

#include <dlfcn.h>
#include <link.h>

#include "test.h"

/* Names of all kinds: of functions, of data, with several versions, of IFUNCs, of the loader. */
static const char *const KNOWN[] = {
	"malloc",
	"calloc",
	"free",
	"malloc_usable_size",
	"mmap",
	"sbrk",
	"pthread_create",
	"dlopen",
	"execve",
	"_exit",
	"environ",
	"memcpy",
	"strlen",
	"pthread_cond_wait",
	"regexec",
	"stdout",
	"qsort",
	"posix_spawn",
	"_dl_find_object",
	"fork",
	"getauxval",
	"clock_gettime",
	"cmocka_set_message_output",
};

static void what_dlsym_finds_is_found_at_the_same_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(KNOWN); i++) {
		const uint64_t expected = (uint64_t)dlsym(RTLD_NEXT, KNOWN[i]);
		struct rec_symbol symbol = { .address = 0 };
		const bool is_found = rec_symbol_next(KNOWN[i], &symbol);

		if (is_found != (expected != 0))
			fail_msg("%s: %d", KNOWN[i], is_found);
		if (is_found && !symbol.is_resolver && symbol.address != expected)
			fail_msg("%s: %llx, not %llx", KNOWN[i], (unsigned long long)symbol.address,
				 (unsigned long long)expected);
	}
}

static void a_name_of_an_ifunc_is_marked(void **state)
{
	struct rec_symbol symbol;

	(void)state;
	if (!rec_symbol_next("gettimeofday", &symbol) && !rec_symbol_next("time", &symbol))
		skip();
	assert_true(rec_symbol_next("strlen", &symbol));
	/* A sanitizer's own strlen is none. */
#if defined(__GLIBC__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) &&                 \
	!defined(__SANITIZE_THREAD__)
	assert_true(symbol.is_resolver);
#endif
}

static void a_missing_name_is_missing(void **state)
{
	struct rec_symbol symbol;

	(void)state;
	assert_false(rec_symbol_next("cfree_of_nobody", &symbol));
	assert_false(rec_symbol_any("cfree_of_nobody", &symbol));
	assert_false(rec_symbol_next("", &symbol));
}

/* This program's own comes before: of nobody behind it. */
int symbols_test_own = 1;

static void what_lies_before_is_not_next(void **state)
{
	struct rec_symbol symbol;

	(void)state;
	symbols_test_own = 2;
	assert_false(rec_symbol_next("symbols_test_own", &symbol));
}

/* cfree has been an old version only since glibc 2.26: a program that is built now has none. */
static void old_versions_are_not_found(void **state)
{
	struct rec_symbol symbol;

	(void)state;
	assert_int_equal(rec_symbol_next("cfree", &symbol), dlsym(RTLD_NEXT, "cfree") != NULL);
	assert_int_equal(rec_symbol_next("__malloc_hook", &symbol),
			 dlsym(RTLD_NEXT, "__malloc_hook") != NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_dlsym_finds_is_found_at_the_same_place),
		cmocka_unit_test(a_name_of_an_ifunc_is_marked),
		cmocka_unit_test(a_missing_name_is_missing),
		cmocka_unit_test(what_lies_before_is_not_next),
		cmocka_unit_test(old_versions_are_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
