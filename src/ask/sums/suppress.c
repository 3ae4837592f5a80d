#include "sums/suppress.h"

#include <assert.h>

#include "base/map.h"
#include "base/str.h"

enum { FILE_BYTES_MAX = 16 << 20 };

static const char LEAK[] = "leak:";
static const char LIBSTDCXX_POOL[] = "(libstdc++ as it is loaded)";

static const struct suppress_rule built_in[] = {
	{ LIBSTDCXX_POOL, "the C++ library's reserve for exceptions, kept to the end" },
	{ "leak:^_dl_allocate_tls", "thread-local storage, kept for the next thread" },
	{ "leak:^allocate_dtv", "thread-local storage, kept for the next thread" },
	{ "leak:^_IO_file_doallocate", "a buffer of stdio; a FILE that leaked is shown itself" },
};

VEC_DEFINE(rule_vec, struct suppress_rule);

/* --- rules ----------------------------------------------------------------------------------- */

static struct err *line_parse(const char *line, size_t len, size_t number, const char *origin,
			      struct arena *arena, struct rule_vec *rules)
{
	struct suppress_rule rule = { 0 };

	while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t' || line[len - 1] == '\r'))
		len--;
	while (len > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	if (len == 0 || *line == '#')
		return NULL;
	if (!memchr(line, ':', len))
		return err_new(ERR_USAGE, "%s:%zu: expected leak:PATTERN", origin, number);
	if (len <= strlen(LEAK) || strncmp(line, LEAK, strlen(LEAK)) != 0)
		return NULL;
	rule.text = arena_text(arena, line, len);
	return rule.text && rule_vec_push(rules, rule) ? NULL : err_nomem();
}

static struct err *lines_parse(const char *text, const char *origin, struct arena *arena,
			       struct rule_vec *rules)
{
	for (size_t number = 1;; number++) {
		const char *end = strchrnul(text, '\n');
		struct err *err =
			line_parse(text, (size_t)(end - text), number, origin, arena, rules);

		if (err || !*end)
			return err;
		text = end + 1;
	}
}

struct err *suppressions_parse(const char *text, const char *origin, struct arena *arena,
			       struct suppressions *suppressions_ret)
{
	CLEAN(rule_vec_deinit) struct rule_vec rules = { 0 };
	struct suppress_rule *copy;
	struct err *err;

	assert(text && origin);
	for (size_t i = 0; i < array_size(built_in); i++) {
		if (!rule_vec_push(&rules, built_in[i]))
			return err_nomem();
	}
	err = lines_parse(text, origin, arena, &rules);
	if (err)
		return err;
	copy = arena_array(arena, rules.count, sizeof(*copy));
	if (!copy)
		return err_nomem();
	memcpy(copy, rules.items, rules.count * sizeof(*copy));
	*suppressions_ret = (struct suppressions) { .rules = copy, .count = rules.count };
	return NULL;
}

struct err *suppressions_load(const char *path, struct arena *arena,
			      struct suppressions *suppressions_ret)
{
	CLEAN(fclose) FILE *file = NULL;
	CLEAN(str_deinit) struct str text = { 0 };
	char buf[4096];
	struct err *err;
	size_t len;

