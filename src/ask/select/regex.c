#define PCRE2_CODE_UNIT_WIDTH 8

#include "select/regex.h"

#include <assert.h>
#include <pcre2.h>

/*
 * Names have at most some thousand bytes. A million steps is far more than a reasonable pattern
 * needs for one, and still only milliseconds.
 */
enum {
	PATTERN_BYTES_MAX = 8 << 10,
	STEPS_MAX = 1000 * 1000,
	DEPTH_MAX = 10 * 1000,
	HEAP_KIB_MAX = 20 << 10,
	JIT_STACK_BYTES = 32 << 10,
	JIT_STACK_BYTES_MAX = 1 << 20
};

struct regex {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *limits;
	pcre2_jit_stack *stack; /* NULL: interpreted */
};

void regex_destroy(struct regex *regex)
{
	if (!regex)
		return;
	pcre2_jit_stack_free(regex->stack);
	pcre2_match_context_free(regex->limits);
	pcre2_match_data_free(regex->match);
	pcre2_code_free(regex->code);
	free(regex);
}

static bool has_problem(struct regex_problem *problem, const char *text, size_t at)
{
	problem->at = at;
	snprintf(problem->text, sizeof(problem->text), "%s", text);
	return false;
}

static pcre2_code *compile(const char *pattern, struct regex_problem *problem)
{
	/* \C could match half a character; callouts and recursion limits are left to PCRE2. */
	const uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
	PCRE2_SIZE at = 0;
	int number = 0;
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options,
					 &number, &at, NULL);

	if (!code) {
		pcre2_get_error_message(number, (PCRE2_UCHAR *)problem->text,
					sizeof(problem->text));
		problem->at = at;
	}
	return code;
}

bool regex_create(const char *pattern, struct regex **regex_ret, struct regex_problem *problem)
{
	CLEAN(regex_destroy) struct regex *regex = calloc(1, sizeof(*regex));

	if (!regex)
		return has_problem(problem, "out of memory", 0);
	if (strnlen(pattern, PATTERN_BYTES_MAX + 1) > PATTERN_BYTES_MAX)
		return has_problem(problem, "pattern too long", 0);
	regex->code = compile(pattern, problem);
	if (!regex->code)
		return false;
	regex->match = pcre2_match_data_create(1, NULL);
	regex->limits = pcre2_match_context_create(NULL);
	if (!regex->match || !regex->limits)
		return has_problem(problem, "out of memory", 0);
	pcre2_set_match_limit(regex->limits, STEPS_MAX);
	pcre2_set_depth_limit(regex->limits, DEPTH_MAX);
	pcre2_set_heap_limit(regex->limits, HEAP_KIB_MAX);
	if (pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE) == 0) {
		regex->stack = pcre2_jit_stack_create(JIT_STACK_BYTES, JIT_STACK_BYTES_MAX, NULL);
		if (!regex->stack)
			return has_problem(problem, "out of memory", 0);
		pcre2_jit_stack_assign(regex->limits, NULL, regex->stack);
	}
	*regex_ret = steal(regex);
	return true;
}

enum regex_answer regex_match(const struct regex *regex, const char *text)
{
	const int count = pcre2_match(regex->code, (PCRE2_SPTR)text, strlen(text), 0, 0,
				      regex->match, regex->limits);

	assert(regex->code && regex->match);
	if (count >= 0)
		return REGEX_YES;
	return count == PCRE2_ERROR_NOMATCH ? REGEX_NO : REGEX_TOO_HARD;
}
