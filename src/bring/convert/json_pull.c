#include "convert/json_pull.h"

#include <assert.h>

#include "convert/scan.h"

enum { SHOWN_BYTES = 4096, TEXT_MAX = 1 << 20 };

void json_settle(struct json_pull *json)
{
	assert(json->begin <= json->at && json->at <= json->end);
	if (json->at > json->begin)
		source_skip(json->source, (size_t)(json->at - json->begin));
	json->begin = json->at;
}

static bool fail(struct json_pull *json, const char *why)
{
	json_settle(json);
	if (!json->why)
		json->why = why;
	return false;
}

/* Peeks at the next byte; -1: end. */
static int byte_peek(struct json_pull *json)
{
	size_t count;

	if (json->why)
		return -1;
	if (json->at == json->end) {
		json_settle(json);
		source_peek(json->source, SHOWN_BYTES, &json->begin, &count);
		json->at = json->begin;
		json->end = json->begin + count;
		if (count == 0)
			return -1;
	}
	return (uint8_t)*json->at;
}

/* Peeks at the next byte that is not white space; -1: end. */
static int mark_peek(struct json_pull *json)
{
	int byte = byte_peek(json);

	while (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r') {
		json->at++;
		byte = byte_peek(json);
	}
	return byte;
}

bool json_enter(struct json_pull *json, char open)
{
	assert(open == '{' || open == '[');
	if (mark_peek(json) != open)
		return fail(json, open == '{' ? "expected an object" : "expected an array");
	json->at++;
	json->is_first = true;
	return true;
}

/* Skips a comma, or the closing bracket. */
static bool goes_on(struct json_pull *json, char close)
{
	const int mark = mark_peek(json);

	if (mark == close) {
		json->at++;
		json->is_first = false;
		return false;
	}
	if (json->is_first || json->why) {
		json->is_first = false;
		return !json->why && (mark >= 0 || fail(json, "the file ends in the middle"));
	}
	if (mark != ',')
		return fail(json, mark < 0 ? "the file ends in the middle"
					   : "expected a comma or the end");
	json->at++;
	return true;
}

bool json_element(struct json_pull *json)
{
	return goes_on(json, ']');
}

bool json_key(struct json_pull *json, struct str *key_ret)
{
	if (!goes_on(json, '}') || !json_string(json, key_ret))
		return false;
	if (mark_peek(json) != ':')
		return fail(json, "expected a colon");
	json->at++;
	return true;
}

static void utf8_add(struct str *out, uint32_t code)
{
	if (code < 0x80) {
		str_add_char(out, (char)code);
	} else if (code < 0x800) {
		str_add_char(out, (char)(0xc0 | code >> 6));
		str_add_char(out, (char)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		str_add_char(out, (char)(0xe0 | code >> 12));
		str_add_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
		str_add_char(out, (char)(0x80 | (code & 0x3f)));
	} else {
		str_add_char(out, (char)(0xf0 | code >> 18));
		str_add_char(out, (char)(0x80 | (code >> 12 & 0x3f)));
		str_add_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
		str_add_char(out, (char)(0x80 | (code & 0x3f)));
	}
}

static bool unit_read(struct json_pull *json, uint32_t *unit_ret)
{
	*unit_ret = 0;
	for (int i = 0; i < 4; i++) {
		const int byte = byte_peek(json);
		const int digit = byte < 0 ? -1 : scan_hex_digit((char)byte);

		if (digit < 0)
			return fail(json, "expected four hexadecimal digits");
		*unit_ret = *unit_ret << 4 | (uint32_t)digit;
		json->at++;
	}
	return true;
}

/* The digits after "\\u"; both halves of a surrogate pair. */
static bool code_read(struct json_pull *json, uint32_t *code_ret)
{
	const uint32_t high = 0xd800, low = 0xdc00, end = 0xe000, none = 0xfffd;
	uint32_t second;

	if (!unit_read(json, code_ret))
		return false;
	if (*code_ret < high || *code_ret >= end)
		return true;
	if (*code_ret >= low || byte_peek(json) != '\\') {
		*code_ret = none;
		return true;
	}
	json->at++;
	if (byte_peek(json) != 'u')
		return fail(json, "expected the second half of a surrogate pair");
	json->at++;
	if (!unit_read(json, &second))
		return false;
	*code_ret = second >= low && second < end
			    ? 0x10000 + ((*code_ret - high) << 10) + (second - low)
			    : none;
	return true;
}

static bool escape_read(struct json_pull *json, struct str *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const int byte = byte_peek(json);
	const char *place = byte > 0 ? strchr(from, byte) : NULL;
	uint32_t code = 0;

	if (!place && byte != 'u')
		return fail(json, "unknown escape sequence");
	json->at++;
	if (place) {
		str_add_char(out, to[place - from]);
		return true;
	}
	if (!code_read(json, &code))
		return false;
	utf8_add(out, code ? code : 0xfffd);
	return true;
}

bool json_string(struct json_pull *json, struct str *out)
{
	str_clear(out);
	if (mark_peek(json) != '"')
		return fail(json, "expected a string");
	json->at++;
	for (int byte; (byte = byte_peek(json)) != '"';) {
		if (byte < 0)
			return fail(json, "the file ends in the middle of a string");
		if (out->len >= TEXT_MAX)
			return fail(json, "a string is too long");
		json->at++;
		if (byte != '\\')
			str_add_char(out, (char)byte);
		else if (!escape_read(json, out))
			return false;
	}
	json->at++;
	return !out->failed || fail(json, "out of memory");
}

bool json_number(struct json_pull *json, uint64_t *value_ret)
{
	int byte = mark_peek(json);
	uint64_t value = 0;

	if (byte < '0' || byte > '9')
		return fail(json, "expected an integer");
	for (; byte >= '0' && byte <= '9'; byte = byte_peek(json)) {
		value = value * 10 + (uint64_t)(byte - '0');
		if (value >= SCAN_NUMBER_END)
			return fail(json, "a number is too large");
		json->at++;
	}
	*value_ret = value;
	return true;
}

static bool word_take(struct json_pull *json, const char *word)
{
	for (; *word; word++) {
		if (byte_peek(json) != *word)
			return fail(json, "expected true or false");
		json->at++;
	}
	return true;
}

bool json_bool(struct json_pull *json, bool *value_ret)
{
	*value_ret = mark_peek(json) == 't';
	return word_take(json, *value_ret ? "true" : "false");
}

bool json_skip(struct json_pull *json)
{
	CLEAN(str_deinit) struct str text = { 0 };
	uint64_t depth = 0;

	for (;;) {
		const int mark = mark_peek(json);

		if (mark < 0)
			return fail(json, "the file ends in the middle");
		if (depth == 0 && (mark == ',' || mark == ']' || mark == '}'))
			return true; /* a number or word ended, or there was none */
		if (mark == '"') {
			if (!json_string(json, &text))
				return false;
		} else {
			depth += mark == '{' || mark == '[';
			depth -= mark == '}' || mark == ']';
			json->at++;
		}
	}
}
