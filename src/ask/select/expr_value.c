#include "select/expr_value.h"

#include <assert.h>
#include <strings.h>

#include "base/number.h"

struct unit {
	const char *name; /* lower case */
	uint64_t factor;
};

static const struct unit byte_units[] = {
	{ "", 1 },
	{ "b", 1 },
	{ "k", UINT64_C(1) << 10 },
	{ "kib", UINT64_C(1) << 10 },
	{ "m", UINT64_C(1) << 20 },
	{ "mib", UINT64_C(1) << 20 },
	{ "g", UINT64_C(1) << 30 },
	{ "gib", UINT64_C(1) << 30 },
	{ "t", UINT64_C(1) << 40 },
	{ "tib", UINT64_C(1) << 40 },
	{ "p", UINT64_C(1) << 50 },
	{ "pib", UINT64_C(1) << 50 },
	{ "e", UINT64_C(1) << 60 },
	{ "eib", UINT64_C(1) << 60 },
	{ "kb", 1000 },
	{ "mb", 1000000 },
	{ "gb", UINT64_C(1000000000) },
	{ "tb", UINT64_C(1000000000000) },
	{ "pb", UINT64_C(1000000000000000) },
	{ "eb", UINT64_C(1000000000000000000) },
	{ NULL, 0 },
};

static const struct unit time_units[] = {
	{ "", 1000000000 }, /* seconds */
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", 1000000000 },
	{ "m", UINT64_C(60000000000) },
	{ "min", UINT64_C(60000000000) },
	{ "h", UINT64_C(3600000000000) },
	{ "d", UINT64_C(86400000000000) },
	{ NULL, 0 },
};

static const struct unit no_units[] = { { "", 1 }, { NULL, 0 } };
static const struct unit percent_units[] = { { "%", 1000 }, { NULL, 0 } };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const struct unit *unit_find(const struct unit *units, const char *text, size_t len)
{
	for (; units->name; units++) {
		if (strlen(units->name) == len && strncasecmp(units->name, text, len) == 0)
			return units;
	}
	return NULL;
}

enum { FRACTION_DIGITS = 18 };

static const uint64_t FRACTION_WHOLE = UINT64_C(1000000000000000000);

/* A decimal number and its length in bytes. Reading it returns false if it is too large. */
struct decimal {
	uint64_t whole;
	uint64_t fraction; /* of FRACTION_WHOLE */
	size_t len;
	bool has_fraction;
};

static bool decimal_read(const char *text, size_t len, struct decimal *decimal)
{
	uint64_t scale = FRACTION_WHOLE;

	*decimal = (struct decimal) { 0 };
	for (; decimal->len < len; decimal->len++) {
		const char c = text[decimal->len];

		if (c == '.' && !decimal->has_fraction) {
			decimal->has_fraction = true;
		} else if (!is_digit(c)) {
			break;
		} else if (decimal->has_fraction) {
			scale /= 10; /* digits after the 18th are ignored */
			decimal->fraction += (uint64_t)(c - '0') * scale;
		} else if (__builtin_mul_overflow(decimal->whole, 10, &decimal->whole) ||
			   __builtin_add_overflow(decimal->whole, (uint64_t)(c - '0'),
						  &decimal->whole)) {
			return false;
		}
	}
	return true;
}

