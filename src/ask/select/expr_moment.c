/* from M, until M, alive_at M, alive_between A..B: tests of time without an operator. */
#include "select/expr_parse.h"

/* Also accepted with = or in parentheses. */
static const struct moment_word {
	const char *word;
	enum expr_kind kind;
	bool is_low, is_high, is_range;
} moment_words[] = {
	{ "from", EXPR_IN, true, false, false },
	{ "until", EXPR_IN, false, true, false },
	{ "to", EXPR_IN, false, true, false },
	{ "alive_at", EXPR_ALIVE, true, true, false },
	{ "alive_between", EXPR_ALIVE, true, true, true },
};

static struct err *parse_moment_item(struct parser *parser, const struct moment_word *row,
				     const struct field *time, struct expr_item *item)
{
	struct err *err = NULL;

	if (row->is_range) {
		err = parser_item(parser, time, item);
		if (!err && (!item->has_low || !item->has_high || item->low.at == item->high.at))
			return expr_error(parser->text, parser->token.at,
					  "expected two moments: alive_between 10s..20s");
		return err;
	}
	err = parser_value(parser, time, &item->low);
	item->high = item->low;
	item->has_low = row->is_low;
	item->has_high = row->is_high;
	return err;
}

static struct err *parse_moment_test(struct parser *parser, const struct moment_word *row,
				     const struct expr **expr_ret)
{
	const struct field *time = field_find("time", strlen("time"));
	struct expr_item item = { 0 };
	struct expr *expr = NULL;
	bool is_closed = false;
	struct err *err = parser_node(parser, row->kind, &expr);

	if (!err)
		err = parser_next(parser);
	if (!err && parser->token.kind == TOKEN_EQ)
		err = parser_next(parser);
	if (!err && parser->token.kind == TOKEN_OPEN) {
		is_closed = true;
		err = parser_next(parser);
	}
	if (!err)
		err = parse_moment_item(parser, row, time, &item);
	if (!err && is_closed && parser->token.kind != TOKEN_CLOSE)
		err = parser_unexpected(parser, "`)`");
	if (!err && is_closed)
		err = parser_next(parser);
	if (err)
		return err;
	expr->field = time;
	*expr_ret = expr;
	return parser_one_item(parser, expr, item);
}

struct err *parser_moment_test(struct parser *parser, const struct expr **expr_ret)
{
	*expr_ret = NULL;
	for (size_t i = 0; i < array_size(moment_words); i++) {
		if (parser_is(parser, moment_words[i].word))
			return parse_moment_test(parser, &moment_words[i], expr_ret);
	}
	return NULL;
}
