/* Text tests as bitmaps: each text is tested once, whatever the number of rows. */
#include <assert.h>

#include "base/map.h"
#include "select/filter_plan.h"

/* One test and its cached results. */
struct text_test {
	struct compiler *compiler;
	const struct expr *expr;
	struct regex *regex; /* NULL: equality */
	struct map known;    /* by the text's address: 1 no, 2 yes */
	bool has_nomem;
	const char *too_hard; /* a text on which the regex took too long; NULL: none */
};

static void text_test_deinit(struct text_test *test)
{
	regex_destroy(test->regex);
	map_deinit(&test->known);
}
CLEAN_DEFINE_DEINIT(text_test_deinit, struct text_test);

static struct err *text_test_init(struct text_test *test, struct compiler *compiler,
				  const struct expr *expr)
{
	struct regex_problem problem;

	*test = (struct text_test) { .compiler = compiler, .expr = expr };
	if (expr->kind != EXPR_MATCH || regex_create(expr->pattern, &test->regex, &problem))
		return NULL;
	return expr_error(compiler->text, expr->pattern_at,
			  "invalid regular expression: %s at character %zu", problem.text,
			  problem.at + 1);
}

static bool text_equals(enum field_text_rule rule, const char *text, const char *wanted)
{
	const size_t len = strlen(wanted);

	switch (rule) {
	case FIELD_TEXT_EXACT:
		return strcmp(text, wanted) == 0;
	case FIELD_TEXT_FUNCTION:
		return strncmp(text, wanted, len) == 0 && (text[len] == '\0' || text[len] == '(');
	case FIELD_TEXT_PATH:
		return strcmp(text, wanted) == 0 || strcmp(names_short_path(text), wanted) == 0;
	}
	return false;
}

static bool one_matches(struct text_test *test, const char *text)
{
	const struct expr *expr = test->expr;

	if (test->regex) {
		const enum regex_answer answer = regex_match(test->regex, text);

		if (answer == REGEX_TOO_HARD)
			test->too_hard = text;
		return answer == REGEX_YES;
	}
	for (size_t i = 0; i < expr->item_count; i++) {
		if (!expr->items[i].is_none &&
		    text_equals(expr->field->rule, text, expr->items[i].low.text))
			return true;
	}
	return false;
}

static bool text_matches(struct text_test *test, const char *text)
{
	const struct field *field = test->expr->field;
	const char *other;

	if (one_matches(test, text))
		return true;
	other = field->other ? field->other(test->compiler->facts, text) : NULL;
	return other && one_matches(test, other);
}

/* text is not NULL; equal texts at different addresses are tested twice. */
static bool text_test_holds(struct text_test *test, const char *text)
{
	uint64_t *known = map_put(&test->known, (uintptr_t)text, NULL);

	if (!known) {
		test->has_nomem = true;
		return false;
	}
	if (*known == 0)
		*known = text_matches(test, text) ? 2 : 1;
	return *known == 2;
}

static bool takes_none(const struct expr *expr)
{
	for (size_t i = 0; i < expr->item_count; i++) {
		if (expr->items[i].is_none)
			return true;
	}
	return false;
}

/* The error of testing texts. */
static struct err *text_test_error(const struct text_test *test)
{
	if (test->has_nomem)
		return err_nomem();
	if (test->too_hard)
		return expr_error(test->compiler->text, test->expr->pattern_at,
				  "this regular expression takes too long to match '%.60s'",
				  test->too_hard);
	return sweep_check(test->compiler->limits);
}

static uint64_t *bits_new(const struct compiler *compiler, size_t count)
{
	return arena_array(compiler->facts->arena, div_up(count, 64), sizeof(uint64_t));
}

static void bits_set(uint64_t *bits, size_t at)
{
	bits[at / 64] |= UINT64_C(1) << at % 64;
}

static bool bits_have(const uint64_t *bits, size_t at)
{
	return bits[at / 64] >> at % 64 & 1;
}

/* --- every frame --------------------------------------------------------------------------- */

enum { HOLDS = 1, HAS_TEXT = 2, ASKED = 4, LIMITS_EVERY = 1 << 10 };

