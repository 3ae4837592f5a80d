/*
 * scan: parsing a line of text from left to right. Each function advances the cursor past its
 * match, or returns false and leaves it unchanged. Lines are NUL-terminated.
 */
#ifndef MEMTAPE_CONVERT_SCAN_H
#define MEMTAPE_CONVERT_SCAN_H

#include <string.h>

#include "core/core.h"

/* No size, count or time of a file is this large: larger numbers are rejected. */
#define SCAN_NUMBER_END (UINT64_C(1) << 56)

static inline void scan_blanks(const char **at)
{
	while (**at == ' ' || **at == '\t')
		(*at)++;
}

static inline bool scan_text(const char **at, const char *text)
{
	const size_t len = strlen(text);

	if (strncmp(*at, text, len) != 0)
		return false;
	*at += len;
	return true;
}

/* Decimal, below SCAN_NUMBER_END. */
static inline bool scan_number(const char **at, uint64_t *value_ret)
{
	const char *end = *at;
	uint64_t value = 0;

	for (; *end >= '0' && *end <= '9'; end++) {
		value = value * 10 + (uint64_t)(*end - '0');
		if (value >= SCAN_NUMBER_END)
			return false;
	}
	if (end == *at)
		return false;
	*at = end;
	*value_ret = value;
	return true;
}

static inline int scan_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Hexadecimal without 0x, at most 16 digits. */
static inline bool scan_hex(const char **at, uint64_t *value_ret)
{
	const char *end = *at;
	uint64_t value = 0;

	for (; scan_hex_digit(*end) >= 0; end++) {
		if (end - *at == 16)
			return false;
		value = value << 4 | (uint64_t)scan_hex_digit(*end);
	}
	if (end == *at)
		return false;
	*at = end;
	*value_ret = value;
	return true;
}

#endif
