#include "rec/text.h"

#include "core/poison.h"

enum { DIGITS = 20 }; /* of the largest number */

void rec_text_add_bytes(struct rec_text *text, const char *string, size_t len)
{
	const size_t left = text->room - text->len - 1;

	CHECK(text->len < text->room);
	if (len > left) {
		text->full = true;
		len = left;
	}
	memcpy(text->ptr + text->len, string, len);
	text->len += len;
	text->ptr[text->len] = '\0';
}

void rec_text_add(struct rec_text *text, const char *string)
{
	rec_text_add_bytes(text, string, strlen(string));
}

void rec_text_add_repeated(struct rec_text *text, char c, size_t count)
{
	for (size_t i = 0; i < count; i++)
		rec_text_add_bytes(text, &c, 1);
}

static void add_digits(struct rec_text *text, uint64_t value, unsigned base, size_t width)
{
	char digits[DIGITS];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	if (sizeof(digits) - at < width)
		rec_text_add_repeated(text, ' ', width - (sizeof(digits) - at));
	rec_text_add_bytes(text, digits + at, sizeof(digits) - at);
}

void rec_text_add_number(struct rec_text *text, uint64_t value, size_t width)
{
	add_digits(text, value, 10, width);
}

void rec_text_add_hex(struct rec_text *text, uint64_t value)
{
	rec_text_add(text, "0x");
	add_digits(text, value, 16, 0);
}
