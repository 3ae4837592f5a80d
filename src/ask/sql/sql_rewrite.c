#include "sql/sql_rewrite.h"

#include <ctype.h>
#include <strings.h>

#include "sql/sql_tokens.h"

enum { TERMS_MAX = 32 };

struct rewriter {
	struct sql_tokens tokens;
	struct sql_span items[TERMS_MAX]; /* of SELECT, without the names they get */
	size_t item_names[TERMS_MAX];	  /* by item: its token; 0: none */
	size_t item_count;
	struct sql_span groups[TERMS_MAX];
	size_t group_count;
	size_t calls; /* of functions over all rows */
	bool is_distinct;
	struct str *out;
	const char *copied; /* end of what is in out */
};

static const char *const clause_words[] = { "FROM",  "WHERE", "GROUP", "HAVING",
					    "ORDER", "LIMIT", NULL };

static const char *const aggregates[] = { "count", "sum", "avg", "total", "min", "max", NULL };

static bool spans_equal(const struct rewriter *rewriter, struct sql_span a, struct sql_span b)
{
	if (a.end - a.begin != b.end - b.begin)
		return false;
	for (size_t i = 0; i < a.end - a.begin; i++) {
		if (!sql_token_equals(&rewriter->tokens.items[a.begin + i],
				      &rewriter->tokens.items[b.begin + i]))
			return false;
	}
	return true;
}

static bool is_grouped_by(const struct rewriter *rewriter, struct sql_span span)
{
	for (size_t i = 0; i < rewriter->group_count; i++) {
		if (spans_equal(rewriter, rewriter->groups[i], span))
			return true;
	}
	return false;
}

static bool is_item_name(const struct rewriter *rewriter, const struct sql_token *token)
{
	for (size_t i = 0; i < rewriter->item_count; i++) {
		const size_t at = rewriter->item_names[i];

		if (at > 0 && sql_token_equals(&rewriter->tokens.items[at], token))
			return true;
	}
	return false;
}

/* --- writing ------------------------------------------------------------------------------- */

/* Copies the statement up to this token. */
static void copy_until(struct rewriter *rewriter, size_t at)
{
	const char *begin = rewriter->tokens.items[at].begin;

	str_add_bytes(rewriter->out, rewriter->copied, (size_t)(begin - rewriter->copied));
	rewriter->copied = begin;
}

static void skip_past(struct rewriter *rewriter, size_t at)
{
	rewriter->copied = rewriter->tokens.items[at].end;
}

static void write_sum(struct rewriter *rewriter, const struct sql_token *function,
		      const char *column)
{
	static const enum sql_sum kinds[] = { SQL_SUM_COUNT, SQL_SUM_SUM, SQL_SUM_TOTAL,
					      SQL_SUM_TOTAL, SQL_SUM_MIN, SQL_SUM_MAX };
	static const char *const forms[] = { "coalesce(sum(\"%s#%s\"), 0)",
					     "sum(\"%s#%s\")",
					     "total(\"%s#%s\")",
					     "total(\"%s#%s\")",
					     "min(\"%s#%s\")",
					     "max(\"%s#%s\")" };
	size_t i = 0;

	while (!sql_token_is(function, aggregates[i]))
		i++;
	str_add_char(rewriter->out, '(');
	str_printf(rewriter->out, forms[i], column, sql_sum_words[kinds[i]]);
	if (sql_token_is(function, "avg"))
		str_printf(rewriter->out, " / sum(\"%s#%s\")", column,
			   sql_sum_words[SQL_SUM_COUNT]);
	str_add_char(rewriter->out, ')');
}

/* --- expressions --------------------------------------------------------------------------- */

enum place {
	PLACE_WHERE,	/* all columns, no functions over rows */
	PLACE_GROUP,	/* the same */
	PLACE_OVER,	/* the same, in such a function */
	PLACE_DISTINCT, /* the same, in the list of SELECT DISTINCT without groups */
	PLACE_ANSWER	/* columns that are grouped by, functions over rows */
};

static bool take_expression(struct rewriter *rewriter, struct sql_span span, enum place place);

