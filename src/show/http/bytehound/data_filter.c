#include "http/bytehound/data_filter.h"

#include "base/number.h"
#include "base/str.h"
#include "select/regex.h"

enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

/* Numbers from here on are milliseconds since 1970: as seconds it would be 3,000 years. */
static const uint64_t EPOCH_MS_MIN = 100000000000;

const char *const data_lifetimes[] = {
	"all",
	"only_leaked",
	"only_not_deallocated_in_current_range",
	"only_deallocated_in_current_range",
	"only_temporary",
	"only_whole_group_leaked",
	"only_chain_leaked",
	NULL,
};

const char *const data_yes_no[] = { "no", "yes", NULL };

static const char *const lifetime_tests[] = {
	"",
	"leaked",
	"kept_in_range",
	"freed_in_range",
	"not leaked",
	"whole_group_leaked",
	"chain_leaked",
};

static_assert(array_size(lifetime_tests) + 1 == array_size(data_lifetimes), "in the same order");

/* How a parameter's value is written in an expression. */
enum value_kind { VALUE_NUMBER, VALUE_DURATION, VALUE_MOMENT, VALUE_REGEX, VALUE_TEXT };

/* Parameters that are a single test: the field, the operator, the value. */
static const struct {
	const char *name;
	const char *test;
	enum value_kind kind;
} tests[] = {
	{ "address_min", "address >= ", VALUE_NUMBER },
	{ "address_max", "address <= ", VALUE_NUMBER },
	{ "size_min", "size >= ", VALUE_NUMBER },
	{ "size_max", "size <= ", VALUE_NUMBER },
	{ "first_size_min", "first_size >= ", VALUE_NUMBER },
	{ "first_size_max", "first_size <= ", VALUE_NUMBER },
	{ "last_size_min", "last_size >= ", VALUE_NUMBER },
	{ "last_size_max", "last_size <= ", VALUE_NUMBER },
	{ "lifetime_min", "age >= ", VALUE_DURATION },
	{ "lifetime_max", "age <= ", VALUE_DURATION },
	{ "chain_lifetime_min", "chain_lifetime >= ", VALUE_DURATION },
	{ "chain_lifetime_max", "chain_lifetime <= ", VALUE_DURATION },
	{ "chain_length_min", "chain_length >= ", VALUE_NUMBER },
	{ "chain_length_max", "chain_length <= ", VALUE_NUMBER },
	{ "position_in_chain_min", "chain_position >= ", VALUE_NUMBER },
	{ "position_in_chain_max", "chain_position <= ", VALUE_NUMBER },
	{ "backtrace_depth_min", "depth >= ", VALUE_NUMBER },
	{ "backtrace_depth_max", "depth <= ", VALUE_NUMBER },
	{ "group_interval_min", "group_interval >= ", VALUE_DURATION },
	{ "group_interval_max", "group_interval <= ", VALUE_DURATION },
	{ "group_allocations_min", "group_allocations >= ", VALUE_NUMBER },
	{ "group_allocations_max", "group_allocations <= ", VALUE_NUMBER },
	{ "group_leaked_allocations_min", "group_leaked >= ", VALUE_NUMBER },
	{ "group_leaked_allocations_max", "group_leaked <= ", VALUE_NUMBER },
	{ "group_max_total_usage_first_seen_min", "group_usage_max_time >= ", VALUE_MOMENT },
	{ "group_max_total_usage_first_seen_max", "group_usage_max_time <= ", VALUE_MOMENT },
	{ "function_regex", "function ~ ", VALUE_REGEX },
	{ "source_regex", "source ~ ", VALUE_REGEX },
	{ "negative_function_regex", "function !~ ", VALUE_REGEX },
	{ "negative_source_regex", "source !~ ", VALUE_REGEX },
	{ "backtraces", "stack = ", VALUE_NUMBER },
	{ "deallocation_backtraces", "free_stack = ", VALUE_NUMBER },
	{ "marker", "mark = ", VALUE_TEXT },
};

