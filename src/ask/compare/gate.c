#include "compare/gate.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "base/str.h"

enum { VALUE_BYTES_MAX = 32, PERCENT_SCALE = 100000 };

static bool metric_find(const char *text, size_t len, enum metric *metric_ret)
{
	for (unsigned i = 0; metric_words[i]; i++) {
		if (strlen(metric_words[i]) == len && memcmp(metric_words[i], text, len) == 0) {
			*metric_ret = (enum metric)i;
			return true;
		}
	}
	return false;
}

/* Parses "12.5" as thousandths. */
static bool thousandths_parse(const char *text, size_t len, uint64_t *value_ret)
{
	uint64_t value = 0, scale = 1000;
	bool is_fraction = false, has_digit = false;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '.' && !is_fraction) {
			is_fraction = true;
		} else if (text[i] < '0' || text[i] > '9' ||
			   value > (uint64_t)GATE_PERCENT_MAX * 1000) {
			return false;
		} else {
			const uint64_t digit = (uint64_t)(text[i] - '0');

			has_digit = true;
			scale /= is_fraction ? 10 : 1;
			value = is_fraction ? value + digit * scale : value * 10 + digit * 1000;
		}
	}
	*value_ret = value;
	return has_digit;
}

static bool limit_parse(struct gate_condition *condition, const char *text, size_t len)
{
	char copy[VALUE_BYTES_MAX];

	condition->is_percent = len > 0 && text[len - 1] == '%';
	if (condition->is_percent)
		return thousandths_parse(text, len - 1, &condition->limit);
	if (len == 0 || len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return metric_is_bytes(condition->metric) ? str_parse_bytes(copy, &condition->limit)
						  : str_parse_u64(copy, &condition->limit);
}

static struct err *condition_parse(const char *text, size_t len, struct gate_condition *ret)
{
	const char *sign = memchr(text, '>', len);
	struct gate_condition condition = { .text = text, .text_len = len };

	if (!sign || !metric_find(text, (size_t)(sign - text), &condition.metric) ||
	    !limit_parse(&condition, sign + 1, len - (size_t)(sign + 1 - text)))
		return err_new(ERR_USAGE,
			       "'%.*s' is not a condition; expected METRIC>LIMIT, such as "
			       "peak>5%%, leaked>0, allocated>1MiB or count>1000",
			       (int)u64_min(len, 64), text);
	*ret = condition;
	return NULL;
}

struct err *gate_parse(const char *text, struct gate *gate_ret)
{
	struct gate gate = { 0 };

	for (;;) {
		const size_t len = strcspn(text, ",");
		struct err *err;

		if (gate.count == GATE_CONDITIONS_MAX)
			return err_new(ERR_USAGE, "more than %d conditions",
				       (int)GATE_CONDITIONS_MAX);
		err = condition_parse(text, len, &gate.conditions[gate.count++]);
		if (err)
			return err;
		if (!text[len])
			break;
		text += len + 1;
	}
	assert(gate.count >= 1 && gate.count <= GATE_CONDITIONS_MAX);
	*gate_ret = gate;
	return NULL;
}

/* A number of 192 bits, its lowest part first: products of three numbers. */
struct wide {
	uint64_t parts[3];
};

static struct wide wide_product(uint64_t a, uint64_t b, uint64_t c)
{
	const struct u64_product ab = u64_mul(a, b);
	const struct u64_product low = u64_mul(ab.low, c), high = u64_mul(ab.high, c);
	struct wide wide = { .parts = { low.low } };
	const bool carry = __builtin_add_overflow(low.high, high.low, &wide.parts[1]);

	wide.parts[2] = high.high + carry;
	return wide;
}

static struct wide wide_sum(struct wide a, const struct wide *b)
{
	bool carry = false;

	for (size_t i = 0; i < array_size(a.parts); i++) {
		const bool is_full = __builtin_add_overflow(a.parts[i], carry, &a.parts[i]);

		carry = __builtin_add_overflow(a.parts[i], b->parts[i], &a.parts[i]) || is_full;
	}
	assert(!carry);
	return a;
}

static bool wide_is_greater(const struct wide *a, const struct wide *b)
{
	for (size_t i = array_size(a->parts); i-- > 0;)
		if (a->parts[i] != b->parts[i])
			return a->parts[i] > b->parts[i];
	return false;
}

bool gate_is_exceeded(const struct gate_condition *condition, struct gate_value before,
		      struct gate_value after)
{
	/*
	 * "after / units > before / units + limit" times all units, or, if the limit is a share,
	 * "after / units > before / units * (1 + limit / scale)" times all units and the scale.
	 */
	const uint64_t scale = condition->is_percent ? PERCENT_SCALE : 1;
	const struct wide is = wide_product(after.value, before.units, scale);
	const struct wide was = wide_product(before.value, after.units, scale);
	const struct wide more =
		condition->is_percent ? wide_product(before.value, after.units, condition->limit)
				      : wide_product(condition->limit, before.units, after.units);
	const struct wide allowed = wide_sum(was, &more);

	assert(before.units >= 1 && before.units <= GATE_UNITS_MAX);
	assert(after.units >= 1 && after.units <= GATE_UNITS_MAX);
	return wide_is_greater(&is, &allowed);
}