/* A subquery, which is copied. It may see the row, but must not count rows or roll dice. */
static bool take_subquery(const struct rewriter *rewriter, struct sql_span span)
{
	static const char *const never[] = { "random", "randomblob", SQL_SUMS_NAME, NULL };

	for (size_t i = span.begin; i < span.end; i++) {
		if (sql_token_is_one_of(&rewriter->tokens.items[i], never))
			return false;
	}
	return true;
}

static bool has_comma(const struct rewriter *rewriter, struct sql_span span)
{
	return sql_tokens_find(&rewriter->tokens, span.begin, clause_words, ',') < span.end;
}

/* count(*), sum(size), min(size + 1), count(DISTINCT size) ...; close: its parenthesis. */
static bool take_aggregate(struct rewriter *rewriter, size_t at, size_t close)
{
	const struct sql_token *function = &rewriter->tokens.items[at];
	struct sql_span inner = { at + 2, close };
	const bool is_distinct = sql_tokens_has_keyword(&rewriter->tokens, inner.begin, "DISTINCT");
	const struct sql_token *first = &rewriter->tokens.items[inner.begin];
	const bool is_column = close == inner.begin + 1 && first->kind == TOKEN_COLUMN;

	rewriter->calls++;
	if (sql_token_is(function, "count") &&
	    (inner.begin == close || (close == inner.begin + 1 &&
				      sql_tokens_has_sign(&rewriter->tokens, inner.begin, '*')))) {
		copy_until(rewriter, at);
		str_add(rewriter->out, "coalesce(sum(\"" SQL_SUMS_ROWS "\"), 0)");
		skip_past(rewriter, close);
		return true;
	}
	if (is_column && !first->is_text && !sql_token_is(first, "filter")) {
		copy_until(rewriter, at);
		write_sum(rewriter, function, first->column);
		skip_past(rewriter, close);
		return true;
	}
	if (!is_distinct && !sql_token_is(function, "min") && !sql_token_is(function, "max"))
		return false;
	inner.begin += is_distinct;
	return inner.begin < inner.end && !has_comma(rewriter, inner) &&
	       take_expression(rewriter, inner, PLACE_OVER);
}

/* A name with a parenthesis behind it. *at_ret: the last token taken. */
static bool take_call(struct rewriter *rewriter, size_t *at_ret, enum place place)
{
	const size_t at = *at_ret, close = sql_tokens_find_close(&rewriter->tokens, at + 1);
	const struct sql_token *token = &rewriter->tokens.items[at];

	if (close >= rewriter->tokens.count || token->is_quoted)
		return false;
	if (sql_token_is_function(token))
		return true;
	if (place != PLACE_ANSWER || !sql_token_is_one_of(token, aggregates))
		return false;
	*at_ret = close;
	return take_aggregate(rewriter, at, close);
}

static bool take_name(const struct rewriter *rewriter, size_t at, struct sql_span span,
		      enum place place)
{
	const struct sql_token *token = &rewriter->tokens.items[at];

	if (at > span.begin && sql_tokens_ends_operand(&rewriter->tokens, at - 1))
		return false;
	if (token->kind == TOKEN_COLUMN)
		return !sql_token_is(token, "filter") &&
		       (place != PLACE_ANSWER ||
			is_grouped_by(rewriter, (struct sql_span) { at, at + 1 }));
	return place != PLACE_OVER && is_item_name(rewriter, token);
}

static bool take_keyword(const struct rewriter *rewriter, size_t at)
{
	static const char *const never[] = { "SELECT", "DISTINCT", "FROM",  "WHERE",  "GROUP", "BY",
					     "HAVING", "ORDER",	   "LIMIT", "OFFSET", NULL };

	return !sql_token_is_one_of(&rewriter->tokens.items[at], never);
}

/* Advances *at over a subquery; other expressions in parentheses are taken as they come. */
static bool take_parenthesis(const struct rewriter *rewriter, size_t *at, struct sql_span span,
			     enum place place)
{
	const size_t begin = *at;

	if (!sql_tokens_has_keyword(&rewriter->tokens, begin + 1, "SELECT"))
		return true;
	*at = sql_tokens_find_close(&rewriter->tokens, begin);
	return place == PLACE_WHERE && *at < span.end &&
	       take_subquery(rewriter, (struct sql_span) { begin, *at });
}

