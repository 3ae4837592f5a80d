/* SQL functions beyond SQLite's own. */
#include "select/regex.h"
#include "sql/sql_table.h"
#include "sums/walk.h"

enum { STACK_TEXT_MAX = 1 << 20 }; /* hostile tapes have deep stacks */

/* For functions that need an integer: anything else is NULL. */
static bool is_count(const struct sql_value *value)
{
	return value->kind == SQL_INTEGER && value->integer >= 0;
}

static void answer(struct sql_value *result, const struct str *out)
{
	result->kind = SQL_TEXT;
	result->text = str_text(out);
	result->bytes = out->len;
}

/* Reads an integer, or the real that avg() returns; writes the sign to out. False: not a number. */
static bool read_number(const struct sql_value *value, struct str *out, uint64_t *size_ret)
{
	const double real = value->kind == SQL_REAL ? value->real : 0;
	const bool is_negative = value->kind == SQL_REAL ? real < 0 : value->integer < 0;
	const double size = real < 0 ? -real : real;

	if ((value->kind != SQL_INTEGER && value->kind != SQL_REAL) || !(size < 0x1p63))
		return false;
	if (is_negative)
		str_add_char(out, '-');
	*size_ret = value->kind == SQL_REAL ? (uint64_t)(size + 0.5)
		    : is_negative	    ? -(uint64_t)value->integer
					    : (uint64_t)value->integer;
	return true;
}

static struct err *human_bytes(struct sql_context *context, const struct sql_value *arguments,
			       struct sql_value *result, struct str *out)
{
	uint64_t bytes;

	(void)context;
	if (read_number(&arguments[0], out, &bytes)) {
		str_add_iec(out, bytes);
		answer(result, out);
	}
	return NULL;
}

static struct err *human_time(struct sql_context *context, const struct sql_value *arguments,
			      struct sql_value *result, struct str *out)
{
	uint64_t ns;

	(void)context;
	if (read_number(&arguments[0], out, &ns)) {
		str_add_duration(out, ns);
		answer(result, out);
	}
	return NULL;
}

static struct err *human_address(struct sql_context *context, const struct sql_value *arguments,
				 struct sql_value *result, struct str *out)
{
	(void)context;
	if (is_count(&arguments[0])) {
		str_add_hex(out, (uint64_t)arguments[0].integer);
		answer(result, out);
	}
	return NULL;
}

static struct err *bytes_of(struct sql_context *context, const struct sql_value *arguments,
			    struct sql_value *result, struct str *out)
{
	uint64_t bytes;

	(void)context;
	(void)out;
	if (arguments[0].kind == SQL_NULL)
		return NULL;
	if (arguments[0].kind != SQL_TEXT || !str_parse_bytes(arguments[0].text, &bytes))
		return err_new(ERR_USAGE, "bytes() expects text such as '4KiB' or '1.5M'");
	sql_value_u64(result, bytes);
	return NULL;
}

static struct err *ns_of(struct sql_context *context, const struct sql_value *arguments,
			 struct sql_value *result, struct str *out)
{
	uint64_t ns;

	(void)context;
	(void)out;
	if (arguments[0].kind == SQL_NULL)
		return NULL;
	if (arguments[0].kind != SQL_TEXT || !str_parse_duration(arguments[0].text, &ns))
		return err_new(ERR_USAGE, "ns() expects text such as '10ms' or '1.5s'");
	sql_value_u64(result, ns);
	return NULL;
}

static bool is_stack(const struct sql_context *context, const struct sql_value *value)
{
	return is_count(value) && (uint64_t)value->integer < model_stack_count(context->model);
}

static struct err *stack_text(struct sql_context *context, const struct sql_value *arguments,
			      struct sql_value *result, struct str *out)
{
	const struct name_frame *frame;
	struct walk walk;

	if (!is_stack(context, &arguments[0]))
		return NULL;
	walk = walk_begin(context->model, context->names, (uint32_t)arguments[0].integer, WALK_MY);
	while (out->len < STACK_TEXT_MAX && (frame = walk_next(&walk))) {
		if (out->len > 0)
			str_add(out, " < ");
		str_add(out, names_get(context->names, frame->name)->function);
	}
	answer(result, out);
	return NULL;
}

