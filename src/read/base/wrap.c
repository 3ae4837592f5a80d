#include "base/str.h"

#include <assert.h>
#include <string.h>

enum { HANG = 4, UNIT_MAX = 5 };

/* The end of what is shown in one column or none: a code point, or a sequence that sets a colour. */
static const char *step(const char *at, const char *end, size_t *columns)
{
	if (at[0] == '\033' && at + 1 < end && at[1] == '[') {
		for (at += 2; at < end && !(*at >= '@' && *at <= '~'); at++)
			;
		return at < end ? at + 1 : end;
	}
	for (at++; at < end && (*at & 0xc0) == 0x80; at++)
		;
	*columns += 1;
	return at;
}

static const char *word_end(const char *at, const char *end, size_t *columns)
{
	while (at < end && *at != ' ')
		at = step(at, end, columns);
	return at;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A word with the unit of its number. */
static const char *token_end(const char *at, const char *end, size_t *columns)
{
	const char *stop = word_end(at, end, columns);
	const char *unit = stop + 1;
	size_t unit_columns = 0;

	if (stop == at || unit >= end || *unit == ' ' || is_digit(*unit) || !is_digit(stop[-1]))
		return stop;
	unit = word_end(unit, end, &unit_columns);
	if (unit_columns > UNIT_MAX)
		return stop;
	*columns += 1 + unit_columns;
	return unit;
}

/* Where lines that continue this one begin. */
static size_t hang_of(const char *line, const char *end, size_t width)
{
	size_t column = 0, blanks = 0, hang = 0;
	bool has_words = false;

	for (const char *at = line; at < end && column <= width / 2;) {
		const size_t before = column;
		const bool is_blank = *at == ' ';

		at = step(at, end, &column);
		if (column == before)
			continue;
		if (!is_blank && (!has_words || blanks >= 2))
			hang = has_words ? before : u64_min(before + HANG, width / 2);
		has_words |= !is_blank;
		blanks = is_blank ? blanks + 1 : 0;
	}
	return hang;
}

static bool is_command(const char *line, const char *end)
{
	static const char name[] = "memtape ";
	size_t columns = 0;

	while (line < end && (*line == ' ' || *line == '\033'))
		line = step(line, end, &columns);
	if ((size_t)(end - line) < strlen(name) || memcmp(line, name, strlen(name)) != 0)
		return false;
	return !memmem(line, (size_t)(end - line), "  ", 2); /* not a label of a row */
}

/* A word that no line has room for. Returns the column behind it. */
static size_t add_split(struct str *out, const char *at, const char *end, size_t hang, size_t width)
{
	size_t column = hang;

	while (at < end) {
		const char *next = step(at, end, &column);

		if (column > width) {
			str_add_char(out, '\n');
			str_add_repeated(out, ' ', hang);
			column = hang + 1;
		}
		str_add_bytes(out, at, (size_t)(next - at));
		at = next;
	}
	return column;
}

static void add_line(struct str *out, const char *line, const char *end, size_t width)
{
	const size_t hang = hang_of(line, end, width);
	size_t column = 0;

	for (const char *at = line; at < end;) {
		const char *word = at;
		size_t blanks = 0, columns = 0;
		const char *next;

		while (word < end && *word == ' ')
			word = step(word, end, &blanks);
		next = token_end(word, end, &columns);
		if (column + blanks + columns <= width) {
			str_add_bytes(out, at, (size_t)(next - at));
			column += blanks + columns;
		} else if (next > word) {
			str_add_char(out, '\n');
			str_add_repeated(out, ' ', hang);
			column = add_split(out, word, next, hang, width);
		}
		at = next;
	}
}

void str_add_wrapped(struct str *out, const char *text, size_t width)
{
	assert(out && text);
	while (*text) {
		const char *end = strchrnul(text, '\n');
		const char *at = text;
		size_t columns = 0;

		while (width > 0 && at < end)
			at = step(at, end, &columns);
		if (columns <= width || is_command(text, end))
			str_add_bytes(out, text, (size_t)(end - text));
		else
			add_line(out, text, end, width);
		if (*end)
			str_add_char(out, '\n');
		text = *end ? end + 1 : end;
	}
}
