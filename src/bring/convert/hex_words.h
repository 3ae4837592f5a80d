/*
 * hex_words: lines of lower-case hexadecimal numbers separated by single blanks, as in heaptrack's
 * files. Internal to convert.
 */
#ifndef MEMTAPE_CONVERT_HEX_WORDS_H
#define MEMTAPE_CONVERT_HEX_WORDS_H

#include "core/core.h"

/* The rest of a line; NUL-terminated. */
struct hex_words {
	const char *at;
};

/* The next number; false: end of the line, or not a number. */
static inline bool hex_next(struct hex_words *words, uint64_t *value_ret)
{
	const char *at = words->at;
	uint64_t value = 0;
	unsigned digits = 0;

	if (*at == ' ')
		at++;
	for (;; at++, digits++) {
		const char c = *at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	if (digits == 0 || digits > 16 || (*at != ' ' && *at != '\0'))
		return false;
	words->at = at;
	*value_ret = value;
	return true;
}

static inline bool hex_at_end(const struct hex_words *words)
{
	return words->at[0] == '\0' || (words->at[0] == ' ' && words->at[1] == '\0');
}

#endif