/* --- values -------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The unit after the digits, up to the end or the next digits, in nanoseconds; 0: no unit. */
static uint64_t unit_ns(const char *text, size_t *len_ret)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		/* Longer ones first. */
		{ "ms", NS_PER_MS },
		{ "us", 1000 },
		{ "ns", 1 },
		{ "h", 3600ULL * NS_PER_S },
		{ "m", 60ULL * NS_PER_S },
		{ "s", NS_PER_S },
	};

	for (size_t i = 0; i < array_size(units); i++) {
		*len_ret = strlen(units[i].name);
		if (strncasecmp(text, units[i].name, *len_ret) == 0)
			return units[i].ns;
	}
	*len_ret = 0;
	return *text ? 0 : NS_PER_S;
}

/* "12.5" with its unit; false: not a number, or too large. */
static bool part_read(const char **text, uint64_t *ns_ret)
{
	const char *at = *text;
	uint64_t whole = 0, fraction = 0, divisor = 1, unit;
	uint64_t ns;
	size_t unit_len;

	if (!is_digit(*at))
		return false;
	for (; is_digit(*at); at++) {
		if (whole > UINT32_MAX)
			return false;
		whole = whole * 10 + (uint64_t)(*at - '0');
	}
	if (*at == '.' && !is_digit(*++at))
		return false;
	for (; is_digit(*at); at++) {
		if (divisor < NS_PER_S) {
			fraction = fraction * 10 + (uint64_t)(*at - '0');
			divisor *= 10;
		}
	}
	unit = unit_ns(at, &unit_len);
	if (unit == 0 || __builtin_mul_overflow(whole, unit, &ns) ||
	    __builtin_add_overflow(ns, u64_mul_div(fraction, unit, divisor), &ns) || ns > INT64_MAX)
		return false;
	*text = at + unit_len;
	*ns_ret = ns;
	return true;
}

bool data_duration(const char *text, uint64_t *ns_ret)
{
	uint64_t sum = 0;

	do {
		uint64_t ns;

		if (!part_read(&text, &ns) || sum + ns > INT64_MAX)
			return false;
		sum += ns;
	} while (*text);
	*ns_ret = sum;
	return true;
}

static bool is_percent(const char *text)
{
	size_t len = strspn(text, "0123456789.");

	return len > 0 && text[len] == '%' && !text[len + 1];
}

static struct err *number_add(struct str *out, const char *text)
{
	const size_t len = strspn(text, "0123456789abcdefABCDEFxX.%");

	if (len == 0 || text[len] || !is_digit(*text))
		return err_new(ERR_USAGE, "'%s' is not a number", text);
	str_add(out, text);
	return NULL;
}

static struct err *duration_add(struct str *out, const char *text)
{
	uint64_t ns;

	if (is_percent(text)) {
		str_add(out, text);
		return NULL;
	}
	if (!data_duration(text, &ns))
		return err_new(ERR_USAGE,
			       "'%s' is not a time; expected 10 (seconds), 20ms or 1h30m", text);
	str_add_u64(out, ns);
	str_add(out, "ns");
	return NULL;
}

/* is_end: includes the moment's whole millisecond. */
static struct err *moment_add(const struct call *call, struct str *out, const char *text,
			      bool is_end)
{
	const uint64_t start_ns = model_process(call->model)->start_realtime_ns;
	uint64_t ms, ns;

	if (!str_parse_u64(text, &ms) || ms < EPOCH_MS_MIN)
		return duration_add(out, text);
	if (ms > INT64_MAX / NS_PER_MS)
		return err_new(ERR_USAGE, "'%s' is not a time", text);
	ns = ms * NS_PER_MS + (is_end ? NS_PER_MS - 1 : 0);
	str_add_u64(out, ns > start_ns ? ns - start_ns : 0);
	str_add(out, "ns");
	return NULL;
}

/* In quotes; a quote in the expression itself is written as an equivalent numeric escape. */
static struct err *regex_add(struct str *out, const char *text)
{
	CLEAN(regex_destroy) struct regex *regex = NULL;
	struct regex_problem problem;

	if (!regex_create(text, &regex, &problem))
		return err_new(ERR_USAGE, "invalid regular expression: %s", problem.text);
	str_add_char(out, '"');
	for (; *text; text++) {
		if (*text == '"' || (*text == '\\' && text[1] == '"')) {
			text += *text == '\\';
			str_add(out, "\\x22");
			continue;
		}
		if (*text == '\\')
			str_add_char(out, *text++);
		str_add_char(out, *text);
	}
	str_add_char(out, '"');
	return NULL;
}

