#include <assert.h>

#include "answer/about.h"

static const struct member rule_members[] = {
	MEMBER(struct suppressed_rule, rule, TEXT, "as written"),
	MEMBER(struct suppressed_rule, reason, TEXT, "of a built-in rule", .nullable = true),
	MEMBER(struct suppressed_rule, bytes, BYTES, NULL),
	MEMBER(struct suppressed_rule, count, COUNT, "blocks"),
};
static const struct shape shape_rule =
	SHAPE("SuppressedRule", struct suppressed_rule, rule_members);

static const struct member suppressed_members[] = {
	MEMBER(struct suppressed_answer, bytes, BYTES, NULL),
	MEMBER(struct suppressed_answer, count, COUNT, "blocks"),
	MEMBER(struct suppressed_answer, file, TEXT, "with rules that are not built in",
	       .nullable = true),
	MEMBER(struct suppressed_answer, rules, ROWS, "rules that matched", .shape = &shape_rule),
};
const struct shape shape_suppressed =
	SHAPE("Suppressed", struct suppressed_answer, suppressed_members);

static size_t rules_fill(const struct suppressions *rules, const struct suppressed_leaks *leaks,
			 struct suppressed_rule *items)
{
	size_t count = 0;

	for (size_t i = 0; leaks->by_rule && i < rules->count; i++) {
		if (leaks->by_rule[i].count == 0)
			continue;
		items[count++] = (struct suppressed_rule) {
			.rule = rules->rules[i].text,
			.reason = rules->rules[i].reason,
			.bytes = leaks->by_rule[i].bytes,
			.count = leaks->by_rule[i].count,
		};
	}
	return count;
}

struct err *suppressed_find(const struct asked *asked, const struct suppressed_answer **answer_ret)
{
	const struct suppressions *rules = &asked->selection->facts->suppressor->rules;
	const struct suppressed_leaks *leaks = &asked->selection->suppressed_leaks;
	struct suppressed_answer *answer;
	struct suppressed_rule *items;

	assert(asked->selection->facts);
	*answer_ret = NULL;
	if (!asked->tells_leaks)
		return NULL;
	answer = arena_new(asked->arena, struct suppressed_answer);
	items = arena_array(asked->arena, rules->count + 1, sizeof(*items));
	if (!answer || !items)
		return err_nomem();
	*answer = (struct suppressed_answer) {
		.bytes = leaks->total.bytes,
		.count = leaks->total.count,
		.file = rules->file,
		.rules = { items, rules_fill(rules, leaks, items) },
	};
	*answer_ret = answer;
	return NULL;
}
