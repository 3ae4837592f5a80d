/*
 * A list of suppressions, a NUL, and the name of a function: the list is rules in its order, or an
 * error that names the line; whether a rule fits the name is what trying all ways says.
 */
#include <stdlib.h>

#include "sums/suppress.h"

enum { TRIED_BYTES_MAX = 24 };

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* What was tried: the rest of the pattern does not fit the rest of the text. */
struct tried {
	const char *pattern, *text; /* all of them */
	bool fails[TRIED_BYTES_MAX + 1][TRIED_BYTES_MAX + 1];
};

/* The pattern behind "leak:" and "^" fits at the beginning of text. */
static bool fits_here(struct tried *tried, const char *pattern, const char *text)
{
	bool *fails = &tried->fails[pattern - tried->pattern][text - tried->text];
	bool is_fit;

	if (*fails)
		return false;
	if (!*pattern)
		is_fit = true;
	else if (strcmp(pattern, "$") == 0)
		is_fit = !*text;
	else if (*pattern == '*')
		is_fit = fits_here(tried, pattern + 1, text) ||
			 (*text && fits_here(tried, pattern, text + 1));
	else
		is_fit = *text == *pattern && fits_here(tried, pattern + 1, text + 1);
	*fails = !is_fit;
	return is_fit;
}

static bool fits(const char *pattern, const char *text)
{
	struct tried tried = { .pattern = pattern, .text = text };

	if (*pattern == '^')
		return fits_here(&tried, pattern + 1, text);
	for (;; text++) {
		if (fits_here(&tried, pattern, text))
			return true;
		if (!*text)
			return false;
	}
}

static void check_error(struct err *err)
{
	check(err_code_of(err) == ERR_USAGE);
	check(strncmp(err_message(err), "FILE:", 5) == 0);
	check(strtoul(err_message(err) + 5, NULL, 10) > 0);
	err_destroy(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(free) char *text = malloc(size + 2);
	struct suppressions rules = { 0 }, none = { 0 };
	const char *name;
	struct err *err;

	check(text != NULL);
	memcpy(text, data, size);
	text[size] = text[size + 1] = '\0';
	name = text + strlen(text) + 1;
	check(!suppressions_parse("", "FILE", &arena, &none));
	err = suppressions_parse(text, "FILE", &arena, &rules);
	if (err) {
		check_error(err);
		return 0;
	}
	check(rules.count >= none.count && !rules.file);
	for (size_t i = none.count; i < rules.count; i++) {
		const char *pattern = rules.rules[i].text + strlen("leak:");

		check(!rules.rules[i].reason && strncmp(rules.rules[i].text, "leak:", 5) == 0);
		check(*pattern && !strchr(pattern, '\n'));
		if (strlen(pattern) <= TRIED_BYTES_MAX && strlen(name) <= TRIED_BYTES_MAX)
			check(suppress_rule_fits(&rules.rules[i], name) == fits(pattern, name));
	}
	return 0;
}