/* One number with a unit or, if may_repeat, several: 1h30m. */
static const char *units_parse(const char *text, size_t len, const struct unit *units,
			       bool may_repeat, uint64_t *value_ret)
{
	uint64_t value = 0;

	do {
		const struct unit *unit;
		struct decimal decimal;
		size_t unit_len = 0;
		uint64_t part;

		if (!decimal_read(text, len, &decimal))
			return "is too large";
		while (decimal.len + unit_len < len && !is_digit(text[decimal.len + unit_len]))
			unit_len++;
		unit = unit_find(units, text + decimal.len, unit_len);
		if (!unit || decimal.len == 0)
			return unit_len ? "has an unknown unit" : "has no unit";
		part = u64_mul_div(decimal.fraction, unit->factor, FRACTION_WHOLE);
		if (__builtin_mul_overflow(decimal.whole, unit->factor, &decimal.whole) ||
		    __builtin_add_overflow(value, decimal.whole, &value) ||
		    __builtin_add_overflow(value, part, &value) || value == FIELD_NONE)
			return "is too large";
		if (decimal.has_fraction && unit->factor == 1)
			return "is not an integer";
		text += decimal.len + unit_len;
		len -= decimal.len + unit_len;
		units = unit->name[0] ? units : no_units; /* a number without a unit is the last */
	} while (len > 0 && may_repeat);
	*value_ret = value;
	return len > 0 ? "is not a number" : NULL;
}

static const char *hex_parse(const char *text, size_t len, uint64_t *value_ret)
{
	uint64_t value = 0;

	if (len == 0)
		return "is not a number";
	for (size_t i = 0; i < len; i++) {
		const char c = (char)(text[i] | 32);

		if (!is_digit(c) && (c < 'a' || c > 'f'))
			return "is not a number";
		if (value >> 60)
			return "is too large";
		value = value << 4 | (uint64_t)(is_digit(c) ? c - '0' : c - 'a' + 10);
	}
	if (value == FIELD_NONE)
		return "is too large";
	*value_ret = value;
	return NULL;
}

static const char *percent_parse(const char *text, size_t len, const struct field *field,
				 struct expr_value *value)
{
	const char *problem;

	if (!field->percent)
		return "is a percentage, and this field has none";
	problem = units_parse(text, len, percent_units, false, &value->number);
	if (!problem && value->number > 100 * 1000)
		return "is more than 100%";
	value->kind = EXPR_PERCENT;
	return problem;
}

const char *expr_value_parse(const char *text, size_t len, const struct field *field,
			     struct expr_value *value_ret)
{
	struct expr_value value = { .kind = EXPR_PLAIN };
	const bool is_hex = len > 2 && text[0] == '0' && (text[1] | 32) == 'x';
	const bool is_time = field->type == FIELD_MOMENT || field->type == FIELD_DURATION;
	const char *problem;

	assert(len > 0);
	if (text[len - 1] == '%')
		problem = percent_parse(text, len, field, &value);
	else if (is_hex && !is_time)
		problem = hex_parse(text + 2, len - 2, &value.number);
	else
		problem = units_parse(text, len,
				      is_time			   ? time_units
				      : field->type == FIELD_BYTES ? byte_units
								   : no_units,
				      is_time, &value.number);
	if (!problem)
		*value_ret = value;
	return problem;
}

const char *expr_value_example(enum field_type type)
{
	static const char *const examples[] = {
		[FIELD_BYTES] = "a size like 4KiB",
		[FIELD_COUNT] = "a number like 10",
		[FIELD_MOMENT] = "a time like 1.5s, 75%, start, peak, end or mark(NAME)",
		[FIELD_DURATION] = "a duration like 10ms",
		[FIELD_ADDRESS] = "an address like 0x7f3200001000",
		[FIELD_ID] = "a number like 10",
		[FIELD_BOOL] = "yes or no",
		[FIELD_TEXT] = "a text in quotes",
		[FIELD_TEXTS] = "a text in quotes",
	};

	assert((unsigned)type < array_size(examples));
	return examples[type];
}

static bool item_reads(const struct expr_item *item, const struct field *field)
{
	return (item->low.kind == EXPR_FIELD && item->low.field == field) ||
	       (item->high.kind == EXPR_FIELD && item->high.field == field);
}

bool expr_reads(const struct expr *expr, const struct field *field)
{
	bool reads = expr->field == field;

	for (size_t i = 0; i < expr->item_count && !reads; i++)
		reads = item_reads(&expr->items[i], field);
	for (size_t i = 0; i < expr->part_count && !reads; i++)
		reads = expr_reads(expr->parts[i], field);
	return reads;
}
