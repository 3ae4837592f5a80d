#include "base/str.h"

#include <math.h>
#include <stdarg.h>

enum { FIRST_BYTES = 64 };

const char *str_text(const struct str *str)
{
	return str->ptr ? str->ptr : "";
}

void str_clear(struct str *str)
{
	str->len = 0;
	str->failed = false;
	if (str->ptr)
		str->ptr[0] = '\0';
}

void str_deinit(struct str *str)
{
	free(str->ptr);
	*str = (struct str) { 0 };
}

/* Room for len more bytes and the NUL. */
static bool str_reserve(struct str *str, size_t len)
{
	size_t wanted, capacity;
	char *moved;

	if (str->failed)
		return false;
	if (len < str->capacity - str->len)
		return true;
	if (size_add_overflows(str->len, len, &wanted) || wanted > SIZE_MAX / 2) {
		str->failed = true;
		return false;
	}
	capacity = u64_max(u64_max(FIRST_BYTES, str->capacity * 2), wanted + 1);
	moved = realloc(str->ptr, capacity);
	str->failed = !moved;
	if (moved) {
		str->ptr = moved;
		str->capacity = capacity;
	}
	return !str->failed;
}

void str_add_bytes(struct str *str, const char *text, size_t len)
{
	if (!str_reserve(str, len))
		return;
	if (len > 0)
		memcpy(str->ptr + str->len, text, len);
	str->len += len;
	str->ptr[str->len] = '\0';
}

void str_add(struct str *str, const char *text)
{
	str_add_bytes(str, text, strlen(text));
}

void str_add_char(struct str *str, char c)
{
	str_add_bytes(str, &c, 1);
}

void str_add_repeated(struct str *str, char c, size_t count)
{
	if (!str_reserve(str, count))
		return;
	memset(str->ptr + str->len, c, count);
	str->len += count;
	str->ptr[str->len] = '\0';
}

void str_printf(struct str *str, const char *fmt, ...)
{
	va_list args, again;
	int len;

	va_start(args, fmt);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, fmt, args);
	if (len < 0)
		str->failed = true;
	else if (str_reserve(str, (size_t)len)) {
		vsnprintf(str->ptr + str->len, (size_t)len + 1, fmt, again);
		str->len += (size_t)len;
	}
	va_end(again);
	va_end(args);
}

char *str_format(char *buf, size_t bytes, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (vsnprintf(buf, bytes, fmt, args) < 0)
		buf[0] = '\0';
	va_end(args);
	return buf;
}

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

static void str_add_fixed(struct str *str, unsigned __int128 scaled, unsigned decimals)
{
	uint64_t scale = power_of_ten(decimals);
	uint64_t rest = (uint64_t)(scaled % scale);

	str_add_u64(str, (uint64_t)(scaled / scale));
	if (decimals == 0)
		return;
	str_add_char(str, '.');
	for (scale /= 10; scale > 0; scale /= 10)
		str_add_char(str, (char)('0' + rest / scale % 10));
}

void str_add_ratio(struct str *str, uint64_t value, uint64_t divisor, unsigned decimals)
{
	unsigned __int128 scaled = (unsigned __int128)value * power_of_ten(decimals);

	if (divisor == 0)
		str_add_char(str, '0');
	else
		str_add_fixed(str, (scaled + divisor / 2) / divisor, decimals);
}

void str_add_double(struct str *str, double value, unsigned decimals)
{
	double scaled = fabs(value) * (double)power_of_ten(decimals) + 0.5;

	if (!isfinite(value)) {
		str_add_char(str, '0');
		return;
	}
	if (value < 0 && scaled >= 1)
		str_add_char(str, '-');
	/* 2^120 of anything shown to a person is "a lot": saturate. */
	str_add_fixed(str,
		      scaled < 0x1p120 ? (unsigned __int128)scaled : (unsigned __int128)1 << 120,
		      decimals);
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

size_t str_utf8_bytes(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t bytes = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < bytes; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0; /* overlong, surrogate, beyond Unicode */
	return bytes;
}

size_t str_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}

/* C0 and DEL; C1 controls are two bytes: 0xc2 0x80-0x9f. */
static bool is_control(const char *text, size_t bytes)
{
	unsigned char c = (unsigned char)text[0];

	return (bytes == 1 && (c < 0x20 || c == 0x7f)) ||
	       (bytes == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0);
}

void str_add_terminal(struct str *str, const char *text)
{
	while (*text) {
		size_t bytes = str_utf8_bytes(text);

		if (bytes == 0 || is_control(text, bytes))
			str_add_char(str, '?');
		else
			str_add_bytes(str, text, bytes);
		text += bytes ? bytes : 1;
	}
}

static const char REPLACEMENT[] = "\xef\xbf\xbd"; /* U+FFFD */

static void str_add_json_one(struct str *str, const char *text, size_t bytes)
{
	unsigned char c = (unsigned char)text[0];

	if (bytes == 0)
		str_add(str, REPLACEMENT);
	else if (c == '"' || c == '\\')
		str_printf(str, "\\%c", c);
	else if (c == '\n' || c == '\t')
		str_add(str, c == '\n' ? "\\n" : "\\t");
	else if (c < 0x20 || c == 0x7f)
		str_printf(str, "\\u%04x", c);
	else
		str_add_bytes(str, text, bytes);
}

void str_add_json(struct str *str, const char *text)
{
	str_add_char(str, '"');
	while (*text) {
		size_t plain = 0;
		size_t bytes;

		while ((unsigned char)(text[plain] - 0x20) < 0x5f && text[plain] != '"' &&
		       text[plain] != '\\')
			plain++;
		str_add_bytes(str, text, plain);
		text += plain;
		if (!*text)
			break;
		bytes = str_utf8_bytes(text);
		str_add_json_one(str, text, bytes);
		text += bytes ? bytes : 1;
	}
	str_add_char(str, '"');
}

void str_add_csv(struct str *str, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		str_add(str, text);
		return;
	}
	str_add_char(str, '"');
	for (; *text; text++) {
		if (*text == '"')
			str_add_char(str, '"');
		str_add_char(str, *text);
	}
	str_add_char(str, '"');
}

void str_add_xml(struct str *str, const char *text)
{
	while (*text) {
		size_t bytes = str_utf8_bytes(text);

		if (bytes == 0 || is_control(text, bytes))
			str_add(str, REPLACEMENT);
		else if (*text == '&')
			str_add(str, "&amp;");
		else if (*text == '<')
			str_add(str, "&lt;");
		else if (*text == '>')
			str_add(str, "&gt;");
		else if (*text == '"')
			str_add(str, "&quot;");
		else if (*text == '\'')
			str_add(str, "&#39;");
		else
			str_add_bytes(str, text, bytes);
		text += bytes ? bytes : 1;
	}
}

/* Into a caller's buffer: the str lives on the stack for the moment. */
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

/* Digits at *text, moved past them; false on none or overflow. */
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
	uint64_t whole, fraction = 0, divisor = 1;
	unsigned __int128 sum;
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
		sum = (unsigned __int128)whole * units[i].scale +
		      (unsigned __int128)fraction * units[i].scale / divisor;
		if (sum > UINT64_MAX)
			return false;
		*value_ret = (uint64_t)sum;
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
