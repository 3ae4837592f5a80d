/*
 * Replacements for SQLite's text functions with superlinear run time: ours check the limits while
 * they run, whereas SQLite checks only between functions. Results equal SQLite's.
 */
#include "sql/sql_table.h"

enum { STEPS_PER_CHECK = 1 << 16 };

/* State of one call. */
struct work {
	const struct sql_context *context;
	unsigned steps;
	struct err *err; /* why it must stop; then nothing continues */
};

static bool may_go_on(struct work *work, size_t steps)
{
	if (work->err)
		return false;
	if (steps < STEPS_PER_CHECK - work->steps) {
		work->steps += (unsigned)steps;
		return true;
	}
	work->steps = 0;
	work->err = sql_context_check(work->context);
	return !work->err;
}

struct span {
	const char *at, *end;
};

static struct span span_of(const struct sql_value *value)
{
	return (struct span) { value->text, value->text + value->bytes };
}

static bool span_is_empty(struct span span)
{
	return span.at == span.end;
}

static bool any_is_null(const struct sql_value *arguments, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (arguments[i].kind == SQL_NULL)
			return true;
	}
	return false;
}

static void answer_text(struct sql_value *result, struct span span)
{
	result->kind = SQL_TEXT;
	result->text = span.at;
	result->bytes = (size_t)(span.end - span.at);
}

/* --- characters ---------------------------------------------------------------------------- */

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* End of the character that starts here. */
static const char *after_char(struct span span)
{
	const char *at = span.at + 1;

	if ((unsigned char)*span.at >= 0xc0) {
		while (at < span.end && is_continuation(*at))
			at++;
	}
	return at;
}

static struct span char_take(struct span *span)
{
	const struct span taken = { span->at, after_char(*span) };

	span->at = taken.end;
	return taken;
}

