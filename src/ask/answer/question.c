#include "answer/question.h"

#include <assert.h>
#include <inttypes.h>

#include "base/str.h"
#include "select/moment.h"

uint64_t question_takes(const struct question *question)
{
	uint64_t takes = question->takes | TAKES(frames);

	if (question->selects)
		takes |= TAKES(filter) | TAKES(from) | TAKES(until);
	if (question->has_window)
		takes |= TAKES(from) | TAKES(until);
	if (question->sorts)
		takes |= TAKES(sort);
	return takes;
}

/* --- checking ----------------------------------------------------------------------------------- */

/* Length of the list of questions without its terminator. */
static int questions_len(const struct parameter *parameter)
{
	const size_t len = strlen(parameter->questions);

	return len > 2 ? (int)len - 2 : 0;
}

static struct err *not_taken(const struct question *question, enum parameter_id id)
{
	const struct parameter *parameter = &parameter_table[id];
	const bool chooses = TAKES(filter) & (UINT64_C(1) << id) || id == PARAMETER_from ||
			     id == PARAMETER_until;

	if (chooses)
		return err_new(ERR_USAGE,
			       "'%s' is about the whole tape, not about single allocations: it has "
			       "no --%s; %s",
			       question->name, parameter->name, question->instead);
	if (questions_len(parameter) > 0)
		return err_new(ERR_USAGE, "'%s' has no --%s: it is for %.*s", question->name,
			       parameter->name, questions_len(parameter), parameter->questions);
	return err_new(ERR_USAGE, "'%s' has no --%s", question->name, parameter->name);
}

static struct err *word_find(const char *const *words, const char *word, unsigned *index_ret)
{
	CLEAN(str_deinit) struct str known = { 0 };

	for (unsigned i = 0; words[i]; i++) {
		if (strcmp(words[i], word) == 0) {
			*index_ret = i;
			return NULL;
		}
		str_printf(&known, "%s%s", i ? ", " : "", words[i]);
	}
	return err_new(ERR_USAGE, "expected one of %s", str_text(&known));
}

static struct err *value_check(const struct question *question, const struct parameters *with,
			       enum parameter_id id)
{
	const struct parameter *parameter = &parameter_table[id];
	const void *place = (const char *)with + parameter->place;
	struct moment moment;
	unsigned index;

	if (parameter->operand && !*(const char *const *)place && question->optional >> id & 1)
		return NULL;
	if (parameter->operand && !*(const char *const *)place)
		return err_new(ERR_USAGE, "'%s' needs %s", question->name, parameter->operand);
	if (!parameter_is_given(with, id))
		return NULL;
	if (id == PARAMETER_sort && question->sorts)
		return word_find(question->sorts, with->sort, &index);
	if (parameter->kind == PARAMETER_IS_MOMENT)
		return moment_parse(*(const char *const *)place, &moment);
	if (parameter->max && *(const uint64_t *)place > parameter->max)
		return err_new(ERR_USAGE, "at most %" PRIu64, parameter->max);
	return NULL;
}

struct err *question_check(const struct question *question, const struct parameters *with,
			   enum parameter_id *wrong_ret)
{
	const struct selection_settings selection = question_selection(question, with);
	const uint64_t takes = question_takes(question);
	struct err *err = NULL;

	for (unsigned id = 0; id < PARAMETER_COUNT && !err; id++) {
		const bool is_taken = takes >> id & 1;

		*wrong_ret = (enum parameter_id)id;
		if (is_taken)
			err = value_check(question, with, *wrong_ret);
		else if (parameter_is_given(with, *wrong_ret))
			err = not_taken(question, *wrong_ret);
	}
	if (err)
		return err;
	*wrong_ret = PARAMETER_filter;
	err = selection_check(&selection);
	if (err || !question->check)
		return err;
	*wrong_ret = PARAMETER_COUNT;
	return question->check(with);
}

/* --- asking ------------------------------------------------------------------------------------- */

struct selection_settings question_selection(const struct question *question,
					     const struct parameters *with)
{
	const bool ignores_leaks = !question->selects || question->ignores_leaks;

	if (!question->selects)
		return (struct selection_settings) { .ignores_leaks = ignores_leaks };
	return (struct selection_settings) {
		.filter = with->filter,
		.from = question->has_window ? NULL : with->from,
		.until = question->has_window ? NULL : with->until,
		.ignores_leaks = ignores_leaks,
	};
}

enum model_subject question_subject(const struct question *question, const struct parameters *with)
{
	if (question->takes & TAKES(by) && with->by == GROUP_BY_POOL)
		return MODEL_OF_POOLS;
	return question->selects && with->filter ? selection_subject(with->filter)
						 : question->subject;
}

enum model_depth question_depth(const struct question *question, const struct parameters *with)
{
	const struct selection_settings selection = question_selection(question, with);
	const bool needs_rows = question->needs_rows && question->needs_rows(with);

	assert(question->depth == MODEL_SUMMARY || question->depth == MODEL_FULL);
	return needs_rows || selection_needs_rows(&selection) ? MODEL_FULL : question->depth;
}

struct err *question_prepare(const struct question *question, struct asked *asked)
{
	const struct parameters *with = asked->with;
	struct err *err = NULL;

	assert(asked->with);
	assert(asked->model && asked->names);
	asked->mode = question->shows_all ? WALK_ALL : (enum walk_mode)with->frames;
	asked->tells_leaks = question->selects && !question->ignores_leaks;
	asked->sort = question->sort;
	if (question->sorts && with->sort)
		err = word_find(question->sorts, with->sort, &asked->sort);
	if (err || !question->has_window)
		return err;
	asked->has_window = !question->selects && (with->from || with->until);
	err = asked_range(asked, &asked->from_ns, &asked->until_ns);
	if (!with->until)
		asked->until_ns = UINT64_MAX;
	return err;
}

struct err *question_ask(const struct question *question, const struct asked *asked,
			 const void **result_ret)
{
	assert(asked->selection->model == asked->model);
	assert(question->shape->bytes > 0);
	void *result = arena_alloc(asked->arena, question->shape->bytes);

	assert(asked->model && asked->names && asked->selection && asked->with);
	*result_ret = result;
	return result ? question->ask(asked, result) : err_nomem();
}

/* --- for questions ------------------------------------------------------------------------------ */

struct err *asked_moment(const struct asked *asked, const char *text, uint64_t fallback_ns,
			 uint64_t *ns_ret)
{
	struct moment moment;
	struct err *err;

	*ns_ret = fallback_ns;
	if (!text)
		return NULL;
	err = moment_parse(text, &moment);
	return err ? err : moment_ns(&moment, asked->model, ns_ret);
}

struct err *asked_range(const struct asked *asked, uint64_t *from_ret, uint64_t *until_ret)
{
	struct moment_span span = { .until = { .kind = MOMENT_END } };
	struct err *err = NULL;

	if (asked->with->from)
		err = moment_parse(asked->with->from, &span.from);
	if (!err && asked->with->until)
		err = moment_parse(asked->with->until, &span.until);
	return err ? err : moment_span_ns(&span, asked->model, from_ret, until_ret);
}
