/* The tests of filter expressions: fields, operators, values. */
#include <assert.h>

#include "select/expr_parse.h"
#include "select/expr_value.h"

VEC_DEFINE(item_vec, struct expr_item);

static bool is_text(const struct field *field)
{
	return field->type == FIELD_TEXT || field->type == FIELD_TEXTS;
}

/* --- values -------------------------------------------------------------------------------- */

static struct err *bad_value(const struct parser *parser, const struct field *field,
			     const char *problem)
{
	const struct token *token = &parser->token;

	if (token->kind == TOKEN_END)
		return parser_unexpected(parser, expr_value_example(field->type));
	return expr_error(parser->text, token->at, "'%.*s' %s; %s expects %s",
			  (int)u64_min(token->len, 60), parser->text + token->at, problem,
			  field->name, expr_value_example(field->type));
}

/* mark(NAME) or mark("NAME"); the token is `mark`. */
static struct err *parse_mark(struct parser *parser, struct expr_value *value)
{
	struct err *err = parser_next(parser);

	if (!err && parser->token.kind != TOKEN_OPEN)
		err = parser_unexpected(parser, "`(` and the text of a mark");
	if (!err)
		err = parser_next(parser);
	if (err)
		return err;
	if (parser->token.kind != TOKEN_TEXT && parser->token.kind != TOKEN_WORD &&
	    parser->token.kind != TOKEN_NUMBER)
		return parser_unexpected(parser, "the text of a mark");
	value->kind = EXPR_MARK;
	value->text = token_text(parser->text, &parser->token, parser->arena);
	if (!value->text)
		return err_nomem();
	err = parser_next(parser);
	if (!err && parser->token.kind != TOKEN_CLOSE)
		err = parser_unexpected(parser, "`)`");
	return err ? err : parser_next(parser);
}

static struct err *parse_moment_word(struct parser *parser, const struct field *field,
				     struct expr_value *value)
{
	if (parser_is(parser, "mark"))
		return parse_mark(parser, value);
	if (parser_is(parser, "peak"))
		value->kind = EXPR_PEAK;
	else if (parser_is(parser, "end"))
		value->kind = EXPR_END;
	else if (!parser_is(parser, "start"))
		return bad_value(parser, field, "is not a time");
	return parser_next(parser);
}

static struct err *parse_bool(struct parser *parser, const struct field *field,
			      struct expr_value *value)
{
	const char first = parser->text[parser->token.at];

	if (parser_is(parser, "yes") || parser_is(parser, "true"))
		value->number = 1;
	else if (parser->token.kind == TOKEN_NUMBER && parser->token.len == 1 && first == '1')
		value->number = 1;
	else if (!parser_is(parser, "no") && !parser_is(parser, "false") &&
		 !(parser->token.kind == TOKEN_NUMBER && parser->token.len == 1 && first == '0'))
		return bad_value(parser, field, "is neither yes nor no");
	return parser_next(parser);
}

static struct err *parse_text(struct parser *parser, const struct field *field,
			      struct expr_value *value)
{
	const struct token *token = &parser->token;

	if (token->kind != TOKEN_TEXT && token->kind != TOKEN_WORD && token->kind != TOKEN_NUMBER)
		return bad_value(parser, field, "is not text");
	if (parser_is(parser, "and") || parser_is(parser, "or") || parser_is(parser, "not"))
		return bad_value(parser, field, "must be quoted to be text");
	value->text = token_text(parser->text, token, parser->arena);
	return value->text ? parser_next(parser) : err_nomem();
}

/* For slack > size: the other field, or NULL. */
static const struct field *other_field(const struct parser *parser, const struct field *field)
{
	const struct token *token = &parser->token;
	const struct field *other = NULL;

	if (parser->takes_fields && token->kind == TOKEN_WORD)
		other = field_find(parser->text + token->at, token->len);
	return other && other->type == field->type ? other : NULL;
}

struct err *parser_value(struct parser *parser, const struct field *field,
			 struct expr_value *value_ret)
{
	const struct token *token = &parser->token;
	struct expr_value value = { 0 };
	const size_t at = token->at;
	const char *problem;
	struct err *err = NULL;

