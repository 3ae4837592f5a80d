/*
 * expr_lex: the tokenizer of filter expressions. Internal to select.
 */
#ifndef MEMTAPE_SELECT_EXPR_LEX_H
#define MEMTAPE_SELECT_EXPR_LEX_H

#include "base/arena.h"
#include "base/err.h"

enum token_kind {
	TOKEN_END,
	TOKEN_WORD,   /* letters, digits, _, and . between them */
	TOKEN_NUMBER, /* a digit, then digits, letters, %, and . between them */
	TOKEN_TEXT,   /* in quotes; may be unterminated if the lexer allows it */
	TOKEN_OPEN,   /* ( */
	TOKEN_CLOSE,
	TOKEN_COMMA,
	TOKEN_DOTS, /* .. */
	TOKEN_EQ,
	TOKEN_NE,
	TOKEN_LT,
	TOKEN_LE,
	TOKEN_GT,
	TOKEN_GE,
	TOKEN_MATCH,
	TOKEN_NOT_MATCH,
	TOKEN_AND, /* && */
	TOKEN_OR,
	TOKEN_NOT /* ! */
};

struct token {
	enum token_kind kind;
	size_t at; /* start offset in the text */
	size_t len;
};

/* The token at or after byte `from` of the text. */
struct err *token_read(const char *text, size_t from, struct token *token_ret);

/* The text in the quotes, with \" unescaped to ". NULL: out of memory. */
char *token_text(const char *text, const struct token *token, struct arena *arena);

/* Whether the token is this word, ignoring case. */
bool token_is(const char *text, const struct token *token, const char *word);

#endif