/* Checks the expression, and rewrites its functions over rows. */
static bool take_expression(struct rewriter *rewriter, struct sql_span span, enum place place)
{
	if (span.begin >= span.end)
		return false;
	if (place == PLACE_ANSWER && is_grouped_by(rewriter, span))
		return true;
	for (size_t at = span.begin; at < span.end; at++) {
		const struct sql_token *token = &rewriter->tokens.items[at];
		const bool is_name = token->kind == TOKEN_WORD || token->kind == TOKEN_COLUMN;
		bool is_fine = token->kind != TOKEN_STRING || at == span.begin ||
			       !sql_tokens_ends_operand(&rewriter->tokens, at - 1);

		if (token->kind == TOKEN_KEYWORD)
			is_fine = take_keyword(rewriter, at);
		else if (is_name && sql_tokens_has_sign(&rewriter->tokens, at + 1, '('))
			is_fine = take_call(rewriter, &at, place);
		else if (is_name)
			is_fine = sql_tokens_is_type(&rewriter->tokens, at) ||
				  take_name(rewriter, at, span, place);
		else if (sql_tokens_has_sign(&rewriter->tokens, at, '*'))
			is_fine = at > span.begin &&
				  sql_tokens_ends_operand(&rewriter->tokens, at - 1);
		else if (sql_tokens_has_sign(&rewriter->tokens, at, '('))
			is_fine = take_parenthesis(rewriter, &at, span, place);
		else if (sql_tokens_has_sign(&rewriter->tokens, at, '.') ||
			 sql_tokens_has_sign(&rewriter->tokens, at, ';'))
			is_fine = false;
		if (!is_fine)
			return false;
	}
	return true;
}

/* --- clauses ------------------------------------------------------------------------------- */

/* Splits at commas; false: too many. */
static bool split(const struct rewriter *rewriter, size_t begin, size_t end, struct sql_span *spans,
		  size_t *count_ret)
{
	*count_ret = 0;
	while (begin < end) {
		const size_t comma = sql_tokens_find(&rewriter->tokens, begin, clause_words, ',');

		if (*count_ret == TERMS_MAX)
			return false;
		spans[(*count_ret)++] = (struct sql_span) { begin, comma < end ? comma : end };
		begin = comma + 1;
	}
	return true;
}

/* A name that the item gets: AS name, or just the name. False: one that may be confused. */
static bool take_item_name(struct rewriter *rewriter, size_t item)
{
	struct sql_span *span = &rewriter->items[item];
	const size_t last = span->end - 1;
	const struct sql_token *token = &rewriter->tokens.items[last];

	rewriter->item_names[item] = 0;
	if (span->end < span->begin + 2)
		return true;
	if (!sql_tokens_has_keyword(&rewriter->tokens, last - 1, "AS") &&
	    !(token->kind == TOKEN_WORD && sql_tokens_ends_operand(&rewriter->tokens, last - 1)))
		return true;
	rewriter->item_names[item] = last;
	span->end = last - sql_tokens_has_keyword(&rewriter->tokens, last - 1, "AS");
	return token->kind == TOKEN_WORD && span->end > span->begin;
}

static bool split_items(struct rewriter *rewriter, size_t begin, size_t end)
{
	if (!split(rewriter, begin, end, rewriter->items, &rewriter->item_count))
		return false;
	for (size_t i = 0; i < rewriter->item_count; i++) {
		if (!take_item_name(rewriter, i))
			return false;
	}
	return rewriter->item_count > 0;
}