static struct err *text_add(struct str *out, const char *text)
{
	const char *quote = strchr(text, '"') ? "'" : "\"";

	if (strchr(text, quote[0]) || strchr(text, '\\'))
		return err_new(ERR_USAGE,
			       "text with both kinds of quotes or a backslash is not supported");
	str_printf(out, "%s%s%s", quote, text, quote);
	return NULL;
}

static struct err *value_add(const struct call *call, struct str *out, enum value_kind kind,
			     const char *text)
{
	switch (kind) {
	case VALUE_NUMBER:
		return number_add(out, text);
	case VALUE_DURATION:
		return duration_add(out, text);
	case VALUE_MOMENT:
		return moment_add(call, out, text, false);
	case VALUE_REGEX:
		return regex_add(out, text);
	case VALUE_TEXT:
		return text_add(out, text);
	}
	return NULL;
}

/* --- the expression ------------------------------------------------------------------------ */

/* Checks the part that begins at `from` separately, so that an error names its parameter. */
static struct err *part_check(struct call *call, const struct str *out, size_t from,
			      const char *name, struct err *err)
{
	const struct selection_settings settings = { .filter = str_text(out) + from };

	if (!err && !out->failed)
		err = selection_check(&settings);
	return err ? call_blame(call, name, err) : NULL;
}

static void and_add(struct str *out)
{
	if (out->len > 0)
		str_add(out, " and ");
}

static struct err *tests_add(struct call *call, struct str *out)
{
	for (size_t i = 0; i < array_size(tests); i++) {
		const char *text = call_text(call, tests[i].name);
		struct err *err;
		size_t from;

		if (!text)
			continue;
		and_add(out);
		from = out->len;
		str_add(out, tests[i].test);
		err = value_add(call, out, tests[i].kind, text);
		err = part_check(call, out, from, tests[i].name, err);
		if (err)
			return err;
	}
	return NULL;
}

static struct err *alive_add(struct call *call, struct str *out)
{
	static const char *const names[] = { "alive_at", "alive_at_2" };
	struct err *err = NULL;

	for (size_t i = 0; i < array_size(names) && !err; i++) {
		const char *text = call_text(call, names[i]);

		if (!text)
			continue;
		and_add(out);
		str_add(out, "alive_at ");
		err = moment_add(call, out, text, false);
		err = err ? call_blame(call, names[i], err) : NULL;
	}
	return err;
}

static struct err *custom_add(struct call *call, struct str *out)
{
	const struct selection_settings alone = { .filter = call_text(call, "custom_filter") };
	struct err *err;

	if (!alone.filter || !*alone.filter)
		return NULL;
	err = selection_check(&alone);
	if (err)
		return call_blame(call, "custom_filter", err);
	and_add(out);
	str_printf(out, "(%s)", alone.filter);
	return NULL;
}

static void words_add(struct call *call, struct str *out)
{
	const char *test = lifetime_tests[call_choice(call, "lifetime")];

	if (*test) {
		and_add(out);
		str_add(out, test);
	}
	if (call_has(call, "mmaped")) {
		and_add(out);
		str_add(out, call_choice(call, "mmaped") ? "mmapped" : "not mmapped");
	}
}

static struct err *range_end(struct call *call, const char *name, bool is_end, struct str *out)
{
	const char *text = call_text(call, name);
	struct err *err = text ? moment_add(call, out, text, is_end) : NULL;

	return err ? call_blame(call, name, err) : NULL;
}

struct err *data_select(struct call *call, const struct selection **selection_ret)
{
	CLEAN(str_deinit) struct str filter = { 0 };
	CLEAN(str_deinit) struct str from = { 0 };
	CLEAN(str_deinit) struct str to = { 0 };
	struct err *err = tests_add(call, &filter);

	if (!err)
		err = alive_add(call, &filter);
	if (!err)
		err = custom_add(call, &filter);
	if (!err)
		err = range_end(call, "from", false, &from);
	if (!err)
		err = range_end(call, "to", true, &to);
	if (err)
		return err;
	words_add(call, &filter);
	if (filter.failed || from.failed || to.failed)
		return err_nomem();
	return call_select_part(call, arena_strdup(call->arena, str_text(&filter)),
				from.len ? str_text(&from) : NULL, to.len ? str_text(&to) : NULL,
				CALL_UNSUPPRESSED, selection_ret);
}
