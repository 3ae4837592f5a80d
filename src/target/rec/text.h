/* text: a line composed in memory that the caller owns, without stdio. Async-signal-safe. */
#ifndef MEMTAPE_REC_TEXT_H
#define MEMTAPE_REC_TEXT_H

#include "core/core.h"

/* Always ends in NUL once something was added; what does not fit is left out. */
struct rec_text {
	char *ptr;
	size_t len;
	size_t room; /* bytes at ptr, the final NUL included; at least 1 */
	bool full;   /* something was left out */
};

void rec_text_add_bytes(struct rec_text *text, const char *string, size_t len);
void rec_text_add(struct rec_text *text, const char *string);
void rec_text_add_repeated(struct rec_text *text, char c, size_t count);

/* In decimal; at least `width` characters, right-aligned. */
void rec_text_add_number(struct rec_text *text, uint64_t value, size_t width);

void rec_text_add_hex(struct rec_text *text, uint64_t value);

#endif
