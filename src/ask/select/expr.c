#include "select/expr.h"

#include <assert.h>
#include <stdarg.h>
#include <strings.h>

#include "base/str.h"
#include "select/expr_parse.h"

/* --- errors -------------------------------------------------------------------------------- */

enum { SHOWN_BEFORE = 50, SHOWN_AFTER = 26 };

static size_t char_bytes(const char *text)
{
	return u64_max(str_utf8_bytes(text), 1);
}

/* The text around `at` on a line, and a caret under it on the next. */
static void add_place(struct str *out, const char *text, size_t at)
{
	const size_t begin = at > SHOWN_BEFORE ? at - SHOWN_BEFORE : 0;
	size_t columns = 0;

	str_add(out, begin ? "\n  ..." : "\n  ");
	for (size_t i = 0; text[i] && i < at + SHOWN_AFTER; i += char_bytes(text + i)) {
		if (i < begin)
			continue;
		columns += i < at;
		if ((unsigned char)text[i] < ' ')
			str_add_char(out, ' ');
		else
			str_add_bytes(out, text + i, char_bytes(text + i));
	}
	str_add(out, begin ? "\n     " : "\n  ");
	str_add_repeated(out, ' ', columns);
	str_add_char(out, '^');
}

struct err *expr_error(const char *text, size_t at, const char *fmt, ...)
{
	CLEAN(str_deinit) struct str message = { 0 };
	char what[256];
	va_list args;

	assert(at <= strlen(text));
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	str_printf(&message, "filter: %s", what);
	add_place(&message, text, at);
	if (message.failed)
		return err_nomem();
	return err_at(err_new(ERR_USAGE, "%s", str_text(&message)), at, NULL);
}

struct err *parser_unexpected(const struct parser *parser, const char *wanted)
{
	const struct token *token = &parser->token;

	assert(token->at + token->len <= strlen(parser->text));
	if (token->kind == TOKEN_END)
		return expr_error(parser->text, token->at, "unexpected end; expected %s", wanted);
	return expr_error(parser->text, token->at, "unexpected '%.*s'; expected %s",
			  (int)u64_min(token->len, 60), parser->text + token->at, wanted);
}

/* --- tokens -------------------------------------------------------------------------------- */

struct err *parser_next(struct parser *parser)
{
	return token_read(parser->text, parser->token.at + parser->token.len, &parser->token);
}

bool parser_is(const struct parser *parser, const char *word)
{
	return token_is(parser->text, &parser->token, word);
}

void parser_want(const struct parser *parser, enum expr_wanted wanted, const struct field *field)
{
	const struct token *token = &parser->token;

	if (parser->want && (token->kind == TOKEN_END ||
			     (token->kind != TOKEN_TEXT && !parser->text[token->at + token->len])))
		parser->want(parser->context, wanted, field, token);
}

struct err *parser_node(struct parser *parser, enum expr_kind kind, struct expr **expr_ret)
{
	struct expr *expr = arena_new(parser->arena, struct expr);

	assert(kind <= EXPR_ALIVE);
	if (!expr)
		return err_nomem();
	if (parser->node_count++ == EXPR_NODES_MAX)
		return expr_error(parser->text, parser->token.at, "more than %u tests and values",
				  EXPR_NODES_MAX);
	expr->kind = kind;
	expr->at = parser->token.at;
	*expr_ret = expr;
	return NULL;
}

/* --- grammar ------------------------------------------------------------------------------- */

VEC_DEFINE(part_vec, const struct expr *);

static struct err *parse_or(struct parser *parser, const struct expr **expr_ret);

static struct err *enter(struct parser *parser)
{
	if (parser->depth++ < EXPR_DEPTH_MAX)
		return NULL;
	return expr_error(parser->text, parser->token.at,
			  "parentheses and `not` are nested more than %u deep", EXPR_DEPTH_MAX);
}

static struct err *parse_parentheses(struct parser *parser, const struct expr **expr_ret)
{
	const size_t at = parser->token.at;
	struct err *err = enter(parser);

	if (!err)
		err = parser_next(parser);
	if (!err)
		err = parse_or(parser, expr_ret);
	if (err)
		return err;
	parser->depth--;
	if (parser->token.kind == TOKEN_END) {
		parser_want(parser, EXPR_WANTED_CONNECTIVE, NULL);
		return expr_error(parser->text, at, "unclosed parenthesis");
	}
	if (parser->token.kind != TOKEN_CLOSE)
		return parser_unexpected(parser, "`and`, `or` or `)`");
	return parser_next(parser);
}