/* GROUP BY 2 or by the name of an item is by the item. */
static bool resolve_group(const struct rewriter *rewriter, struct sql_span *span)
{
	const struct sql_token *token = &rewriter->tokens.items[span->begin];
	uint64_t number = 0;

	if (span->end != span->begin + 1)
		return true;
	if (token->kind == TOKEN_NUMBER) {
		for (size_t i = 0; i < token->len && number <= TERMS_MAX; i++)
			number = isdigit((unsigned char)token->text[i])
					 ? number * 10 + (uint64_t)(token->text[i] - '0')
					 : TERMS_MAX + 1;
		if (number == 0 || number > rewriter->item_count)
			return false;
		*span = rewriter->items[number - 1];
		return true;
	}
	for (size_t i = 0; i < rewriter->item_count && token->kind == TOKEN_WORD; i++) {
		const size_t name = rewriter->item_names[i];

		if (name > 0 && sql_token_equals(&rewriter->tokens.items[name], token)) {
			*span = rewriter->items[i];
			return true;
		}
	}
	return token->kind == TOKEN_COLUMN;
}

static bool split_groups(struct rewriter *rewriter, size_t begin, size_t end)
{
	if (!split(rewriter, begin, end, rewriter->groups, &rewriter->group_count))
		return false;
	for (size_t i = 0; i < rewriter->group_count; i++) {
		struct sql_span *span = &rewriter->groups[i];

		if (!resolve_group(rewriter, span) ||
		    !take_expression(rewriter, *span, PLACE_GROUP))
			return false;
	}
	return rewriter->group_count > 0;
}

/* Of the list, and of what it is sorted by. */
static enum place place_of_answer(const struct rewriter *rewriter)
{
	return rewriter->is_distinct && rewriter->group_count == 0 ? PLACE_DISTINCT : PLACE_ANSWER;
}

static bool take_items(struct rewriter *rewriter)
{
	for (size_t i = 0; i < rewriter->item_count; i++) {
		if (!take_expression(rewriter, rewriter->items[i], place_of_answer(rewriter)))
			return false;
	}
	return true;
}

/*
 * SQLite needs one row only for the least or greatest of what rows are sorted by: no sum is faster.
 */
static bool is_found_at_once(const struct rewriter *rewriter)
{
	const struct sql_span item = rewriter->items[0];
	const struct sql_token *tokens = &rewriter->tokens.items[item.begin];

	return rewriter->group_count == 0 && rewriter->item_count == 1 &&
	       item.end - item.begin == 4 && tokens[2].is_sorted &&
	       (sql_token_is(&tokens[0], "min") || sql_token_is(&tokens[0], "max"));
}

/* FROM allocations, or allocations('filter'). Advances *at. */
static bool take_from(struct rewriter *rewriter, size_t *at)
{
	const struct sql_token *name = &rewriter->tokens.items[*at + 1];

	if (!sql_tokens_has_keyword(&rewriter->tokens, *at, "FROM") ||
	    *at + 1 >= rewriter->tokens.count || name->kind != TOKEN_WORD ||
	    !sql_token_is(name, "allocations"))
		return false;
	copy_until(rewriter, *at + 1);
	str_add(rewriter->out, "\"" SQL_SUMS_NAME "\"");
	skip_past(rewriter, *at + 1);
	*at += 2;
	if (!sql_tokens_has_sign(&rewriter->tokens, *at, '('))
		return true;
	*at += 3;
	return *at <= rewriter->tokens.count &&
	       rewriter->tokens.items[*at - 2].kind == TOKEN_STRING &&
	       sql_tokens_has_sign(&rewriter->tokens, *at - 1, ')');
}

/* WORD [BY] ..., if it is next. Advances *at; the span is empty if it is not. */
static struct sql_span take_clause(const struct rewriter *rewriter, size_t *at, const char *word,
				   const char *second)
{
	struct sql_span span = { *at, *at };

	if (!sql_tokens_has_keyword(&rewriter->tokens, *at, word))
		return span;
	span.begin = *at + 1;
	if (second)
		span.begin += sql_tokens_has_keyword(&rewriter->tokens, span.begin, second);
	span.end = *at = sql_tokens_find(&rewriter->tokens, span.begin, clause_words, ';');
	return span;
}