	if (!path)
		return suppressions_parse("", "", arena, suppressions_ret);
	file = fopen(path, "re");
	if (!file)
		return err_errno("open %s", path);
	while ((len = fread(buf, 1, sizeof(buf), file)) > 0 && text.len < FILE_BYTES_MAX)
		str_add_bytes(&text, buf, len);
	if (ferror(file))
		return err_errno("read %s", path);
	if (text.failed)
		return err_nomem();
	if (memchr(str_text(&text), '\0', text.len) || text.len >= FILE_BYTES_MAX)
		return err_new(ERR_USAGE, "%s is not a suppressions file", path);
	err = suppressions_parse(str_text(&text), path, arena, suppressions_ret);
	if (err)
		return err;
	suppressions_ret->file = arena_strdup(arena, path);
	return suppressions_ret->file ? NULL : err_nomem();
}

/* --- patterns -------------------------------------------------------------------------------- */

/* Whether text starts with the piece of the pattern up to '*', '$' or the end. */
static const char *piece_end(const char *pattern)
{
	while (*pattern && *pattern != '*' && !(pattern[0] == '$' && pattern[1] == '\0'))
		pattern++;
	return pattern;
}

/*
 * Searches the pieces of the pattern from left to right, each at its first match; that is enough,
 * because only the last may be anchored to the end. Linear except for each piece's search.
 */
static bool pattern_matches(const char *pattern, const char *text)
{
	bool is_bound = *pattern == '^';

	pattern += is_bound;
	for (;;) {
		const char *end = piece_end(pattern);
		const size_t len = (size_t)(end - pattern), rest = strlen(text);
		const char *hit;

		if (len > rest)
			return false;
		if (*end == '$') {
			hit = text + rest - len;
			return memcmp(hit, pattern, len) == 0 && (!is_bound || hit == text);
		}
		hit = is_bound ? (memcmp(text, pattern, len) == 0 ? text : NULL)
			       : memmem(text, rest, pattern, len);
		if (!hit)
			return false;
		if (!*end)
			return true;
		text = hit + len;
		pattern = end + 1;
		is_bound = false;
	}
}

bool suppress_rule_fits(const struct suppress_rule *rule, const char *text)
{
	return rule->text != LIBSTDCXX_POOL && pattern_matches(rule->text + strlen(LEAK), text);
}

/* --- stacks ---------------------------------------------------------------------------------- */

struct matching {
	const struct suppressions *suppressions;
	const struct model *model;
	struct names *names;
	struct map by_name; /* name -> number of the rule that matches its texts + 1; 0: none */
};

/* 0: none, else the rule's number + 1. */
static uint32_t rule_of_texts(const struct matching *matching, const struct name *name,
			      const char *file)
{
	const struct suppressions *suppressions = matching->suppressions;

	for (size_t i = 0; i < suppressions->count; i++) {
		const struct suppress_rule *rule = &suppressions->rules[i];

		if (name ? suppress_rule_fits(rule, name->function) ||
				    suppress_rule_fits(rule, name->full) ||
				    suppress_rule_fits(rule, name->module)
			 : suppress_rule_fits(rule, file))
			return (uint32_t)i + 1;
	}
	return 0;
}

static uint32_t rule_first(uint32_t a, uint32_t b)
{
	if (a == 0 || b == 0)
		return a | b;
	return a < b ? a : b;
}

static uint32_t rule_of_frame(struct matching *matching, const struct name_frame *frame)
{
	const struct name *name = names_get(matching->names, frame->name);
	bool is_new = false;
	uint64_t *place = map_put(&matching->by_name, frame->name, &is_new);
	uint32_t rule;

	if (place && !is_new)
		rule = (uint32_t)*place;
	else
		rule = rule_of_texts(matching, name, NULL);
	if (place)
		*place = rule;
	return frame->file ? rule_first(rule, rule_of_texts(matching, NULL, frame->file)) : rule;
}

static bool module_begins(const struct name *name, const char *text)
{
	return strncmp(name->module_short, text, strlen(text)) == 0;
}

static bool is_loader(const struct name *name)
{
	return module_begins(name, "ld-linux") || module_begins(name, "ld-musl") ||
	       strcmp(name->function, "call_init") == 0 || strcmp(name->function, "_dl_init") == 0;
}

/* Allocated by libstdc++ itself when loaded: its constructors, before main. */
static bool is_libstdcxx_start(const struct matching *matching, uint32_t stack)
{
	const struct capture_stack *stacks = model_stacks(matching->model);
	bool is_inside = false;

	for (; stack >= CAPTURE_STACK_FIRST; stack = stacks[stack].parent) {
		const struct name_frames frames = names_look(matching->names, stack);

		for (size_t i = 0; i < frames.count; i++) {
			const struct name *name = names_get(matching->names, frames.frames[i].name);

			if (!module_begins(name, "libstdc++.so"))
				return is_inside && is_loader(name);
			is_inside = true;
		}
	}
	return false;
}

static uint32_t rule_of_library(const struct matching *matching, uint32_t stack)
{
	const struct suppressions *suppressions = matching->suppressions;

	for (size_t i = 0; i < suppressions->count; i++) {
		if (suppressions->rules[i].text == LIBSTDCXX_POOL)
			return is_libstdcxx_start(matching, stack) ? (uint32_t)i + 1 : 0;
	}
	return 0;
}

/*
 * By stack, for wanted stacks and their ancestors: parents have lower numbers, so a backward pass
 * finds which are needed, and a forward pass what matches them.
 */
static void frames_match(struct matching *matching, const uint8_t *wanted, uint32_t *rule_of)
{
	enum { NEEDED = UINT32_MAX };
	const struct capture_stack *stacks = model_stacks(matching->model);
	const size_t count = model_stack_count(matching->model);

	for (size_t i = count; i-- > CAPTURE_STACK_FIRST;) {
		if (wanted[i])
			rule_of[i] = NEEDED;
		if (rule_of[i] == NEEDED)
			rule_of[stacks[i].parent] = NEEDED;
	}
	for (size_t i = 0; i < CAPTURE_STACK_FIRST && i < count; i++)
		rule_of[i] = 0;
	for (size_t i = CAPTURE_STACK_FIRST; i < count; i++) {
		struct name_frames frames;

		if (rule_of[i] != NEEDED)
			continue;
		frames = names_look(matching->names, (uint32_t)i);
		rule_of[i] = rule_of[stacks[i].parent];
		for (size_t at = 0; at < frames.count; at++)
			rule_of[i] =
				rule_first(rule_of[i], rule_of_frame(matching, &frames.frames[at]));
	}
}

/* Whether any of the wanted stacks is suppressed. */
static bool rules_find(struct matching *matching, const uint8_t *wanted, uint32_t *rule_of)
{
	bool finds_some = false;

	frames_match(matching, wanted, rule_of);
	for (size_t i = 0; i < model_stack_count(matching->model); i++) {
		if (!wanted[i])
			rule_of[i] = 0;
		else if (rule_of[i] == 0)
			rule_of[i] = rule_of_library(matching, (uint32_t)i);
		finds_some |= rule_of[i] != 0;
	}
	return finds_some;
}

/* --- sums ------------------------------------------------------------------------------------ */

static void sum_move(struct model_sum *sum, const struct model_sum *part, bool is_in)
{
	sum->count += is_in ? part->count : -part->count;
	sum->bytes += is_in ? part->bytes : -part->bytes;
}

struct err *suppressed_take_out(const struct suppressed *suppressed, struct model_by_stack stacks,
				struct model_stack_sums *total, struct arena *arena,
				struct suppressed_leaks *leaks_ret)
{
	struct model_sum *by_rule =
		arena_array(arena, suppressed->rules->count + 1, sizeof(*by_rule));
	struct suppressed_leaks leaks = { .by_rule = by_rule };

