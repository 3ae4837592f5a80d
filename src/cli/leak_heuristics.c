#include "cli/leak_heuristics.h"

#include "tape/tape_scan.h"

/* As the option of Memcheck with this set. */
struct err *leak_heuristics_parse(const char *text, uint32_t *set_ret)
{
	static const struct {
		const char *name;
		uint32_t set;
	} words[] = {
		{ "all", TAPE_SCAN_HEURISTICS },
		{ "none", 0 },
		{ "stdstring", TAPE_SCAN_STDSTRING },
		{ "length64", TAPE_SCAN_LENGTH64 },
		{ "newarray", TAPE_SCAN_NEWARRAY },
		{ "multipleinheritance", TAPE_SCAN_INHERITANCE },
	};

	uint32_t set = 0;

	for (const char *at = text;; at++) {
		const size_t len = strcspn(at, ",");
		size_t row = 0;

		while (row < array_size(words) &&
		       (strlen(words[row].name) != len || strncmp(at, words[row].name, len) != 0))
			row++;
		if (row == array_size(words))
			return err_new(ERR_USAGE,
				       "--leak-heuristics: %.*s is none of all, none, stdstring, "
				       "length64, newarray, multipleinheritance",
				       (int)len, at);
		set |= words[row].set;
		at += len;
		if (!*at)
			break;
	}
	*set_ret = set;
	return NULL;
}
