#include <setjmp.h>
#include <stdarg.h>

#include "export/export.h"

#include <cmocka.h>

static void every_format_is_complete(void **state)
{
	(void)state;
	for (const struct export_format *const *at = export_table; *at; at++) {
		assert_non_null((*at)->name);
		assert_non_null((*at)->summary);
		assert_non_null((*at)->write);
		assert_int_equal((*at)->suffix[0], '.');
		assert_in_range((*at)->kind, EXPORT_SUMS, EXPORT_EVENTS);
		assert_ptr_equal(export_find((*at)->name), *at);
	}
	assert_null(export_find("no such format"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_format_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
