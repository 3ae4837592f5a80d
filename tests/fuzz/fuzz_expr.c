/*
 * The filter language on any text: it is a tree within its bounds, or an error that shows a place.
 * Completion takes the same text and ends.
 */
#include <stdlib.h>

#include "select/expr.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Tests and values in the tree; its depth is the parser's promise. */
static size_t walk(const struct expr *expr, unsigned depth)
{
	size_t count = 1 + expr->item_count;

	check(depth <= 3 * EXPR_DEPTH_MAX);
	switch (expr->kind) {
	case EXPR_AND:
	case EXPR_OR:
		check(expr->part_count >= 2);
		break;
	case EXPR_NOT:
		check(expr->part_count == 1);
		break;
	case EXPR_ALL:
		check(expr->part_count == 0 && expr->item_count == 0);
		break;
	case EXPR_IN:
	case EXPR_ALIVE:
		check(expr->field && expr->item_count > 0);
		break;
	case EXPR_MATCH:
		check(expr->field && expr->pattern);
		break;
	}
	for (size_t i = 0; i < expr->item_count; i++) {
		const struct expr_item *item = &expr->items[i];

		check(item->is_none || item->has_low || item->has_high);
	}
	for (size_t i = 0; i < expr->part_count; i++)
		count += walk(expr->parts[i], depth + 1);
	return count;
}

static bool visit(void *context, const char *word, const char *doc)
{
	size_t *count = context;

	check(word[0]);
	check(!doc || doc[0]);
	return ++*count < 1000;
}

static void check_error(struct err *err)
{
	if (!err)
		return;
	check(err_code_of(err) == ERR_USAGE);
	check(err_message(err)[0]);
	err_destroy(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(free) char *text = malloc(size + 1);
	const struct expr *expr = NULL;
	struct expr_value moment;
	size_t word_count = 0;
	struct err *err;

	check(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	err = expr_parse(text, &arena, &expr);
	check(!err == (expr != NULL) || err);
	if (!err)
		check(walk(expr, 0) <= 2 * EXPR_NODES_MAX);
	check_error(err);
	check_error(expr_parse_moment(text, &arena, &moment));
	expr_complete(text, visit, &word_count);
	return 0;
}