/* Results for one address's frames; cached by address, which many stacks share. */
static unsigned frames_ask(struct text_test *test, struct map *asked, uint32_t stack)
{
	const struct facts *facts = test->compiler->facts;
	const struct name_frames frames = names_frames(facts->names, stack);
	uint64_t *place = map_put(asked, (uintptr_t)frames.frames, NULL);

	if (!place) {
		test->has_nomem = true;
		return 0;
	}
	for (size_t i = 0; !(*place & ASKED) && i < frames.count; i++) {
		const char *text = test->expr->field->of_frame(facts, &frames.frames[i]);

		if (text && *text)
			*place |= HAS_TEXT | (text_test_holds(test, text) ? HOLDS : 0);
	}
	*place |= ASKED;
	return (unsigned)*place;
}

/* A stack matches if its own frames or those of its callers match; parents come first. */
static struct err *ask_stacks(struct text_test *test, uint64_t *holds, uint64_t *has_text)
{
	const struct model *model = test->compiler->facts->model;
	const struct capture_stack *stacks = model_stacks(model);
	CLEAN(map_deinit) struct map asked = { 0 };

	assert(test->compiler->facts->names);
	for (uint32_t i = CAPTURE_STACK_FIRST; i < model_stack_count(model); i++) {
		const unsigned own = frames_ask(test, &asked, i);
		struct err *err = NULL;

		if (own & HOLDS || bits_have(holds, stacks[i].parent))
			bits_set(holds, i);
		if (own & HAS_TEXT || bits_have(has_text, stacks[i].parent))
			bits_set(has_text, i);
		if (i % LIMITS_EVERY == 0 || test->too_hard || test->has_nomem)
			err = text_test_error(test);
		if (err)
			return err;
	}
	return text_test_error(test);
}

static struct err *compile_frames(struct text_test *test, struct plan *plan)
{
	const size_t stack_count = model_stack_count(test->compiler->facts->model);
	uint64_t *holds = bits_new(test->compiler, stack_count);
	uint64_t *has_text = bits_new(test->compiler, stack_count);
	struct err *err;

	if (!holds || !has_text)
		return err_nomem();
	err = ask_stacks(test, holds, has_text);
	if (err)
		return err;
	for (size_t i = 0; takes_none(test->expr) && i < div_up(stack_count, 64); i++)
		holds[i] |= ~has_text[i];
	plan->kind = PLAN_STACKS;
	plan->column =
		test->expr->field->scope == FIELD_OF_FREE_STACK ? MODEL_FREE_STACK : MODEL_STACK;
	plan->bits = holds;
	plan->bit_count = stack_count;
	return NULL;
}

/* --- one text ------------------------------------------------------------------------------ */

static struct err *compile_ids(struct text_test *test, struct plan *plan)
{
	const struct field *field = test->expr->field;
	const struct facts *facts = test->compiler->facts;
	const size_t count = field->id_count(facts);

	plan->kind = PLAN_IDS;
	plan->field = field;
	plan->takes_none = takes_none(test->expr);
	plan->bits = bits_new(test->compiler, count);
	plan->bit_count = count;
	if (!plan->bits)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const char *text = field_text(field, facts, i);

		if (text && text_test_holds(test, text))
			bits_set(plan->bits, i);
	}
	return text_test_error(test);
}

static struct err *compile_stack_text(struct text_test *test, struct plan *plan)
{
	const struct field *field = test->expr->field;
	const struct facts *facts = test->compiler->facts;

	plan->kind = PLAN_STACKS;
	plan->column = MODEL_STACK;
	plan->bit_count = model_stack_count(facts->model);
	plan->bits = bits_new(test->compiler, plan->bit_count);
	if (!plan->bits)
		return err_nomem();
	for (uint32_t i = 0; i < plan->bit_count; i++) {
		const char *text;

		if (model_stack_sums(facts->model, i)->allocated.count == 0)
			continue;
		text = field_text(field, facts, field->of_stack(facts, i));
		if (text ? text_test_holds(test, text) : takes_none(test->expr))
			bits_set(plan->bits, i);
	}
	return text_test_error(test);
}

struct err *compile_text(struct compiler *compiler, const struct expr *expr, struct plan **plan_ret)
{
	CLEAN(text_test_deinit) struct text_test test;
	struct plan *plan = plan_new(compiler, PLAN_STACKS);
	struct err *err = text_test_init(&test, compiler, expr);

	assert(expr->field->type == FIELD_TEXT || expr->field->type == FIELD_TEXTS);
	if (err || !plan)
		return err ? err : err_nomem();
	*plan_ret = plan;
	if (expr->field->of_frame)
		return compile_frames(&test, plan);
	return expr->field->of_rows ? compile_ids(&test, plan) : compile_stack_text(&test, plan);
}
