#include "cli/my_code.h"

#include "cli/my_code_file.h"

static const struct option_list *list_of(const struct my_code_options *options, size_t kind)
{
	switch (my_code_kinds[kind].role) {
	case NAME_LIBRARY:
		return &options->library;
	case NAME_ALLOCATOR:
		return &options->wrapper;
	case NAME_MINE:
	case NAME_START:
		break;
	}
	return &options->my;
}

static struct err *option_check(const char *word, const char *patterns)
{
	struct err *err = role_patterns_check(patterns);
	const char *suggest;
	size_t at = 0;

	if (!err)
		return NULL;
	err_at_of(err, &at, &suggest);
	return err_wrap(err, "--%s '%s': character %zu", word, patterns, at + 1);
}

struct err *my_code_given(const struct my_code_options *options, struct arena *arena,
			  struct role_rules *rules_ret)
{
	const size_t count_max =
		options->my.count + options->library.count + options->wrapper.count;
	struct role_rule *rules = arena_array(arena, count_max + 1, sizeof(*rules));
	size_t count = 0;

	if (!rules)
		return err_nomem();
	for (size_t kind = 0; kind < MY_CODE_KINDS; kind++) {
		const struct option_list *list = list_of(options, kind);

		for (size_t i = 0; i < list->count; i++) {
			struct err *err = option_check(my_code_kinds[kind].word, list->items[i]);

			if (err)
				return err;
			rules[count++] =
				(struct role_rule) { my_code_kinds[kind].role, list->items[i] };
		}
	}
	*rules_ret = (struct role_rules) { rules, count };
	return NULL;
}

struct err *my_code_rules(const struct my_code_options *options, const char *tape_path,
			  struct arena *arena, struct role_rules *rules_ret)
{
	struct role_rules given = { 0 };
	struct my_code_file file = { 0 };
	struct role_rule *rules;
	struct err *err = my_code_file_read(tape_path, arena, &file);

	if (!err)
		err = my_code_given(options, arena, &given);
	if (err)
		return err;
	rules = arena_array(arena, file.line_count + given.count + 1, sizeof(*rules));
	if (!rules)
		return err_nomem();
	for (size_t i = 0; i < file.line_count; i++)
		rules[i] = file.lines[i].rule;
	for (size_t i = 0; i < given.count; i++)
		rules[file.line_count + i] = given.rules[i];
	*rules_ret = (struct role_rules) { rules, file.line_count + given.count };
	return NULL;
}

struct err *my_code_remember(const struct my_code_options *options, const char *tape_path)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct role_rules given = { 0 };
	struct err *err;

	if (!options->remember)
		return NULL;
	err = my_code_given(options, &arena, &given);
	if (!err && given.count == 0)
		err = err_new(ERR_USAGE, "--remember: needs --my, --library or --wrapper");
	return err ? err : my_code_file_change(tape_path, NULL, 0, given.rules, given.count);
}
