#include "../test.h"

#include "base/clean.h"
#include "symbol/demangle.h"

static const struct {
	const char *name;
	const char *readable; /* NULL: not mangled */
} rows[] = {
	{ "main", NULL },
	{ "_start", NULL },
	{ "", NULL },
	{ "_", NULL },
	{ "sqlite3__malloc", NULL },
	{ "_Z3foov", "foo()" },
	{ "_Z3fooPKcRi", "foo(char const*, int&)" },
	{ "_ZN3app5CacheIiE6insertERKi", "app::Cache<int>::insert(int const&)" },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
	  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
	{ "_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place" },
	{ "_RNvC6_123foo3bar", "123foo::bar" },
	{ "_D3std5stdio7writelnFZv", "std.stdio.writeln()" },
	{ "_ada_main", "main" },
	{ "_Z", NULL },
	{ "_Zgarbage", NULL },
	{ "_ZN3fooILi0EE", NULL },
	{ "_R", NULL },
};

static void names_of_every_language_become_readable(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		char *text = demangle(rows[i].name);

		if (rows[i].readable) {
			assert_non_null(text);
			assert_string_equal(text, rows[i].readable);
		} else {
			assert_null(text);
		}
		free(text);
	}
}

static void an_absurdly_long_name_is_left_alone(void **state)
{
	const size_t len = 1 << 20;
	char *name = malloc(len + 1);

	(void)state;
	assert_non_null(name);
	memset(name, 'P', len);
	memcpy(name, "_Z1f", 4);
	name[len] = '\0';
	assert_null(demangle(name));
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_every_language_become_readable),
		cmocka_unit_test(an_absurdly_long_name_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