	assert(suppressed->rule_of);
	if (!by_rule)
		return err_nomem();
	for (size_t i = 0; i < model_stack_count(suppressed->model); i++) {
		struct model_sum *leaked =
			&((struct model_stack_sums *)model_sums_of(&stacks, i))->leaked;

		if (!suppressed_has(suppressed, i) || leaked->count == 0)
			continue;
		sum_move(&by_rule[suppressed->rule_of[i] - 1], leaked, true);
		sum_move(&leaks.total, leaked, true);
		sum_move(&total->leaked, leaked, false);
		*leaked = (struct model_sum) { 0 };
	}
	*leaks_ret = leaks;
	return NULL;
}

/* Sums of the whole tape, with totals if the model has them. */
static struct err *sums_make(struct suppressed *suppressed, struct arena *arena)
{
	const struct sums whole = sums_of_model(suppressed->model);
	struct model_stack_sums *items = arena_array(arena, whole.stacks.count + 1, sizeof(*items));
	struct err *err;

	if (!items)
		return err_nomem();
	memcpy(items, whole.stacks.items, whole.stacks.count * sizeof(*items));
	suppressed->sums = (struct sums) {
		.model = whole.model,
		.stacks = { whole.stacks.seats, items, whole.stacks.count },
		.total = whole.total,
	};
	err = suppressed_take_out(suppressed, suppressed->sums.stacks, &suppressed->sums.total,
				  arena, &suppressed->leaks);
	if (!err && whole.totals)
		err = sums_total_up(&suppressed->sums, arena);
	return err;
}

/* --- a tape's -------------------------------------------------------------------------------- */

void suppressor_init(struct suppressor *suppressor, const struct model *model, struct names *names,
		     const struct suppressions *rules)
{
	assert(model && names);
	assert(!rules || rules->count == 0 || rules->rules);
	*suppressor = (struct suppressor) { .model = model, .names = names };
	if (rules)
		suppressor->rules = *rules;
	pthread_mutex_init(&suppressor->lock, NULL);
}

void suppressor_deinit(struct suppressor *suppressor)
{
	if (!suppressor->model)
		return;
	pthread_mutex_destroy(&suppressor->lock);
	arena_deinit(&suppressor->arena);
}

/* In the arena; NULL: no rule matches. */
static struct err *stacks_match(struct suppressor *suppressor, const uint8_t *wanted,
				struct arena *arena, const uint32_t **rule_of_ret)
{
	const size_t count = model_stack_count(suppressor->model);
	struct matching matching = { .suppressions = &suppressor->rules,
				     .model = suppressor->model,
				     .names = suppressor->names };
	uint32_t *rule_of = arena_array(arena, count + 1, sizeof(*rule_of));