	parser_want(parser, EXPR_WANTED_VALUE, field);
	if (is_text(field)) {
		err = parse_text(parser, field, &value);
	} else if (other_field(parser, field)) {
		value.kind = EXPR_FIELD;
		value.field = other_field(parser, field);
		err = parser_next(parser);
	} else if (field->type == FIELD_BOOL) {
		err = parse_bool(parser, field, &value);
	} else if (field->type == FIELD_MOMENT && token->kind == TOKEN_WORD) {
		err = parse_moment_word(parser, field, &value);
	} else if (token->kind != TOKEN_NUMBER) {
		err = bad_value(parser, field, "is not a value");
	} else {
		problem = expr_value_parse(parser->text + at, token->len, field, &value);
		err = problem ? bad_value(parser, field, problem) : parser_next(parser);
	}
	value.at = at;
	if (!err)
		*value_ret = value;
	return err;
}

/* --- items --------------------------------------------------------------------------------- */

static struct err *count_value(struct parser *parser)
{
	if (parser->node_count++ < EXPR_NODES_MAX)
		return NULL;
	return expr_error(parser->text, parser->token.at, "more than %u tests and values",
			  EXPR_NODES_MAX);
}

static struct err *parse_none(struct parser *parser, const struct field *field,
			      struct expr_item *item)
{
	if (!field->none)
		return expr_error(parser->text, parser->token.at, "%s always has a value",
				  field->name);
	item->is_none = true;
	return parser_next(parser);
}

static struct err *check_range(const struct parser *parser, const struct expr_item *item)
{
	if (item->has_low && item->has_high && item->low.kind == item->high.kind &&
	    item->low.kind <= EXPR_PERCENT && item->low.number > item->high.number)
		return expr_error(parser->text, item->low.at,
				  "empty range: it begins after its end");
	return NULL;
}

/* VALUE, VALUE..VALUE, VALUE.. or ..VALUE */
struct err *parser_item(struct parser *parser, const struct field *field, struct expr_item *item)
{
	struct err *err = count_value(parser);

	if (err)
		return err;
	if (parser_is(parser, "none"))
		return parse_none(parser, field, item);
	item->has_low = parser->token.kind != TOKEN_DOTS;
	if (item->has_low)
		err = parser_value(parser, field, &item->low);
	if (err)
		return err;
	if (parser->token.kind != TOKEN_DOTS) {
		item->has_high = true;
		item->high = item->low;
		return NULL;
	}
	if (is_text(field) || field->type == FIELD_BOOL)
		return expr_error(parser->text, parser->token.at, "%s has no ranges", field->name);
	err = parser_next(parser);
	if (err)
		return err;
	item->has_high = parser->token.kind == TOKEN_NUMBER || parser->token.kind == TOKEN_WORD;
	if (item->has_high && item->has_low) /* `time in 5s.. and ...` ends before `and` */
		item->has_high = !parser_is(parser, "and") && !parser_is(parser, "or");
	if (item->has_high)
		err = parser_value(parser, field, &item->high);
	else if (!item->has_low)
		err = bad_value(parser, field, "is not a value");
	return err ? err : check_range(parser, item);
}

static struct err *set_items(struct parser *parser, struct expr *expr, const struct item_vec *items)
{
	struct expr_item *copy = arena_array(parser->arena, items->count, sizeof(*copy));

	if (!copy)
		return err_nomem();
	memcpy(copy, items->items, items->count * sizeof(*copy));
	expr->items = copy;
	expr->item_count = items->count;
	return NULL;
}

/* The items after `in`. */
static struct err *parse_items(struct parser *parser, struct expr *expr)
{
	CLEAN(item_vec_deinit) struct item_vec items = { 0 };
	const bool is_list = parser->token.kind == TOKEN_OPEN;
	struct err *err = NULL;

	do {
		struct expr_item item = { 0 };

		if (is_list)
			err = parser_next(parser); /* ( or , */
		if (!err)
			err = parser_item(parser, expr->field, &item);
		if (err)
			return err;
		if (!item_vec_push(&items, item))
			return err_nomem();
	} while (is_list && parser->token.kind == TOKEN_COMMA);
	if (is_list && parser->token.kind != TOKEN_CLOSE)
		return parser_unexpected(parser, "`,` or `)`");
	if (is_list)
		err = parser_next(parser);
	return err ? err : set_items(parser, expr, &items);
}

