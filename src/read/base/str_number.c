/* The numbers part of str: formatting numbers for people and parsing theirs. */
#include "base/str.h"

#include <assert.h>
#include <math.h>

void str_add_u64(struct str *str, uint64_t value)
{
	char digits[20];
	size_t begin = sizeof(digits);

	do {
		digits[--begin] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	str_add_bytes(str, digits + begin, sizeof(digits) - begin);
}

void str_add_i64(struct str *str, int64_t value)
{
	if (value < 0)
		str_add_char(str, '-');
	str_add_u64(str, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void str_add_hex(struct str *str, uint64_t value)
{
	char digits[16];
	size_t begin = sizeof(digits);

	do {
		digits[--begin] = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value > 0);
	str_add(str, "0x");
	str_add_bytes(str, digits + begin, sizeof(digits) - begin);
}

static uint64_t power_of_ten(unsigned exponent)
{
	uint64_t power = 1;

	while (exponent-- > 0)
		power *= 10;
	return power;
}

static void str_add_fixed(struct str *str, uint64_t whole, uint64_t rest, unsigned decimals)
{
	uint64_t scale = power_of_ten(decimals);

	str_add_u64(str, whole);
	if (decimals == 0)
		return;
	str_add_char(str, '.');
	for (scale /= 10; scale > 0; scale /= 10)
		str_add_char(str, (char)('0' + rest / scale % 10));
}

/* rest * 10 / divisor, and what is left then. rest < divisor. */
static unsigned next_digit(uint64_t *rest, uint64_t divisor)
{
	uint64_t left = 0;
	unsigned digit = 0;

	if (*rest <= UINT64_MAX / 10) {
		digit = (unsigned)(*rest * 10 / divisor);
		*rest = *rest * 10 % divisor;
		return digit;
	}
	for (int i = 0; i < 10; i++) {
		const bool is_whole = left >= divisor - *rest;

		digit += is_whole;
		left += is_whole ? *rest - divisor : *rest;
	}
	*rest = left;
	return digit;
}

void str_add_ratio(struct str *str, uint64_t value, uint64_t divisor, unsigned decimals)
{
	uint64_t whole, rest, digits = 0;

	assert(decimals <= 9);
	if (divisor == 0) {
		str_add_char(str, '0');
		return;
	}
	whole = value / divisor;
	rest = value % divisor;
	for (unsigned i = 0; i < decimals; i++)
		digits = digits * 10 + next_digit(&rest, divisor);
	if (rest >= divisor - divisor / 2 && ++digits == power_of_ten(decimals)) {
		digits = 0;
		whole++;
	}
	str_add_fixed(str, whole, digits, decimals);
}

/* A double is a number of 53 bits, shifted: divided exactly, bit by bit, as 64 bits have no room for it. */
static void str_add_large(struct str *str, double scaled, unsigned decimals)
{
	enum { BITS = 53 };
	const uint64_t scale = power_of_ten(decimals);
	int exponent;
	const uint64_t bits = (uint64_t)ldexp(frexp(scaled, &exponent), BITS);
	uint64_t whole = bits / scale, rest = bits % scale;

	assert(scale > 0);
	for (int i = BITS; i < exponent; i++) {
		rest *= 2;
		whole = 2 * whole + (rest >= scale);
		rest -= rest >= scale ? scale : 0;
	}
	str_add_fixed(str, whole, rest, decimals);
}

void str_add_double(struct str *str, double value, unsigned decimals)
{
	const uint64_t scale = power_of_ten(decimals);
	const double scaled = fabs(value) * (double)scale + 0.5;
	const double most = 0x1p64 * (double)scale * (1 - 0x1p-53);

	assert(decimals <= 9);
	if (!isfinite(value)) {
		str_add_char(str, '0');
		return;
	}
	if (value < 0 && scaled >= 1)
		str_add_char(str, '-');
	if (scaled < 0x1p63)
		str_add_fixed(str, (uint64_t)scaled / scale, (uint64_t)scaled % scale, decimals);
	else /* No value shown to a person reaches 2^64: saturate at the number before it. */
		str_add_large(str, scaled < most ? scaled : most, decimals);
}

void str_add_short_double(struct str *str, double value, unsigned decimals)
{
	const double size = fabs(value);

	if (!(size >= 1000) || size >= 0x1p63) {
		str_add_double(str, value, decimals);
		return;
	}
	if (value < 0)
		str_add_char(str, '-');
	str_add_grouped(str, (uint64_t)(size + 0.5));
}

void str_add_iec(struct str *str, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t unit = 0;

	if (bytes < 1024) {
		str_add_u64(str, bytes);
		str_add(str, " B");
		return;
	}
	/* 1023.95 and more would print as 1024.0 of the smaller unit */
	while (unit + 1 < array_size(units) &&
	       bytes >= (UINT64_C(1) << (unit + 2) * 10) - (UINT64_C(1) << (unit + 1) * 10) / 20)
		unit++;
	str_add_ratio(str, bytes, UINT64_C(1) << (unit + 1) * 10, 1);
	str_add_char(str, ' ');
	str_add(str, units[unit]);
}

void str_add_iec_signed(struct str *str, int64_t bytes)
{
	if (bytes < 0)
		str_add_char(str, '-');
	str_add_iec(str, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
}

void str_add_grouped(struct str *str, uint64_t value)
{
	uint64_t scale = 1;

	while (value / scale >= 1000)
		scale *= 1000;
	str_add_u64(str, value / scale);
	for (scale /= 1000; scale > 0; scale /= 1000)
		str_printf(str, ",%03u", (unsigned)(value / scale % 1000));
}

/* Three significant digits: 1.50, 12.3, 850. */
static void str_add_three_digits(struct str *str, uint64_t value, uint64_t unit)
{
	unsigned decimals = value < 10 * unit ? 2 : value < 100 * unit ? 1 : 0;

	str_add_ratio(str, value, unit, decimals);
}

void str_add_duration(struct str *str, uint64_t ns)
{
	static const uint64_t US = 1000, MS = 1000000, S = 1000000000;

	if (ns < US) {
		str_printf(str, "%u ns", (unsigned)ns);
	} else if (ns < S) {
		str_add_three_digits(str, ns, ns < MS ? US : MS);
		str_add(str, ns < MS ? " us" : " ms");
	} else if (ns < 120 * S) {
		str_add_three_digits(str, ns, S);
		str_add(str, " s");
	} else if (ns / S < 7200) {
		str_printf(str, "%um %02us", (unsigned)(ns / S / 60), (unsigned)(ns / S % 60));
	} else {
		str_add_u64(str, ns / S / 3600);
		str_printf(str, "h %02um", (unsigned)(ns / S / 60 % 60));
	}
}

void str_add_counted(struct str *str, uint64_t count, const char *thing)
{
	str_add_grouped(str, count);
	str_add_char(str, ' ');
	str_add(str, thing);
	if (count != 1)
		str_add_char(str, 's');
}

void str_add_percent(struct str *str, uint64_t part, uint64_t whole)
{
	while (part > UINT64_MAX / 100) {
		part /= 2;
		whole /= 2;
	}
	if (whole == 0)
		str_add(str, "0.0");
	else
		str_add_ratio(str, part * 100, whole, 1);
	str_add(str, " %");
}

/* Into a caller's buffer; the str is a temporary on the stack. */
static char *str_copy_out(struct str *str, char *buf)
{
	str_format(buf, STR_SHORT_BYTES, "%s", str_text(str));
	str_deinit(str);
	return buf;
}

char *str_iec(char *buf, uint64_t bytes)
{
	struct str str = { 0 };

	str_add_iec(&str, bytes);
	return str_copy_out(&str, buf);
}

char *str_grouped(char *buf, uint64_t value)
{
	struct str str = { 0 };

	str_add_grouped(&str, value);
	return str_copy_out(&str, buf);
}

char *str_duration(char *buf, uint64_t ns)
{
	struct str str = { 0 };

	str_add_duration(&str, ns);
	return str_copy_out(&str, buf);
}

char *str_percent(char *buf, uint64_t part, uint64_t whole)
{
	struct str str = { 0 };

	str_add_percent(&str, part, whole);
	return str_copy_out(&str, buf);
}

/* Digits at *text, which is advanced past them; false if there are none or on overflow. */
static bool parse_digits(const char **text, uint64_t *value_ret)
{
	uint64_t value = 0;
	const char *ptr = *text;

	if (*ptr < '0' || *ptr > '9')
		return false;
	for (; *ptr >= '0' && *ptr <= '9'; ptr++)
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*ptr - '0'), &value))
			return false;
	*text = ptr;
	*value_ret = value;
	return true;
}

bool str_parse_u64(const char *text, uint64_t *value_ret)
{
	uint64_t value;

	if (!parse_digits(&text, &value) || *text)
		return false;
	*value_ret = value;
	return true;
}

struct unit {
	const char *suffix;
	uint64_t scale;
};

/* "1.5MiB" -> 1.5 * scale of the suffix among units. */
static bool parse_scaled(const char *text, const struct unit *units, size_t unit_count,
			 uint64_t *value_ret)
{
	uint64_t whole, fraction = 0, divisor = 1, part, sum;
	const char *begin;

	if (!parse_digits(&text, &whole))
		return false;
	if (*text == '.') {
		begin = ++text;
		if (!parse_digits(&text, &fraction) || text - begin > 9)
			return false;
		divisor = power_of_ten((unsigned)(text - begin));
	}
	for (size_t i = 0; i < unit_count; i++) {
		if (strcasecmp(text, units[i].suffix) != 0)
			continue;
		part = fraction * (units[i].scale / divisor) +
		       fraction * (units[i].scale % divisor) / divisor; /* less than the unit */
		if (__builtin_mul_overflow(whole, units[i].scale, &sum) ||
		    __builtin_add_overflow(sum, part, &sum))
			return false;
		*value_ret = sum;
		return true;
	}
	return false;
}

bool str_parse_bytes(const char *text, uint64_t *bytes_ret)
{
	static const struct unit units[] = {
		{ "", 1 },
		{ "b", 1 },
		{ "k", 1 << 10 },
		{ "kb", 1 << 10 },
		{ "kib", 1 << 10 },
		{ "m", 1 << 20 },
		{ "mb", 1 << 20 },
		{ "mib", 1 << 20 },
		{ "g", 1 << 30 },
		{ "gb", 1 << 30 },
		{ "gib", 1 << 30 },
		{ "t", UINT64_C(1) << 40 },
		{ "tb", UINT64_C(1) << 40 },
		{ "tib", UINT64_C(1) << 40 },
	};

	return parse_scaled(text, units, array_size(units), bytes_ret);
}

bool str_parse_duration(const char *text, uint64_t *ns_ret)
{
	static const struct unit units[] = {
		{ "", 1000000000 },
		{ "s", 1000000000 },
		{ "ms", 1000000 },
		{ "us", 1000 },
		{ "ns", 1 },
		{ "m", UINT64_C(60000000000) },
		{ "min", UINT64_C(60000000000) },
		{ "h", UINT64_C(3600000000000) },
	};

	return parse_scaled(text, units, array_size(units), ns_ret);
}

bool str_parse_age(const char *text, uint64_t *ns_ret)
{
	static const struct unit units[] = {
		{ "s", 1000000000 },
		{ "min", UINT64_C(60000000000) },
		{ "h", UINT64_C(3600000000000) },
		{ "d", UINT64_C(24) * UINT64_C(3600000000000) },
		{ "w", UINT64_C(7) * UINT64_C(24) * UINT64_C(3600000000000) },
	};

	return parse_scaled(text, units, array_size(units), ns_ret);
}