	if (!rule_of)
		return err_nomem();
	*rule_of_ret = rules_find(&matching, wanted, rule_of) ? rule_of : NULL;
	map_deinit(&matching.by_name);
	return NULL;
}

static struct err *suppressed_stacks(struct suppressor *suppressor, struct suppressed *suppressed)
{
	const size_t count = model_stack_count(suppressor->model);
	CLEAN(free) uint8_t *wanted = malloc(count + 1);
	const uint32_t *rule_of = NULL;
	struct err *err;

	if (!wanted)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		wanted[i] = model_stack_sums(suppressor->model, i)->leaked.count > 0;
	err = stacks_match(suppressor, wanted, &suppressor->arena, &rule_of);
	if (err)
		return err;
	*suppressed = (struct suppressed) { .rules = &suppressor->rules,
					    .model = suppressor->model,
					    .rule_of = rule_of };
	return rule_of ? sums_make(suppressed, &suppressor->arena) : NULL;
}

struct err *suppressor_find(struct suppressor *suppressor, const struct suppressed **suppressed_ret)
{
	struct suppressed *found;
	struct err *err = NULL;

	*suppressed_ret = NULL;
	if (!suppressor || suppressor->rules.count == 0)
		return NULL;
	pthread_mutex_lock(&suppressor->lock);
	found = suppressor->found;
	if (!found) {
		found = arena_new(&suppressor->arena, struct suppressed);
		err = found ? suppressed_stacks(suppressor, found) : err_nomem();
		if (!err)
			suppressor->found = found;
	}
	pthread_mutex_unlock(&suppressor->lock);
	assert(err || found->model == suppressor->model);
	if (!err && found->rule_of)
		*suppressed_ret = found;
	return err;
}

struct err *suppressor_match(struct suppressor *suppressor, const uint8_t *wanted,
			     struct arena *arena, const uint32_t **rule_of_ret)
{
	struct err *err;

	*rule_of_ret = NULL;
	if (!suppressor || suppressor->rules.count == 0)
		return NULL;
	pthread_mutex_lock(&suppressor->lock);
	err = stacks_match(suppressor, wanted, arena, rule_of_ret);
	pthread_mutex_unlock(&suppressor->lock);
	return err;
}
