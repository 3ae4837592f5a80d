/* Statements of SQL to the recogniser of those that are about sums. */
#include "sql/sql_rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(str_deinit) struct str out = { 0 };
	CLEAN(free) char *text = malloc(size + 1); /* its end is seen by the sanitizer */
	struct sql_sums sums;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	sql_rewrite(text, strlen(text), &out, &sums);
	return 0;
}
