#include "base/str.h"

#include <assert.h>
#include <stdarg.h>

enum { FIRST_BYTES = 64 };

const char *str_text(const struct str *str)
{
	return str->ptr ? str->ptr : "";
}

void str_clear(struct str *str)
{
	assert(str->ptr || str->len == 0);
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
	assert(text || len == 0);
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

	assert(bytes > 0);
	va_start(args, fmt);
	if (vsnprintf(buf, bytes, fmt, args) < 0)
		buf[0] = '\0';
	va_end(args);
	return buf;
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

static bool is_utf8(const char *text)
{
	while (*text) {
		const size_t bytes = (unsigned char)*text < 0x80 ? 1 : str_utf8_bytes(text);

		if (bytes == 0)
			return false;
		text += bytes;
	}
	return true;
}

void str_add_utf8(struct str *str, const char *text)
{
	while (*text) {
		const size_t bytes = str_utf8_bytes(text);

		if (bytes == 0)
			str_add(str, REPLACEMENT);
		else
			str_add_bytes(str, text, bytes);
		text += bytes ? bytes : 1;
	}
}

const char *str_utf8(const char *text, struct str *room)
{
	assert(room->len == 0);
	if (is_utf8(text))
		return text;
	str_add_utf8(room, text);
	return str_text(room);
}

void str_add_csv(struct str *str, const char *text)
{
	CLEAN(str_deinit) struct str whole = { 0 };

	text = str_utf8(text, &whole);
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

void str_add_shell(struct str *str, const char *word)
{
	static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_./-+:=@%,";

	if (*word && word[strspn(word, harmless)] == '\0') {
		str_add(str, word);
		return;
	}
	str_add_char(str, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			str_add(str, "'\\''");
		else
			str_add_char(str, *word);
	}
	str_add_char(str, '\'');
}
