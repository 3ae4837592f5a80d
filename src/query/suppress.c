#include "query/suppress.h"

#include "base/map.h"
#include "base/str.h"
#include "query/walk.h"

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
		return err_new(ERR_USAGE, "%s, line %zu: not leak:PATTERN", origin, number);
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
	*suppressions_ret = (struct suppressions) { copy, rules.count };
	return NULL;
}

struct err *suppressions_load(const char *path, struct arena *arena,
			      struct suppressions *suppressions_ret)
{
	CLEAN(fclose) FILE *file = NULL;
	CLEAN(str_deinit) struct str text = { 0 };
	char buf[4096];
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
		return err_new(ERR_USAGE, "%s is no list of suppressions", path);
	return suppressions_parse(str_text(&text), path, arena, suppressions_ret);
}

/* --- patterns -------------------------------------------------------------------------------- */

/* Whether text begins with the piece of the pattern up to '*', '$' or the end. */
static const char *piece_end(const char *pattern)
{
	while (*pattern && *pattern != '*' && !(pattern[0] == '$' && pattern[1] == '\0'))
		pattern++;
	return pattern;
}

/*
 * The pattern's pieces are looked for from left to right, each as early as it can be, which is
 * enough: only the last may be bound to the end. Linear but for the search of each piece.
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

/* --- stacks ---------------------------------------------------------------------------------- */

struct matching {
	const struct suppressions *suppressions;
	const struct model *model;
	struct names *names;
	struct map by_name; /* name -> number of the rule that fits its texts + 1; 0: none */
};

/* 0: none, else the rule's number + 1. */
static uint32_t rule_of_texts(const struct matching *matching, const struct name *name,
			      const char *file)
{
	const struct suppressions *suppressions = matching->suppressions;

	for (size_t i = 0; i < suppressions->count; i++) {
		const char *pattern = suppressions->rules[i].text + strlen(LEAK);

		if (suppressions->rules[i].text == LIBSTDCXX_POOL)
			continue;
		if (name ? pattern_matches(pattern, name->function) ||
				    pattern_matches(pattern, name->full) ||
				    pattern_matches(pattern, name->module)
			 : pattern_matches(pattern, file))
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

/* Allocated in libstdc++ itself, called by the loader: its constructors, before main. */
static bool is_libstdcxx_start(const struct matching *matching, uint32_t stack)
{
	struct walk walk = walk_begin(matching->model, matching->names, stack, WALK_ALL);
	const struct name_frame *frame = walk_next(&walk);
	bool is_inside = false;

	for (; frame; frame = walk_next(&walk)) {
		const struct name *name = names_get(matching->names, frame->name);

		if (!module_begins(name, "libstdc++.so"))
			return is_inside &&
			       (module_begins(name, "ld-linux") || module_begins(name, "ld-musl") ||
				strcmp(name->function, "call_init") == 0 ||
				strcmp(name->function, "_dl_init") == 0);
		is_inside = true;
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
 * By stack, of those that leaked and what they came from: parents have smaller numbers, so one pass
 * back tells which are needed, and one forth what fits them.
 */
static void rules_find(struct matching *matching, const struct sums *sums, uint32_t *rule_of)
{
	enum { NEEDED = UINT32_MAX };
	const struct capture_stack *stacks = model_stacks(matching->model);
	const size_t count = model_stack_count(matching->model);

	for (size_t i = count; i-- > CAPTURE_STACK_FIRST;) {
		if (sums->stacks[i].leaked.count > 0)
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
		frames = names_frames(matching->names, (uint32_t)i);
		rule_of[i] = rule_of[stacks[i].parent];
		for (size_t at = 0; at < frames.count; at++)
			rule_of[i] =
				rule_first(rule_of[i], rule_of_frame(matching, &frames.frames[at]));
	}
}

static void sums_split(const struct matching *matching, const struct sums *sums, uint32_t *rule_of,
		       struct model_stack_sums *kept, struct suppressed *suppressed)
{
	for (size_t i = 0; i < model_stack_count(matching->model); i++) {
		struct model_sum *leaked = &kept[i].leaked;
		struct model_sum *by;

		kept[i] = sums->stacks[i];
		if (leaked->count == 0) {
			rule_of[i] = 0;
			continue;
		}
		if (rule_of[i] == 0)
			rule_of[i] = rule_of_library(matching, (uint32_t)i);
		if (rule_of[i] == 0)
			continue;
		by = &suppressed->leaked_by[rule_of[i] - 1];
		by->count += leaked->count;
		by->bytes += leaked->bytes;
		suppressed->leaked.count += leaked->count;
		suppressed->leaked.bytes += leaked->bytes;
		*leaked = (struct model_sum) { 0 };
	}
}

struct err *suppress_leaks(const struct suppressions *suppressions, const struct sums *sums,
			   struct names *names, struct arena *arena,
			   struct suppressed *suppressed_ret)
{
	const size_t count = model_stack_count(sums->model);
	struct matching matching = { .suppressions = suppressions,
				     .model = sums->model,
				     .names = names };
	uint32_t *rule_of = arena_array(arena, count + 1, sizeof(*rule_of));
	struct model_stack_sums *kept = arena_array(arena, count + 1, sizeof(*kept));
	struct suppressed suppressed = { .sums = *sums, .rule_of = rule_of };

	suppressed.leaked_by =
		arena_array(arena, suppressions->count + 1, sizeof(*suppressed.leaked_by));
	if (!rule_of || !kept || !suppressed.leaked_by)
		return err_nomem();
	rules_find(&matching, sums, rule_of);
	sums_split(&matching, sums, rule_of, kept, &suppressed);
	map_deinit(&matching.by_name);
	suppressed.sums.stacks = kept;
	suppressed.sums.total.leaked.count -= suppressed.leaked.count;
	suppressed.sums.total.leaked.bytes -= suppressed.leaked.bytes;
	*suppressed_ret = suppressed;
	return NULL;
}
