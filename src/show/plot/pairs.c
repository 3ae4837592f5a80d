#include "plot/pairs.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>

#include "base/str.h"

enum { NUMBER_MAX = 63, READ_BYTES = 1 << 16, SHOWN_MAX = 40 };

/* A line being parsed; it ends at end. */
struct line {
	const char *at;
	const char *end;
	uint64_t number;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static void skip_blanks(struct line *line)
{
	while (line->at < line->end && is_blank(*line->at))
		line->at++;
}

static bool has_letter(const struct line *line)
{
	for (const char *at = line->at; at < line->end; at++) {
		if (isalpha((unsigned char)*at))
			return true;
	}
	return false;
}

/* strtod needs a terminator. */
static bool take_number(struct line *line, double *number_ret)
{
	char text[NUMBER_MAX + 1], *end;
	size_t len = 0;

	skip_blanks(line);
	while (line->at + len < line->end && !is_blank(line->at[len]))
		len++;
	if (len == 0 || len > NUMBER_MAX)
		return false;
	memcpy(text, line->at, len);
	text[len] = '\0';
	*number_ret = strtod(text, &end);
	line->at += len;
	return end == text + len && isfinite(*number_ret);
}

static struct err *complain(const struct line *line, const char *name, enum pairs_columns columns)
{
	const size_t len = u64_min((uint64_t)(line->end - line->at), SHOWN_MAX);
	CLEAN(str_deinit) struct str text = { 0 };
	CLEAN(str_deinit) struct str shown = { 0 };

	str_add_bytes(&text, line->at, len);
	str_add_terminal(&shown, str_text(&text));
	return err_new(ERR_FORMAT, "%s, line %llu: expected %s, not '%s'", name,
		       (unsigned long long)line->number,
		       columns == PAIRS_DELTA ? "a number" : "two numbers", str_text(&shown));
}

static bool is_empty(struct line *line)
{
	skip_blanks(line);
	return line->at == line->end || *line->at == '#';
}

static bool take_pair(struct line *line, enum pairs_columns columns, struct pair *pair)
{
	return take_number(line, &pair->time) &&
	       (columns == PAIRS_DELTA || take_number(line, &pair->value));
}

struct err *pairs_parse(const char *text, size_t len, enum pairs_columns columns, const char *name,
			struct pair_vec *pairs)
{
	const char *const end = text + len;
	struct line line = { 0 };
	double last = NAN;

	assert(columns == PAIRS_TWO || columns == PAIRS_DELTA);
	assert(text || len == 0);
	for (const char *begin = text; begin < end; begin = line.end + 1) {
		const char *newline = memchr(begin, '\n', (size_t)(end - begin));
		struct pair pair;

		line = (struct line) { begin, newline ? newline : end, line.number + 1 };
		if (is_empty(&line))
			continue;
		if (!take_pair(&line, columns, &pair)) {
			line.at = begin;
			if (line.number == 1 && has_letter(&line))
				continue; /* a heading */
			return complain(&line, name, columns);
		}
		if (columns == PAIRS_DELTA) {
			pair.value = pair.time - last;
			last = pair.time;
			if (!isfinite(pair.value)) /* the first one, or too far apart */
				continue;
		}
		if (!pair_vec_push(pairs, pair))
			return err_nomem();
	}
	return NULL;
}

static struct err *read_all(FILE *file, const char *name, struct str *text)
{
	CLEAN(free) char *bytes = malloc(READ_BYTES);
	size_t got;

	if (!bytes)
		return err_nomem();
	while ((got = fread(bytes, 1, READ_BYTES, file)) > 0)
		str_add_bytes(text, bytes, got);
	if (ferror(file))
		return err_errno("read %s", name);
	return text->failed ? err_nomem() : NULL;
}

struct err *pairs_read(const char *path, enum pairs_columns columns, struct pair_vec *pairs)
{
	const bool is_input = strcmp(path, "-") == 0;
	CLEAN(fclose) FILE *file = is_input ? NULL : fopen(path, "re");
	CLEAN(str_deinit) struct str text = { 0 };
	const char *name = is_input ? "standard input" : path;
	struct err *err;

	assert(path);
	if (!is_input && !file)
		return err_errno("open %s", path);
	err = read_all(is_input ? stdin : file, name, &text);
	return err ? err : pairs_parse(str_text(&text), text.len, columns, name, pairs);
}
