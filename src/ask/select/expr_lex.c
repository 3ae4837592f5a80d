#include "select/expr_lex.h"

#include <assert.h>
#include <strings.h>

#include "select/expr.h"

/* Independent of the locale. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* A dot is part of a word or number only if more follows: 1.5MiB, libc.so.6, but not 1..2. */
static size_t word_len(const char *text, bool is_number)
{
	size_t len = 1;

	while (is_letter(text[len]) || is_digit(text[len]) || (is_number && text[len] == '%') ||
	       (text[len] == '.' && (is_digit(text[len + 1]) || is_letter(text[len + 1]))))
		len++;
	return len;
}

/* Length including the quotes; 0: not closed. A backslash escapes the next byte. */
static size_t quoted_len(const char *text)
{
	size_t len = 1;

	while (text[len] && text[len] != text[0])
		len += text[len] == '\\' && text[len + 1] ? 2 : 1;
	return text[len] ? len + 1 : 0;
}

static const struct {
	char text[3];
	enum token_kind kind;
} signs[] = {
	/* Longer ones first. */
	{ "==", TOKEN_EQ },   { "!=", TOKEN_NE },    { "<=", TOKEN_LE },
	{ ">=", TOKEN_GE },   { "=~", TOKEN_MATCH }, { "!~", TOKEN_NOT_MATCH },
	{ "&&", TOKEN_AND },  { "||", TOKEN_OR },    { "..", TOKEN_DOTS },
	{ "(", TOKEN_OPEN },  { ")", TOKEN_CLOSE },  { ",", TOKEN_COMMA },
	{ "=", TOKEN_EQ },    { "<", TOKEN_LT },     { ">", TOKEN_GT },
	{ "~", TOKEN_MATCH }, { "!", TOKEN_NOT },
};

static bool sign_read(const char *text, struct token *token)
{
	for (size_t i = 0; i < array_size(signs); i++) {
		const size_t len = strlen(signs[i].text);

		if (strncmp(text, signs[i].text, len) == 0) {
			token->kind = signs[i].kind;
			token->len = len;
			return true;
		}
	}
	return false;
}

struct err *token_read(const char *text, size_t from, struct token *token_ret)
{
	struct token token = { .kind = TOKEN_END };
	char first;

	while (is_space(text[from]))
		from++;
	token.at = from;
	first = text[from];
	if (first == '"' || first == '\'') {
		token.kind = TOKEN_TEXT;
		token.len = quoted_len(text + from);
		if (token.len == 0)
			return expr_error(text, from, "unclosed quote");
	} else if (is_digit(first)) {
		token.kind = TOKEN_NUMBER;
		token.len = word_len(text + from, true);
	} else if (is_letter(first)) {
		token.kind = TOKEN_WORD;
		token.len = word_len(text + from, false);
	} else if (first && !sign_read(text + from, &token)) {
		return expr_error(text, from, "unexpected character; put text in quotes");
	}
	*token_ret = token;
	return NULL;
}

char *token_text(const char *text, const struct token *token, struct arena *arena)
{
	const char quote = text[token->at];
	const char *from = text + token->at + 1;
	const char *end = text + token->at + token->len - 1;
	char *copy, *to;

	assert(token->len >= 1);
	if (token->kind != TOKEN_TEXT)
		return arena_text(arena, text + token->at, token->len);
	copy = to = arena_text(arena, from, (size_t)(end - from));
	if (!copy)
		return NULL;
	while (from < end) {
		if (*from == '\\' && from[1] == quote)
			from++;
		else if (*from == '\\' && from + 1 < end)
			*to++ = *from++; /* \\ stays two bytes */
		*to++ = *from++;
	}
	*to = '\0';
	return copy;
}

bool token_is(const char *text, const struct token *token, const char *word)
{
	assert(*word);
	return token->kind == TOKEN_WORD && strlen(word) == token->len &&
	       strncasecmp(text + token->at, word, token->len) == 0;
}