static struct err *parse_not(struct parser *parser, const struct expr **expr_ret)
{
	const struct expr **part = arena_array(parser->arena, 1, sizeof(*part));
	struct expr *expr = NULL;
	struct err *err;

	parser_want(parser, EXPR_WANTED_TEST, NULL);
	if (parser->token.kind == TOKEN_OPEN)
		return parse_parentheses(parser, expr_ret);
	if (!parser_is(parser, "not") && parser->token.kind != TOKEN_NOT)
		return parser_test(parser, expr_ret);
	if (!part)
		return err_nomem();
	err = parser_node(parser, EXPR_NOT, &expr);
	if (!err)
		err = enter(parser);
	if (!err)
		err = parser_next(parser);
	if (!err)
		err = parse_not(parser, &part[0]);
	if (err)
		return err;
	parser->depth--;
	expr->parts = part;
	expr->part_count = 1;
	*expr_ret = expr;
	return NULL;
}

/* Joins parts with one connective; a single part is returned as it is. */
static struct err *join(struct parser *parser, enum expr_kind kind, const struct part_vec *parts,
			const struct expr **expr_ret)
{
	const struct expr **copy;
	struct expr *expr = NULL;
	struct err *err;

	*expr_ret = parts->items[0];
	if (parts->count == 1)
		return NULL;
	copy = arena_array(parser->arena, parts->count, sizeof(*copy));
	if (!copy)
		return err_nomem();
	memcpy(copy, parts->items, parts->count * sizeof(*copy));
	err = parser_node(parser, kind, &expr);
	if (err)
		return err;
	expr->at = parts->items[0]->at;
	expr->parts = copy;
	expr->part_count = parts->count;
	*expr_ret = expr;
	return NULL;
}

static struct err *parse_list(struct parser *parser, enum expr_kind kind, const char *word,
			      enum token_kind sign,
			      struct err *(*parse_part)(struct parser *, const struct expr **),
			      const struct expr **expr_ret)
{
	CLEAN(part_vec_deinit) struct part_vec parts = { 0 };
	bool goes_on = true;

	while (goes_on) {
		const struct expr *part = NULL;
		struct err *err = parse_part(parser, &part);

		if (err)
			return err;
		if (!part_vec_push(&parts, part))
			return err_nomem();
		goes_on = parser_is(parser, word) || parser->token.kind == sign;
		if (goes_on)
			err = parser_next(parser);
		if (err)
			return err;
	}
	return join(parser, kind, &parts, expr_ret);
}

static struct err *parse_and(struct parser *parser, const struct expr **expr_ret)
{
	return parse_list(parser, EXPR_AND, "and", TOKEN_AND, parse_not, expr_ret);
}

static struct err *parse_or(struct parser *parser, const struct expr **expr_ret)
{
	return parse_list(parser, EXPR_OR, "or", TOKEN_OR, parse_and, expr_ret);
}

static struct err *parse_all(struct parser *parser, const struct expr **expr_ret)
{
	struct expr *expr = NULL;
	struct err *err = parser_next(parser);

	if (err)
		return err;
	if (parser->token.kind == TOKEN_END) {
		parser_want(parser, EXPR_WANTED_TEST, NULL);
		err = parser_node(parser, EXPR_ALL, &expr);
		*expr_ret = expr;
		return err;
	}
	err = parse_or(parser, expr_ret);
	if (err)
		return err;
	parser_want(parser, EXPR_WANTED_CONNECTIVE, NULL);
	if (parser->token.kind != TOKEN_END)
		return parser_unexpected(parser, "`and` or `or`");
	return NULL;
}

struct err *expr_parse(const char *text, struct arena *arena, const struct expr **expr_ret)
{
	struct parser parser = { .arena = arena };

	if (strnlen(text, EXPR_BYTES_MAX + 1) > EXPR_BYTES_MAX)
		return err_new(ERR_USAGE, "filter: longer than %u bytes", EXPR_BYTES_MAX);
	parser.text = arena_strdup(arena, text); /* also for compile errors */
	if (!parser.text)
		return err_nomem();
	return parse_all(&parser, expr_ret);
}

