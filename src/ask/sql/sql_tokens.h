/*
 * sql_tokens: a statement as words, numbers, texts and signs, for sql_rewrite.c. Internal to sql.
 */
#ifndef MEMTAPE_SQL_SQL_TOKENS_H
#define MEMTAPE_SQL_SQL_TOKENS_H

#include "base/str.h"

enum { SQL_TOKENS_MAX = 400 };

enum sql_token_kind {
	TOKEN_KEYWORD, /* of a clause or an operator */
	TOKEN_COLUMN,  /* the name of a column of allocations */
	TOKEN_WORD,    /* any other name, also a function's */
	TOKEN_NUMBER,
	TOKEN_STRING,
	TOKEN_SIGN, /* one character */
};

struct sql_token {
	enum sql_token_kind kind;
	const char *text; /* without quotes if it is a name */
	size_t len;
	const char *begin, *end; /* in the statement */
	bool is_quoted;
	/* TOKEN_COLUMN: */
	const char *column; /* its name */
	unsigned number;    /* as in the table of sums */
	bool is_text;	    /* it has texts */
	bool is_sorted;	    /* rows are in its order */
};

struct sql_tokens {
	struct sql_token items[SQL_TOKENS_MAX];
	size_t count;
};

struct sql_span { /* of tokens */
	size_t begin, end;
};

/* False: too many, or something else than tokens. The text must outlive them. */
bool sql_tokens_read(struct sql_tokens *tokens, const char *text, size_t len);

/* Whether its text is this word, or one of them (NULL at the end), ignoring case. */
bool sql_token_is(const struct sql_token *token, const char *word);
bool sql_token_is_one_of(const struct sql_token *token, const char *const *words);

/* A function whose result depends on its arguments alone, and not over rows. */
bool sql_token_is_function(const struct sql_token *token);

/* Whether they mean the same. */
bool sql_token_equals(const struct sql_token *a, const struct sql_token *b);

/* False also if there is no such token. */
bool sql_tokens_has_sign(const struct sql_tokens *tokens, size_t at, char sign);
bool sql_tokens_has_keyword(const struct sql_tokens *tokens, size_t at, const char *word);

/*
 * The first of these keywords from `at` on, or the sign, or the parenthesis that closes what is
 * around `at`; not within parentheses that are opened there. Or the end.
 */
size_t sql_tokens_find(const struct sql_tokens *tokens, size_t at, const char *const *words,
		       char sign);

/* The parenthesis that closes the one at `at`; or the end. */
size_t sql_tokens_find_close(const struct sql_tokens *tokens, size_t at);

/* Whether an expression can end with this token, so that a name behind it is a new name. */
bool sql_tokens_ends_operand(const struct sql_tokens *tokens, size_t at);

/* Whether it is the type in CAST(... AS type). */
bool sql_tokens_is_type(const struct sql_tokens *tokens, size_t at);

#endif
