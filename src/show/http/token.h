/*
 * token: the secret that a process makes for itself and that every question has to bring along.
 */
#ifndef MEMTAPE_HTTP_TOKEN_H
#define MEMTAPE_HTTP_TOKEN_H

#include "base/err.h"

enum { TOKEN_BYTES = 16, TOKEN_TEXT_BYTES = 2 * TOKEN_BYTES + 1 };

struct token {
	char text[TOKEN_TEXT_BYTES]; /* lower-case hexadecimal digits; "": none is wanted */
};

/* 128 bits of the kernel's randomness. */
struct err *token_make(struct token *token);

/* In a time that does not depend on where they differ. text need not be terminated. */
bool token_equals(const struct token *token, const char *text, size_t len);

#endif