/* Alone, the name of a mark needs no quotes: "mark(step 2, again)". */
static bool is_bare_mark(const char *text)
{
	const size_t head = strlen("mark("), len = strlen(text);

	return len > head + 1 && strncmp(text, "mark(", head) == 0 && text[len - 1] == ')' &&
	       text[head] != '"' && text[head] != '\'';
}

struct err *expr_parse_moment(const char *text, struct arena *arena, struct expr_value *value_ret)
{
	struct parser parser = { .text = text, .arena = arena };
	struct expr_value value;
	struct err *err;

	if (is_bare_mark(text)) {
		*value_ret = (struct expr_value) {
			.kind = EXPR_MARK,
			.text = arena_text(arena, text + strlen("mark("),
					   strlen(text) - strlen("mark()")),
		};
		return value_ret->text ? NULL : err_nomem();
	}
	err = parser_next(&parser);
	if (!err)
		err = parser_value(&parser, field_find("time", strlen("time")), &value);
	if (!err && parser.token.kind != TOKEN_END)
		err = parser_unexpected(&parser, "the end");
	if (!err)
		*value_ret = value;
	return err;
}

/* --- completion ---------------------------------------------------------------------------- */

struct completion {
	const char *text;
	bool (*visit)(void *context, const char *word, const char *doc);
	void *context;
	bool has_ended;
};

static void offer(struct completion *completion, const struct token *token, const char *word,
		  const char *doc)
{
	const char *begun = completion->text + token->at;

	if (!completion->has_ended && strncasecmp(begun, word, token->len) == 0)
		completion->has_ended = !completion->visit(completion->context, word, doc);
}

static void offer_tests(struct completion *completion, const struct token *token)
{
	static const char *const words[] = { "from", "until", "alive_at", "alive_between",
					     "not",  "all",   "(" };

	for (size_t i = 0; i < field_count; i++)
		offer(completion, token, field_table[i].name, field_table[i].doc);
	for (size_t i = 0; i < array_size(words); i++)
		offer(completion, token, words[i], NULL);
}

const char *const *expr_operators(const struct field *field)
{
	static const char *const of_bools[] = { NULL };
	static const char *const of_texts[] = { "=", "!=", "~", "!~", "in", "not in", NULL };
	static const char *const of_numbers[] = { "=",	"!=", "<",	"<=", ">",
						  ">=", "in", "not in", NULL };

	assert(field->type <= FIELD_TEXTS);
	if (field->type == FIELD_BOOL)
		return of_bools;
	return field->type == FIELD_TEXT || field->type == FIELD_TEXTS ? of_texts : of_numbers;
}

static void offer_operators(struct completion *completion, const struct token *token,
			    const struct field *field)
{
	for (const char *const *word = expr_operators(field); *word; word++)
		offer(completion, token, *word, NULL);
}

static void offer_values(struct completion *completion, const struct token *token,
			 const struct field *field)
{
	static const char *const moments[] = { "start", "peak", "end", "mark(" };

	for (size_t i = 0; i < array_size(moments) && field->type == FIELD_MOMENT; i++)
		offer(completion, token, moments[i], NULL);
	for (int fn = 0; fn < TAPE_FN_COUNT && field->text && strstr(field->name, "call"); fn++) {
		if (tape_fn_class((enum tape_fn)fn) == TAPE_CLASS_ALLOC)
			offer(completion, token, tape_fn_name((enum tape_fn)fn), NULL);
	}
	if (field->none)
		offer(completion, token, "none", field->none);
}

static void on_wanted(void *context, enum expr_wanted wanted, const struct field *field,
		      const struct token *token)
{
	struct completion *completion = context;

	switch (wanted) {
	case EXPR_WANTED_TEST:
		offer_tests(completion, token);
		break;
	case EXPR_WANTED_OPERATOR:
		offer_operators(completion, token, field);
		break;
	case EXPR_WANTED_VALUE:
		offer_values(completion, token, field);
		break;
	case EXPR_WANTED_CONNECTIVE:
		offer(completion, token, "and", NULL);
		offer(completion, token, "or", NULL);
		break;
	}
}

void expr_complete(const char *text,
		   bool (*visit)(void *context, const char *word, const char *doc), void *context)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct completion completion = { .text = text, .visit = visit, .context = context };
	struct parser parser = {
		.text = text, .arena = &arena, .want = on_wanted, .context = &completion
	};
	const struct expr *expr;

	assert(visit);
	/* Incomplete text is rarely valid: the error is ignored. */
	err_destroy(parse_all(&parser, &expr));
}