/* In code point order, which is byte order. */
static int char_compare(struct span a, struct span b)
{
	const size_t a_bytes = (size_t)(a.end - a.at), b_bytes = (size_t)(b.end - b.at);
	const int order = memcmp(a.at, b.at, a_bytes < b_bytes ? a_bytes : b_bytes);

	return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* --- patterns ------------------------------------------------------------------------------ */

struct pattern {
	struct work *work;
	char any, one, set; /* '\0': not supported by this kind */
	struct span escape; /* empty: none */
	bool ignores_case;
};

static bool char_is(struct span span, struct span other)
{
	return !span_is_empty(span) && char_compare(span, other) == 0;
}

static bool is_escape(const struct pattern *pattern, struct span at)
{
	return !span_is_empty(at) && !span_is_empty(pattern->escape) &&
	       char_is(char_take(&at), pattern->escape);
}

static bool is_any(const struct pattern *pattern, struct span at)
{
	return !span_is_empty(at) && *at.at == pattern->any && !is_escape(pattern, at);
}

/* Matches "[a-z]" after its bracket; advances *at past it. An unterminated set matches nothing. */
static bool set_fits(const struct pattern *pattern, struct span *at, struct span wanted)
{
	struct span c = { at->at, at->at }, before = c;
	bool is_in = false, is_inverted = false;

	if (!span_is_empty(*at) && *at->at == '^') {
		is_inverted = true;
		at->at++;
	}
	for (bool is_first = true; !span_is_empty(*at); is_first = false) {
		if (!may_go_on(pattern->work, 1))
			return false;
		c = char_take(at);
		if (*c.at == ']' && !is_first)
			return is_in != is_inverted;
		if (*c.at == '-' && !span_is_empty(before) && !span_is_empty(*at) &&
		    *at->at != ']') {
			c = char_take(at);
			is_in |= char_compare(wanted, before) >= 0 && char_compare(wanted, c) <= 0;
			before.end = before.at;
			continue;
		}
		is_in |= char_compare(wanted, c) == 0;
		before = c;
		if (is_first && *c.at == ']')
			before.end = before.at;
	}
	return false;
}

/* Matches one character against one pattern element; advances both. */
static bool one_fits(const struct pattern *pattern, struct span *at, struct span *text)
{
	const bool is_escaped = is_escape(pattern, *at);
	struct span c, wanted = char_take(text);

	if (is_escaped)
		char_take(at);
	if (span_is_empty(*at))
		return false;
	c = char_take(at);
	if (!is_escaped && *c.at == pattern->one)
		return true;
	if (!is_escaped && pattern->set && *c.at == pattern->set)
		return set_fits(pattern, at, wanted);
	if (pattern->ignores_case && c.end - c.at == 1 && wanted.end - wanted.at == 1)
		return lower(*c.at) == lower(*wanted.at);
	return char_compare(c, wanted) == 0;
}

/* Wildcards for any text match as little as possible, and more if the rest does not match. */
static bool pattern_fits(const struct pattern *pattern, struct span at, struct span text)
{
	struct span retry_at = { 0 }, retry_text = { 0 };

	while (!span_is_empty(text)) {
		if (!may_go_on(pattern->work, 1))
			return false;
		if (is_any(pattern, at)) {
			at.at++;
			retry_at = at;
			retry_text = text;
			continue;
		}
		if (!span_is_empty(at) && one_fits(pattern, &at, &text))
			continue;
		if (!retry_at.at)
			return false;
		char_take(&retry_text);
		at = retry_at;
		text = retry_text;
	}
	while (is_any(pattern, at))
		at.at++;
	return span_is_empty(at);
}

static struct err *match(struct sql_context *context, struct pattern *pattern,
			 const struct sql_value *arguments, struct sql_value *result)
{
	struct work work = { .context = context };
	bool fits;

	pattern->work = &work;
	fits = pattern_fits(pattern, span_of(&arguments[0]), span_of(&arguments[1]));
	sql_value_u64(result, fits);
	return work.err;
}

static struct err *like(struct sql_context *context, const struct sql_value *arguments,
			struct sql_value *result, struct str *out)
{
	struct pattern pattern = { .any = '%', .one = '_', .ignores_case = true };

	(void)out;
	return any_is_null(arguments, 2) ? NULL : match(context, &pattern, arguments, result);
}

static struct err *like_escape(struct sql_context *context, const struct sql_value *arguments,
			       struct sql_value *result, struct str *out)
{
	struct pattern pattern = { .any = '%', .one = '_', .ignores_case = true };

	(void)out;
	if (any_is_null(arguments, 3))
		return NULL;
	pattern.escape = span_of(&arguments[2]);
	if (span_is_empty(pattern.escape) || after_char(pattern.escape) != pattern.escape.end)
		return err_new(ERR_USAGE, "ESCAPE expression must be a single character");
	return match(context, &pattern, arguments, result);
}

static struct err *glob(struct sql_context *context, const struct sql_value *arguments,
			struct sql_value *result, struct str *out)
{
	struct pattern pattern = { .any = '*', .one = '?', .set = '[' };

	(void)out;
	return any_is_null(arguments, 2) ? NULL : match(context, &pattern, arguments, result);
}

/* --- searching ----------------------------------------------------------------------------- */

/* memmem is linear in both lengths. */
static const char *span_find(struct span whole, struct span part)
{
	return memmem(whole.at, (size_t)(whole.end - whole.at), part.at,
		      (size_t)(part.end - part.at));
}

static uint64_t char_count(struct span span)
{
	uint64_t count = 0;

	for (; span.at < span.end; span.at++)
		count += !is_continuation(*span.at);
	return count;
}

static struct err *instr(struct sql_context *context, const struct sql_value *arguments,
			 struct sql_value *result, struct str *out)
{
	const struct span whole = span_of(&arguments[0]), part = span_of(&arguments[1]);
	const bool counts_bytes = arguments[0].kind == SQL_BLOB && arguments[1].kind == SQL_BLOB;
	const char *at;

	(void)context;
	(void)out;
	if (any_is_null(arguments, 2))
		return NULL;
	at = span_is_empty(part) ? whole.at : span_find(whole, part);
	if (!at)
		sql_value_u64(result, 0);
	else if (counts_bytes)
		sql_value_u64(result, (uint64_t)(at - whole.at) + 1);
	else
		sql_value_u64(result, char_count((struct span) { whole.at, at }) + 1);
	return NULL;
}

static struct err *replace_all(struct work *work, struct span whole, struct span part,
			       const struct sql_value *by, struct str *out)
{
	for (const char *at; (at = span_find(whole, part)); whole.at = at + (part.end - part.at)) {
		str_add_bytes(out, whole.at, (size_t)(at - whole.at));
		str_add_bytes(out, by->text, by->bytes);
		if (out->len > SQL_TEXT_MAX)
			return err_new(ERR_LIMIT, "stopped: a text or blob is too long");
		if (!may_go_on(work, by->bytes + 1))
			return work->err;
	}
	str_add_bytes(out, whole.at, (size_t)(whole.end - whole.at));
	return NULL;
}

static struct err *replace(struct sql_context *context, const struct sql_value *arguments,
			   struct sql_value *result, struct str *out)
{
	struct work work = { .context = context };
	const struct span part = span_of(&arguments[1]);
	struct err *err;

	if (any_is_null(arguments, 2) || (!span_is_empty(part) && any_is_null(arguments, 3)))
		return NULL;
	if (span_is_empty(part))
		str_add_bytes(out, arguments[0].text, arguments[0].bytes);
	err = span_is_empty(part)
		      ? NULL
		      : replace_all(&work, span_of(&arguments[0]), part, &arguments[2], out);
	if (!err)
		answer_text(result, (struct span) { str_text(out), str_text(out) + out->len });
	return err;
}

/* --- trimming ------------------------------------------------------------------------------ */

static bool is_among(struct work *work, struct span set, struct span wanted)
{
	while (!span_is_empty(set)) {
		if (!may_go_on(work, 1))
			return false;
		if (char_compare(char_take(&set), wanted) == 0)
			return true;
	}
	return false;
}

static struct span last_char(struct span span)
{
	const char *at = span.end - 1;

	while (at > span.at && is_continuation(*at))
		at--;
	return (struct span) { at, span.end };
}

static struct err *trim_sides(struct sql_context *context, const struct sql_value *arguments,
			      bool left, bool right, struct sql_value *result, struct str *out)
{
	struct work work = { .context = context };
	struct span span = span_of(&arguments[0]);

	if (any_is_null(arguments, 2))
		return NULL;
	while (left && !span_is_empty(span) &&
	       is_among(&work, span_of(&arguments[1]), (struct span) { span.at, after_char(span) }))
		span.at = after_char(span);
	while (right && !span_is_empty(span) &&
	       is_among(&work, span_of(&arguments[1]), last_char(span)))
		span.end = last_char(span).at;
	str_add_bytes(out, span.at, (size_t)(span.end - span.at));
	answer_text(result, (struct span) { str_text(out), str_text(out) + out->len });
	return work.err;
}

static struct err *trim(struct sql_context *context, const struct sql_value *arguments,
			struct sql_value *result, struct str *out)
{
	return trim_sides(context, arguments, true, true, result, out);
}

static struct err *ltrim(struct sql_context *context, const struct sql_value *arguments,
			 struct sql_value *result, struct str *out)
{
	return trim_sides(context, arguments, true, false, result, out);
}

static struct err *rtrim(struct sql_context *context, const struct sql_value *arguments,
			 struct sql_value *result, struct str *out)
{
	return trim_sides(context, arguments, false, true, result, out);
}

const struct sql_scalar sql_text_scalars[] = {
	{ "like", 2, NULL, NULL, like, true },
	{ "like", 3, NULL, NULL, like_escape, true },
	{ "glob", 2, NULL, NULL, glob, true },
	{ "instr", 2, NULL, NULL, instr, true },
	{ "replace", 3, NULL, NULL, replace, true },
	{ "trim", 2, NULL, NULL, trim, true },
	{ "ltrim", 2, NULL, NULL, ltrim, true },
	{ "rtrim", 2, NULL, NULL, rtrim, true },
	{ 0 },
};