struct err *parser_one_item(struct parser *parser, struct expr *expr, struct expr_item item)
{
	struct expr_item *copy = arena_new(parser->arena, struct expr_item);

	assert(!expr->items && expr->item_count == 0);
	if (!copy)
		return err_nomem();
	*copy = item;
	expr->items = copy;
	expr->item_count = 1;
	return NULL;
}

/* --- tests --------------------------------------------------------------------------------- */

static struct err *negate(struct parser *parser, const struct expr *part,
			  const struct expr **expr_ret)
{
	const struct expr **parts = arena_array(parser->arena, 1, sizeof(*parts));
	struct expr *expr = NULL;
	struct err *err = parser_node(parser, EXPR_NOT, &expr);

	if (err || !parts)
		return err ? err : err_nomem();
	parts[0] = part;
	expr->at = part->at;
	expr->parts = parts;
	expr->part_count = 1;
	*expr_ret = expr;
	return NULL;
}

static struct err *parse_match(struct parser *parser, struct expr *expr)
{
	struct expr_value value;
	struct err *err;

	if (!is_text(expr->field))
		return expr_error(parser->text, parser->token.at,
				  "%s is not text; regular expressions match text only",
				  expr->field->name);
	err = parser_next(parser);
	if (!err)
		err = parser_value(parser, expr->field, &value);
	if (err)
		return err;
	expr->kind = EXPR_MATCH;
	expr->pattern = value.text;
	expr->pattern_at = value.at;
	return NULL;
}

/* = none, = VALUE */
static struct err *parse_equal(struct parser *parser, struct expr *expr)
{
	struct expr_item item = { 0 };
	struct err *err = parser_next(parser);

	if (!err && parser_is(parser, "none"))
		err = parse_none(parser, expr->field, &item);
	else if (!err)
		err = parser_value(parser, expr->field, &item.low);
	if (err)
		return err;
	item.has_low = item.has_high = !item.is_none;
	item.high = item.low;
	return parser_one_item(parser, expr, item);
}

/* < <= > >= */
static struct err *parse_order(struct parser *parser, struct expr *expr)
{
	const enum token_kind kind = parser->token.kind;
	struct expr_item item = { 0 };
	struct expr_value value;
	struct err *err;

	if (is_text(expr->field) || expr->field->type == FIELD_BOOL)
		return expr_error(parser->text, parser->token.at, "%s has no order; expected %s",
				  expr->field->name,
				  is_text(expr->field) ? "= != ~ !~ or in" : "= or !=");
	err = parser_next(parser);
	if (!err)
		err = parser_value(parser, expr->field, &value);
	if (err)
		return err;
	item.has_low = kind == TOKEN_GT || kind == TOKEN_GE;
	item.has_high = !item.has_low;
	item.low = item.high = value;
	item.low_is_open = kind == TOKEN_GT;
	item.high_is_open = kind == TOKEN_LT;
	return parser_one_item(parser, expr, item);
}

/* The operator and value after a field; *is_negated is true for != !~ and not in. */
static struct err *parse_comparison(struct parser *parser, struct expr *expr, bool *is_negated)
{
	struct err *err;

	parser_want(parser, EXPR_WANTED_OPERATOR, expr->field);
	parser->takes_fields = expr->field->type != FIELD_BOOL;
	switch ((int)parser->token.kind) {
	case TOKEN_EQ:
	case TOKEN_NE:
		*is_negated = parser->token.kind == TOKEN_NE;
		return parse_equal(parser, expr);
	case TOKEN_MATCH:
	case TOKEN_NOT_MATCH:
		*is_negated = parser->token.kind == TOKEN_NOT_MATCH;
		return parse_match(parser, expr);
	case TOKEN_LT:
	case TOKEN_LE:
	case TOKEN_GT:
	case TOKEN_GE:
		return parse_order(parser, expr);
	}
	*is_negated = parser_is(parser, "not");
	err = *is_negated ? parser_next(parser) : NULL;
	if (err)
		return err;
	if (parser_is(parser, "in")) {
		err = parser_next(parser);
		return err ? err : parse_items(parser, expr);
	}
	if (expr->field->type == FIELD_BOOL && !*is_negated) {
		const struct expr_value yes = { .number = 1, .at = expr->at };

		return parser_one_item(
			parser, expr,
			(struct expr_item) {
				.has_low = true, .has_high = true, .low = yes, .high = yes });
	}
	return parser_unexpected(parser, is_text(expr->field) ? "one of = != ~ !~ in"
					 : expr->field->type == FIELD_BOOL
						 ? "`in`"
						 : "one of = != < <= > >= in");
}

