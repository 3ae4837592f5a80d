#include "folder/keep.h"

#include <assert.h>

#include "base/str.h"

static bool is_ambiguous(const char *text)
{
	const size_t digits = strspn(text, "0123456789.");

	return digits > 0 && (text[digits] == 'm' || text[digits] == 'M') && !text[digits + 1];
}

struct err *keep_parse(const char *text, struct keep_rules *rules)
{
	uint64_t *place = NULL;
	uint64_t value = 0;

	assert(text);
	if (is_ambiguous(text)) {
		const int digits = (int)strlen(text) - 1;

		return err_new(ERR_USAGE, "--keep %s: minutes or mebibytes? say %.*smin or %.*sMiB",
			       text, digits, text, digits, text);
	}
	if (str_parse_u64(text, &value))
		place = &rules->count;
	else if (str_parse_age(text, &value))
		place = &rules->age_ns;
	else if (str_parse_bytes(text, &value))
		place = &rules->bytes;
	if (!place)
		return err_new(
			ERR_USAGE,
			"--keep %s: expected a size like 10GiB, an age like 30d, or a number "
			"of tapes",
			text);
	*place = u64_min(*place, value);
	return NULL;
}