static bool take_order(struct rewriter *rewriter, struct sql_span clause)
{
	struct sql_span spans[TERMS_MAX];
	size_t count;

	if (!split(rewriter, clause.begin, clause.end, spans, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		static const char *const ends[] = { "ASC", "DESC", "NULLS", "FIRST", "LAST", NULL };
		struct sql_span span = spans[i];

		while (span.end > span.begin &&
		       rewriter->tokens.items[span.end - 1].kind == TOKEN_KEYWORD &&
		       sql_token_is_one_of(&rewriter->tokens.items[span.end - 1], ends))
			span.end--;
		if (!take_expression(rewriter, span, place_of_answer(rewriter)))
			return false;
	}
	return true;
}

/* LIMIT 10 OFFSET 5, LIMIT 5, 10 */
static bool take_limit(const struct rewriter *rewriter, struct sql_span clause)
{
	for (size_t i = clause.begin; i < clause.end; i++) {
		if (rewriter->tokens.items[i].kind != TOKEN_NUMBER &&
		    !sql_tokens_has_sign(&rewriter->tokens, i, ',') &&
		    !sql_tokens_has_keyword(&rewriter->tokens, i, "OFFSET"))
			return false;
	}
	return true;
}

static bool take_statement(struct rewriter *rewriter)
{
	size_t at = 1 + sql_tokens_has_keyword(&rewriter->tokens, 1, "DISTINCT");
	struct sql_span where, group, having, order, limit;
	size_t from;

	if (!sql_tokens_has_keyword(&rewriter->tokens, 0, "SELECT"))
		return false;
	rewriter->is_distinct = at == 2;
	from = sql_tokens_find(&rewriter->tokens, at, clause_words, ';');
	if (!split_items(rewriter, at, from))
		return false;
	/* The clauses are found first: columns of the list must be grouped by. */
	at = from;
	while (at < rewriter->tokens.count &&
	       !sql_tokens_has_keyword(&rewriter->tokens, at, "GROUP"))
		at = sql_tokens_find(&rewriter->tokens, at + 1, clause_words, ';');
	group = take_clause(rewriter, &at, "GROUP", "BY");
	if (group.end > group.begin && !split_groups(rewriter, group.begin, group.end))
		return false;
	rewriter->copied = rewriter->tokens.items[0].begin;
	at = from;
	if (!take_items(rewriter) || !take_from(rewriter, &at))
		return false;
	where = take_clause(rewriter, &at, "WHERE", NULL);
	take_clause(rewriter, &at, "GROUP", "BY");
	having = take_clause(rewriter, &at, "HAVING", NULL);
	order = take_clause(rewriter, &at, "ORDER", "BY");
	limit = take_clause(rewriter, &at, "LIMIT", NULL);
	at += sql_tokens_has_sign(&rewriter->tokens, at, ';');
	if (at != rewriter->tokens.count || is_found_at_once(rewriter))
		return false;
	return (where.end == where.begin || take_expression(rewriter, where, PLACE_WHERE)) &&
	       (having.end == having.begin || take_expression(rewriter, having, PLACE_ANSWER)) &&
	       take_order(rewriter, order) && take_limit(rewriter, limit) &&
	       (rewriter->calls > 0 || rewriter->group_count > 0 || rewriter->is_distinct);
}

static void note_groups(const struct rewriter *rewriter, struct sql_sums *sums)
{
	for (size_t i = 0; i < rewriter->group_count; i++) {
		const struct sql_span *span = &rewriter->groups[i];
		const struct sql_token *token = &rewriter->tokens.items[span->begin];

		if (span->end == span->begin + 1 && token->kind == TOKEN_COLUMN)
			sums->groups[token->number / 64] |= UINT64_C(1) << token->number % 64;
	}
}

bool sql_rewrite(const char *text, size_t len, struct str *out, struct sql_sums *sums_ret)
{
	CLEAN(free) struct rewriter *rewriter = calloc(1, sizeof(*rewriter));
	const struct sql_token *last;

	if (!rewriter) {
		out->failed = true;
		return false;
	}
	rewriter->out = out;
	if (!sql_tokens_read(&rewriter->tokens, text, len) || !take_statement(rewriter))
		return false;
	last = &rewriter->tokens.items[rewriter->tokens.count - 1];
	str_add_bytes(out, rewriter->copied, (size_t)(last->end - rewriter->copied));
	*sums_ret = (struct sql_sums) { 0 };
	note_groups(rewriter, sums_ret);
	return true;
}