/* `thread = worker` means the name, which is a separate field. */
static const struct field *text_twin(const struct parser *parser, const struct field *field)
{
	struct parser ahead = *parser;
	char name[64];

	ahead.want = NULL;
	if (field->type != FIELD_ID || strlen(field->name) > sizeof(name) - sizeof("_name"))
		return field;
	while (ahead.token.kind != TOKEN_END) {
		const bool is_word = ahead.token.kind == TOKEN_WORD && !parser_is(&ahead, "in") &&
				     !parser_is(&ahead, "not") && !parser_is(&ahead, "none") &&
				     !field_find(ahead.text + ahead.token.at, ahead.token.len);
		const bool is_value = ahead.token.kind == TOKEN_TEXT || is_word;
		const struct field *twin;
		struct err *err;

		if (ahead.token.kind == TOKEN_NUMBER)
			return field;
		if (is_value) {
			memcpy(name, field->name, strlen(field->name));
			memcpy(name + strlen(field->name), "_name", sizeof("_name"));
			twin = field_find(name, strlen(name));
			return twin ? twin : field;
		}
		err = parser_next(&ahead);
		if (err) {
			err_destroy(err);
			break;
		}
	}
	return field;
}

static struct err *check_fields(const struct parser *parser, const struct expr *expr)
{
	for (size_t i = 0; i < expr->item_count; i++) {
		const struct expr_item *item = &expr->items[i];
		const bool is_field = (item->has_low && item->low.kind == EXPR_FIELD) ||
				      (item->has_high && item->high.kind == EXPR_FIELD);

		if (is_field && expr->item_count > 1)
			return expr_error(
				parser->text, item->low.at,
				"a field to compare with must stand alone, not in a list");
	}
	return NULL;
}

static struct err *parse_field(struct parser *parser, const struct field *field,
			       const struct expr **expr_ret)
{
	bool is_negated = false;
	struct expr *expr = NULL;
	struct err *err = parser_node(parser, EXPR_IN, &expr);

	if (!err)
		err = parser_next(parser);
	if (err)
		return err;
	expr->field = text_twin(parser, field);
	err = parse_comparison(parser, expr, &is_negated);
	parser->takes_fields = false;
	if (!err)
		err = check_fields(parser, expr);
	if (err)
		return err;
	*expr_ret = expr;
	return is_negated ? negate(parser, expr, expr_ret) : NULL;
}

/* --- any test ------------------------------------------------------------------------------ */

static struct err *unknown_field(const struct parser *parser)
{
	const struct token *token = &parser->token;
	const struct field *near = field_guess(parser->text + token->at, token->len);

	if (token->kind != TOKEN_WORD)
		return parser_unexpected(parser, "a field like size, or `(`");
	if (near)
		return err_at(expr_error(parser->text, token->at,
					 "unknown field '%.*s'; did you mean %s?",
					 (int)u64_min(token->len, 60), parser->text + token->at,
					 near->name),
			      token->at, near->name);
	return expr_error(parser->text, token->at,
			  "unknown field '%.*s'; `memtape report --list-fields` lists them",
			  (int)u64_min(token->len, 60), parser->text + token->at);
}

struct err *parser_test(struct parser *parser, const struct expr **expr_ret)
{
	const struct token *token = &parser->token;
	const struct field *field = NULL;
	struct expr *expr = NULL;
	struct err *err;

	if (parser_is(parser, "all")) {
		err = parser_node(parser, EXPR_ALL, &expr);
		*expr_ret = expr;
		return err ? err : parser_next(parser);
	}
	err = parser_moment_test(parser, expr_ret);
	if (err || *expr_ret)
		return err;
	if (token->kind == TOKEN_WORD)
		field = field_find(parser->text + token->at, token->len);
	return field ? parse_field(parser, field, expr_ret) : unknown_field(parser);
}
