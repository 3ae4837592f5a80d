#include "sql/sql_tokens.h"

#include <ctype.h>
#include <strings.h>

#include "select/fields.h"
#include "sql/sql_sums.h"

static bool is_word_start(char c)
{
	return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_word(char c)
{
	return is_word_start(c) || isdigit((unsigned char)c);
}

bool sql_token_is(const struct sql_token *token, const char *word)
{
	return strlen(word) == token->len && strncasecmp(token->text, word, token->len) == 0;
}

bool sql_token_is_one_of(const struct sql_token *token, const char *const *words)
{
	while (*words && !sql_token_is(token, *words))
		words++;
	return *words;
}

/* Words of clauses and operators; others make a statement that is not ours. */
static const char *const keywords[] = {
	"SELECT", "DISTINCT", "FROM",  "WHERE", "GROUP", "BY",	  "HAVING", "ORDER",   "LIMIT",
	"OFFSET", "AS",	      "AND",   "OR",	"NOT",	 "IN",	  "IS",	    "NULL",    "BETWEEN",
	"CASE",	  "WHEN",     "THEN",  "ELSE",	"END",	 "LIKE",  "GLOB",   "CAST",    "ASC",
	"DESC",	  "NULLS",    "FIRST", "LAST",	"TRUE",	 "FALSE", "ISNULL", "NOTNULL", NULL,
};

/* Of one value, and the same for the same value. */
static const char *const functions[] = {
	"abs",	 "coalesce", "ifnull", "iif",	"nullif", "round",  "length",
	"lower", "upper",    "substr", "instr", "printf", "format", "typeof",
	"hex",	 "replace",  "trim",   "ltrim", "rtrim",  "sign",   NULL,
};

bool sql_token_is_function(const struct sql_token *token)
{
	for (const struct sql_scalar *at = sql_scalars; at->name; at++) {
		if (sql_token_is(token, at->name))
			return true;
	}
	return sql_token_is_one_of(token, functions);
}

/* The column of this name, if any. */
static void find_column(const struct field *const *fields, size_t count, struct sql_token *token)
{
	for (size_t i = 0; i < sql_sums_table.column_count; i++) {
		const struct sql_column *column = &sql_sums_table.columns[i];

		if (!sql_token_is(token, column->name))
			continue;
		token->kind = TOKEN_COLUMN;
		token->column = column->name;
		token->number = (unsigned)i;
		token->is_text = column->flags & SQL_TEXTUAL;
		token->is_sorted = column->flags & (SQL_KEY | SQL_SORTED);
	}
	for (size_t i = 0; i < count; i++) {
		const struct field *field = fields[i];

		if (!sql_token_is(token, field->name))
			continue;
		token->kind = TOKEN_COLUMN;
		token->column = field->name;
		token->number = (unsigned)(sql_sums_table.column_count + i);
		token->is_text = field->type == FIELD_TEXT;
	}
}

static const char *skip_blank(const char *at, const char *end)
{
	for (;;) {
		while (at < end && *at && strchr(" \t\n\f\r", *at))
			at++;
		if (end - at < 2)
			return at;
		if (at[0] == '-' && at[1] == '-') {
			while (at < end && *at != '\n')
				at++;
		} else if (at[0] == '/' && at[1] == '*') {
			for (at += 2; end - at >= 2 && !(at[0] == '*' && at[1] == '/');)
				at++;
			at = end - at >= 2 ? at + 2 : end;
		} else {
			return at;
		}
	}
}

/* The end of a text in quotes; NULL: it has quotes in it, or no end. */
static const char *after_quotes(const char *at, const char *end)
{
	const char *close = memchr(at + 1, *at, (size_t)(end - at - 1));

	return !close || (end - close > 1 && close[1] == *at) ? NULL : close + 1;
}

static const char *after_word(const char *at, const char *end)
{
	while (at < end && is_word(*at))
		at++;
	return at;
}

static const char *after_number(const char *at, const char *end)
{
	while (at < end && (is_word(*at) || *at == '.' ||
			    ((*at == '+' || *at == '-') && (at[-1] == 'e' || at[-1] == 'E'))))
		at++;
	return at;
}

/* The end of the token that begins at `at`; NULL: not one that is known. */
static const char *read_token(const struct field *const *fields, size_t count, const char *at,
			      const char *end, struct sql_token *token)
{
	const char *stop = at + 1;

	*token = (struct sql_token) { .kind = TOKEN_SIGN, .text = at, .begin = at };
	if (is_word_start(*at)) {
		stop = after_word(at, end);
	} else if (isdigit((unsigned char)*at)) {
		token->kind = TOKEN_NUMBER;
		stop = after_number(at, end);
	} else if (*at == '\'' || *at == '"') {
		stop = after_quotes(at, end);
	} else if (!strchr("()+-*/%<>=!|&~,;.", *at)) {
		return NULL;
	}
	if (!stop)
		return NULL;
	token->end = stop;
	token->is_quoted = *at == '"';
	token->text += token->is_quoted;
	token->len = (size_t)(stop - at) - 2 * token->is_quoted;
	if (*at == '\'')
		token->kind = TOKEN_STRING;
	if (is_word_start(*at) || *at == '"') {
		token->kind = !token->is_quoted && sql_token_is_one_of(token, keywords)
				      ? TOKEN_KEYWORD
				      : TOKEN_WORD;
		find_column(fields, count, token);
	}
	return stop;
}

bool sql_tokens_read(struct sql_tokens *tokens, const char *text, size_t len)
{
	const char *const end = text + len;
	const char *at = skip_blank(text, end);
	const struct field *fields[64];
	const size_t count = sql_fields_list(&sql_sums_table, fields, array_size(fields));

	while (at < end) {
		if (tokens->count == SQL_TOKENS_MAX)
			return false;
		at = read_token(fields, count, at, end, &tokens->items[tokens->count++]);
		if (!at)
			return false;
		at = skip_blank(at, end);
	}
	return true;
}

/* --- looking ------------------------------------------------------------------------------- */

bool sql_tokens_has_sign(const struct sql_tokens *tokens, size_t at, char sign)
{
	const struct sql_token *token = &tokens->items[at];

	return at < tokens->count && token->kind == TOKEN_SIGN && *token->text == sign;
}

bool sql_tokens_has_keyword(const struct sql_tokens *tokens, size_t at, const char *word)
{
	const struct sql_token *token = &tokens->items[at];

	return at < tokens->count && token->kind == TOKEN_KEYWORD && sql_token_is(token, word);
}

/* The token before the first of these that is outside of parentheses; or the end. */
size_t sql_tokens_find(const struct sql_tokens *tokens, size_t at, const char *const *words,
		       char sign)
{
	unsigned depth = 0;

	for (; at < tokens->count; at++) {
		const struct sql_token *token = &tokens->items[at];

		if (depth == 0 && token->kind == TOKEN_KEYWORD && sql_token_is_one_of(token, words))
			return at;
		if (depth == 0 &&
		    (sql_tokens_has_sign(tokens, at, sign) || sql_tokens_has_sign(tokens, at, ')')))
			return at;
		depth += sql_tokens_has_sign(tokens, at, '(');
		depth -= sql_tokens_has_sign(tokens, at, ')');
	}
	return at;
}

/* The token of the parenthesis that closes the one at `at`; or the end. */
size_t sql_tokens_find_close(const struct sql_tokens *tokens, size_t at)
{
	static const char *const none[] = { NULL };

	return sql_tokens_find(tokens, at + 1, none, ')');
}

/* Whether an expression can end here, so that a name that follows is a new one. */
bool sql_tokens_ends_operand(const struct sql_tokens *tokens, size_t at)
{
	return tokens->items[at].kind == TOKEN_KEYWORD
		       ? sql_tokens_has_keyword(tokens, at, "END") ||
				 sql_tokens_has_keyword(tokens, at, "NULL") ||
				 sql_tokens_has_keyword(tokens, at, "TRUE") ||
				 sql_tokens_has_keyword(tokens, at, "FALSE") ||
				 sql_tokens_has_keyword(tokens, at, "ISNULL") ||
				 sql_tokens_has_keyword(tokens, at, "NOTNULL")
		       : tokens->items[at].kind != TOKEN_SIGN ||
				 sql_tokens_has_sign(tokens, at, ')');
}

bool sql_token_equals(const struct sql_token *a, const struct sql_token *b)
{
	return a->kind == b->kind && a->len == b->len &&
	       (a->kind == TOKEN_STRING ? memcmp(a->text, b->text, a->len)
					: strncasecmp(a->text, b->text, a->len)) == 0;
}

bool sql_tokens_is_type(const struct sql_tokens *tokens, size_t at)
{
	static const char *const types[] = { "INTEGER", "INT", "REAL", "TEXT", NULL };

	return at > 0 && sql_tokens_has_keyword(tokens, at - 1, "AS") &&
	       sql_token_is_one_of(&tokens->items[at], types);
}
