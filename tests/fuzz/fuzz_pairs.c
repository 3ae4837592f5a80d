/*
 * Two columns of text: any bytes are finite numbers, at most one pair a line, or an error that
 * names the line.
 */
#include <math.h>
#include <stdlib.h>

#include "plot/pairs.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(pair_vec_deinit) struct pair_vec pairs = { 0 };
	size_t line_count = 1;
	struct err *err;

	if (size == 0)
		return 0;
	for (size_t i = 1; i < size; i++)
		line_count += data[i] == '\n';
	err = pairs_parse((const char *)data + 1, size - 1, data[0] & 1 ? PAIRS_DELTA : PAIRS_TWO,
			  "fuzz", &pairs);
	check(pairs.count <= line_count);
	for (size_t i = 0; i < pairs.count; i++) {
		check(isfinite(pairs.items[i].time));
		check(isfinite(pairs.items[i].value));
	}
	if (err) {
		check(err_code_of(err) == ERR_FORMAT);
		check(strstr(err_message(err), "line ") != NULL);
		err_destroy(err);
	}
	return 0;
}
