#include "system/lines.h"

#include <string.h>

enum { DECIMAL = 10, KIB_SHIFT = 10 };

const char *line_find(const char *text, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = text; at && *at;) {
		if (strncmp(at, name, len) == 0 && strchr(": \t", at[len]) && at[len]) {
			at += len;
			return at + strspn(at, ": \t");
		}
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return NULL;
}

uint64_t line_number(const char *text)
{
	uint64_t value = 0;

	if (!text)
		return SYSTEM_UNKNOWN;
	text += strspn(text, " \t");
	if (*text < '0' || *text > '9')
		return SYSTEM_UNKNOWN;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(value, DECIMAL, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return SYSTEM_UNKNOWN;
	return value;
}

uint64_t line_value(const char *text, const char *name)
{
	const char *at = line_find(text, name);
	const uint64_t value = line_number(at);

	if (value == SYSTEM_UNKNOWN)
		return value;
	at += strspn(at, "0123456789");
	at += strspn(at, " ");
	if (strncmp(at, "kB", 2) != 0)
		return value;
	return value > UINT64_MAX >> KIB_SHIFT ? SYSTEM_UNKNOWN : value << KIB_SHIFT;
}

char *line_rest(const char *text, struct arena *arena)
{
	return arena_text(arena, text, strcspn(text, "\n"));
}

void lines_read(const char *text, const struct line_row *rows, size_t count, void *values)
{
	for (size_t i = 0; i < count; i++) {
		const uint64_t value = line_value(text, rows[i].name);

		memcpy((char *)values + rows[i].offset, &value, sizeof(value));
	}
}
