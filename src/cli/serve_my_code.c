#include "cli/serve_my_code.h"

#include "base/vec.h"
#include "cli/my_code_file.h"

VEC_DEFINE(pattern_vec, struct my_code_pattern);

static struct err *pattern_add(struct pattern_vec *patterns, struct my_code_pattern pattern)
{
	return pattern.pattern && pattern_vec_push(patterns, pattern) ? NULL : err_nomem();
}

/* One row each, the last first. */
static struct err *rule_add(const struct role_rule *rule, const char *from, unsigned line,
			    struct arena *arena, struct pattern_vec *patterns)
{
	const char *list = rule->patterns, *pattern;
	struct err *err = NULL;
	size_t len;

	while (!err && (pattern = role_pattern_next(&list, &len)))
		err = pattern_add(patterns, (struct my_code_pattern) {
						    .role = role_word(rule->role),
						    .pattern = arena_text(arena, pattern, len),
						    .from = from,
						    .line = line,
					    });
	return err;
}

static struct err *builtins_add(struct arena *arena, struct pattern_vec *patterns)
{
	struct role_builtin builtin;
	struct err *err = NULL;

	for (size_t i = 0; !err && role_builtin(i, &builtin); i++) {
		const char *before = builtin.match == ROLE_BUILTIN_WITHIN ? "*" : "";
		const char *after = builtin.match == ROLE_BUILTIN_ALL ? "" : "*";

		err = pattern_add(patterns, (struct my_code_pattern) {
						    .role = role_word(builtin.role),
						    .pattern = arena_printf(arena, "%s%s%s", before,
									    builtin.text, after),
						    .from = "built-in",
						    .of = builtin.of,
					    });
	}
	return err;
}

static struct err *list(void *context, const char *tape_path, struct arena *arena,
			struct my_code *value)
{
	const struct serve_my_code *my_code = context;
	CLEAN(pattern_vec_deinit) struct pattern_vec patterns = { 0 };
	struct role_rules given = { 0 };
	struct my_code_file file = { 0 };
	struct my_code_pattern *items;
	struct err *err = my_code_file_read(tape_path, arena, &file);

	if (!err)
		err = my_code_given(my_code->options, arena, &given);
	for (size_t i = given.count; !err && i-- > 0;)
		err = rule_add(&given.rules[i], "option", 0, arena, &patterns);
	for (size_t i = file.line_count; !err && i-- > 0;)
		err = rule_add(&file.lines[i].rule, "config", file.lines[i].number, arena,
			       &patterns);
	if (!err)
		err = builtins_add(arena, &patterns);
	if (err)
		return err;
	items = arena_array(arena, patterns.count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	memcpy(items, patterns.items, patterns.count * sizeof(*items));
	*value = (struct my_code) {
		.config = file.path,
		.exists = file.exists,
		.refusal = my_code->refusal,
		.patterns = { .items = items, .count = patterns.count },
	};
	return NULL;
}

static struct err *change(void *context, const char *tape_path, const struct my_code_change *change)
{
	const struct serve_my_code *my_code = context;
	const struct role_rule add = { change->role, change->add };
	const struct role_rule remove = { change->role, change->remove };

	if (my_code->refusal)
		return err_new(ERR_UNSUPPORTED, "%s", my_code->refusal);
	return my_code_file_change(tape_path, &remove, change->remove != NULL, &add,
				   change->add != NULL);
}

void serve_my_code_init(struct serve_my_code *my_code, const struct my_code_options *options,
			const char *refusal)
{
	*my_code = (struct serve_my_code) {
		.options = options,
		.refusal = refusal,
		.source = { list, change, my_code },
	};
}

struct err *serve_my_code_rules(const void *context, const char *tape_path, struct arena *arena,
				struct role_rules *rules_ret)
{
	const struct serve_my_code *my_code = context;

	return my_code_rules(my_code->options, tape_path, arena, rules_ret);
}
