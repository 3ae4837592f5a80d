/*
 * expr_parse: the parser's state, shared by the grammar (expr.c) and its tests and values
 * (expr_test.c). Internal to select.
 */
#ifndef MEMTAPE_SELECT_EXPR_PARSE_H
#define MEMTAPE_SELECT_EXPR_PARSE_H

#include "base/vec.h"
#include "select/expr.h"
#include "select/expr_lex.h"

/* What may follow at the cursor. */
enum expr_wanted {
	EXPR_WANTED_TEST,
	EXPR_WANTED_OPERATOR,	/* of the field */
	EXPR_WANTED_VALUE,	/* of the field */
	EXPR_WANTED_CONNECTIVE, /* and, or */
};

struct parser {
	const char *text;
	struct arena *arena;
	struct token token; /* not yet consumed */
	size_t node_count;
	unsigned depth;
	bool takes_fields; /* a value may be another field */
	/* For completion: called with what is expected if the token touches the end of the text. */
	void (*want)(void *context, enum expr_wanted wanted, const struct field *field,
		     const struct token *token);
	void *context;
};

struct err *parser_next(struct parser *parser); /* consumes the token */
bool parser_is(const struct parser *parser, const char *word);
void parser_want(const struct parser *parser, enum expr_wanted wanted, const struct field *field);

/* ERR_USAGE at the token: "expected ..., not ...". */
struct err *parser_unexpected(const struct parser *parser, const char *wanted);

/* A node at the token; counts it. */
struct err *parser_node(struct parser *parser, enum expr_kind kind, struct expr **expr_ret);

/* A test: any term other than and, or, not or parentheses. */
struct err *parser_test(struct parser *parser, const struct expr **expr_ret);

/* `from M` and similar tests; *expr_ret is NULL if the token is none of these words. */
struct err *parser_moment_test(struct parser *parser, const struct expr **expr_ret);

/* VALUE, VALUE..VALUE, VALUE.. or ..VALUE */
struct err *parser_item(struct parser *parser, const struct field *field, struct expr_item *item);
struct err *parser_one_item(struct parser *parser, struct expr *expr, struct expr_item item);

/* A value of the field at the token. */
struct err *parser_value(struct parser *parser, const struct field *field,
			 struct expr_value *value_ret);

#endif
