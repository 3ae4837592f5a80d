#include "select/moment.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "base/str.h"
#include "select/expr_value.h"
#include "select/mark.h"

enum { PERCENT_WHOLE = 100000 };

static bool mark_parse(const char *text, size_t len, struct moment *moment_ret)
{
	const size_t head = strlen("mark(");

	if (len < head + 2 || strncmp(text, "mark(", head) != 0 || text[len - 1] != ')')
		return false;
	*moment_ret = (struct moment) { MOMENT_MARK, 0, text + head, len - head - 1 };
	return true;
}

/* As in filter expressions: "10s", "4m3s", "12.5%". */
static bool time_parse(const char *text, size_t len, struct moment *moment_ret)
{
	static const struct field a_moment = { .type = FIELD_MOMENT, .percent = "the run" };
	struct expr_value value;

	if (len == 0 || expr_value_parse(text, len, &a_moment, &value))
		return false;
	if (value.kind != EXPR_PLAIN && value.kind != EXPR_PERCENT)
		return false;
	moment_ret->kind = value.kind == EXPR_PERCENT ? MOMENT_PERCENT : MOMENT_TIME;
	moment_ret->value = value.number;
	return true;
}

static bool is_word(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(text, word, len) == 0;
}

static struct err *parse_part(const char *text, size_t len, struct moment *moment_ret)
{
	struct moment moment = { 0 };

	if (is_word(text, len, "peak"))
		moment.kind = MOMENT_PEAK;
	else if (is_word(text, len, "end"))
		moment.kind = MOMENT_END;
	else if (!is_word(text, len, "start") && !mark_parse(text, len, &moment) &&
		 !time_parse(text, len, &moment))
		return err_new(ERR_USAGE,
			       "'%.*s' is not a time; expected 1.5s, 20ms, 75%%, start, peak, end "
			       "or mark(NAME)",
			       (int)u64_min(len, 64), text);
	*moment_ret = moment;
	return NULL;
}

struct err *moment_parse(const char *text, struct moment *moment_ret)
{
	return parse_part(text, strlen(text), moment_ret);
}

static struct err *mark_ns(const struct moment *moment, const struct model *model, uint64_t *ns_ret)
{
	if (mark_find(model, moment->mark, moment->mark_len, ns_ret))
		return NULL;
	return err_new(ERR_NOT_FOUND, "no mark '%.*s' on this tape",
		       (int)u64_min(moment->mark_len, 64), moment->mark);
}

static struct err *any_ns(const struct moment *moment, const struct model *model, uint64_t *ns_ret)
{
	const uint64_t duration_ns = model_process(model)->duration_ns;

	switch (moment->kind) {
	case MOMENT_TIME:
		*ns_ret = moment->value;
		return NULL;
	case MOMENT_PERCENT:
		*ns_ret = u64_mul_div(duration_ns, moment->value, PERCENT_WHOLE);
		return NULL;
	case MOMENT_PEAK:
		*ns_ret = model_totals(model)->peak_ns;
		return NULL;
	case MOMENT_END:
		*ns_ret = duration_ns;
		return NULL;
	case MOMENT_MARK:
		return mark_ns(moment, model, ns_ret);
	}
	return NULL;
}

/* Displayed durations are rounded, and users type them: up to a hundredth beyond is the end. */
static struct err *clip(const struct model *model, uint64_t *ns)
{
	enum { PART = 100, ROUNDED_NS = 1000000 };
	const uint64_t duration_ns = model_process(model)->duration_ns;
	CLEAN(str_deinit) struct str words = { 0 };

	if (*ns <= duration_ns)
		return NULL;
	if (*ns - duration_ns <= duration_ns / PART + ROUNDED_NS) {
		*ns = duration_ns;
		return NULL;
	}
	str_add_duration(&words, *ns);
	str_add(&words, " is after the end: the tape is from 0 to ");
	str_add_duration(&words, duration_ns);
	return err_new(ERR_USAGE, "%s", str_text(&words));
}

struct err *moment_ns(const struct moment *moment, const struct model *model, uint64_t *ns_ret)
{
	uint64_t ns = 0;
	struct err *err = any_ns(moment, model, &ns);

	assert(moment->kind <= MOMENT_MARK);
	assert(moment->kind != MOMENT_MARK || moment->mark);
	if (!err)
		err = clip(model, &ns);
	if (!err)
		*ns_ret = ns;
	return err;
}

struct err *moment_until_ns(const struct moment *moment, const struct model *model,
			    uint64_t *ns_ret)
{
	assert(moment->kind <= MOMENT_MARK);
	assert(moment->kind != MOMENT_MARK || moment->mark);
	return any_ns(moment, model, ns_ret);
}

struct err *moment_span_parse(const char *text, struct moment_span *span_ret)
{
	const char *dots = strstr(text, "..");
	struct moment_span span = { .until = { .kind = MOMENT_END } };
	struct err *err = NULL;

	if (!dots)
		return err_new(ERR_USAGE,
			       "'%s' is not a time range; expected 1s..2s, 25%%..75%% or 10s..",
			       text);
	if (dots > text)
		err = parse_part(text, (size_t)(dots - text), &span.from);
	if (!err && dots[2])
		err = moment_parse(dots + 2, &span.until);
	if (err)
		return err;
	*span_ret = span;
	return NULL;
}

struct err *moment_span_ns(const struct moment_span *span, const struct model *model,
			   uint64_t *from_ret, uint64_t *until_ret)
{
	uint64_t from_ns = 0, until_ns = 0;
	struct err *err = moment_ns(&span->from, model, &from_ns);

	if (!err)
		err = any_ns(&span->until, model, &until_ns); /* clipped to the end */
	if (!err && from_ns > until_ns)
		err = err_new(ERR_USAGE, "the first moment is later than the second");
	if (err)
		return err;
	assert(from_ns <= until_ns);
	*from_ret = from_ns;
	*until_ret = until_ns;
	return NULL;
}