/* Texts by stack, computed once: GROUP BY needs them for every allocation. */
static const char **sites_of(struct sql_context *context)
{
	if (!context->sites)
		context->sites = arena_array(&context->arena, model_stack_count(context->model),
					     sizeof(*context->sites));
	return context->sites;
}

static struct err *site(struct sql_context *context, const struct sql_value *arguments,
			struct sql_value *result, struct str *out)
{
	const char **sites = sites_of(context);
	const struct name_frame *frame;
	uint32_t stack;

	(void)out;
	if (!is_stack(context, &arguments[0]))
		return NULL;
	if (!sites)
		return err_nomem();
	stack = (uint32_t)arguments[0].integer;
	if (!sites[stack]) {
		struct walk walk = walk_begin(context->model, context->names, stack, WALK_MY);

		frame = walk_next(&walk);
		if (frame)
			sites[stack] = names_get(context->names, frame->name)->function;
	}
	sql_value_text(result, sites[stack]);
	return NULL;
}

/* Cache of compiled patterns; a statement has few, and uses each repeatedly. */
enum { REGEXES = 8 };

struct regex_cache {
	struct regex *regexes[REGEXES];
	char *patterns[REGEXES];
	size_t next; /* next to be replaced */
};

void sql_regexes_destroy(struct regex_cache *regexes)
{
	for (size_t i = 0; i < REGEXES && regexes; i++) {
		regex_destroy(regexes->regexes[i]);
		free(regexes->patterns[i]);
	}
	free(regexes);
}

static struct err *compile(struct regex_cache *cache, const char *pattern,
			   const struct regex **regex_ret)
{
	const size_t at = cache->next++ % REGEXES;
	struct regex *regex = NULL;
	struct regex_problem problem;

	if (!regex_create(pattern, &regex, &problem))
		return err_new(ERR_USAGE, "pattern '%s', character %zu: %s", pattern,
			       problem.at + 1, problem.text);
	regex_destroy(cache->regexes[at]);
	free(cache->patterns[at]);
	cache->regexes[at] = regex;
	cache->patterns[at] = strdup(pattern);
	*regex_ret = regex;
	return cache->patterns[at] ? NULL : err_nomem();
}

static struct err *regex_of(struct sql_context *context, const char *pattern,
			    const struct regex **regex_ret)
{
	struct regex_cache *cache = context->regexes;

	if (!cache)
		context->regexes = cache = calloc(1, sizeof(*cache));
	if (!cache)
		return err_nomem();
	for (size_t i = 0; i < REGEXES; i++) {
		if (cache->patterns[i] && strcmp(cache->patterns[i], pattern) == 0) {
			*regex_ret = cache->regexes[i];
			return NULL;
		}
	}
	return compile(cache, pattern, regex_ret);
}

static struct err *regexp(struct sql_context *context, const struct sql_value *arguments,
			  struct sql_value *result, struct str *out)
{
	const struct regex *regex = NULL;
	enum regex_answer matches;
	struct err *err;

	(void)out;
	if (arguments[0].kind != SQL_TEXT || arguments[1].kind != SQL_TEXT)
		return NULL;
	err = regex_of(context, arguments[0].text, &regex);
	if (err)
		return err;
	matches = regex_match(regex, arguments[1].text);
	if (matches == REGEX_TOO_HARD)
		return err_new(ERR_LIMIT, "pattern '%s' takes too long", arguments[0].text);
	sql_value_u64(result, matches == REGEX_YES);
	return NULL;
}

const struct sql_scalar sql_scalars[] = {
	{ "human_bytes", 1, "human_bytes(n)", "bytes as a person reads them: 1.2 MiB",
	  human_bytes },
	{ "human_time", 1, "human_time(ns)", "nanoseconds as a person reads them: 1.50 ms",
	  human_time },
	{ "human_address", 1, "human_address(n)", "an address in hexadecimal", human_address },
	{ "bytes", 1, "bytes(text)", "the number of bytes in '4KiB'", bytes_of },
	{ "ns", 1, "ns(text)", "the nanoseconds in '10ms'", ns_of },
	{ "site", 1, "site(stack)",
	  "the innermost function on a stack, machinery of allocation aside", site },
	{ "regexp", 2, "text REGEXP pattern", "whether a pattern of Perl's kind matches", regexp },
	{ "stack_text", 1, "stack_text(stack)", "all functions on a stack, innermost first",
	  stack_text },
	{ 0 },
};
