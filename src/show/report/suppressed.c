#include "report/suppressed.h"

#include "report/answered.h"

static const struct suppressions *rules_of(const struct report_context *context)
{
	return &context->selection->facts->suppressor->rules;
}

static const struct suppressed_leaks *leaks_of(const struct report_context *context)
{
	return &context->selection->suppressed_leaks;
}

void suppressed_add_origins(struct str *out, const char *file)
{
	str_add(out, "built-in");
	if (!file)
		return;
	str_add(out, ", ");
	str_add_terminal(out, file);
}

static void add_sum(struct str *out, const struct model_sum *sum)
{
	str_add_iec(out, sum->bytes);
	str_add(out, " in ");
	str_add_counted(out, sum->count, "block");
}

static void add_rules(struct str *out, const struct report_context *context)
{
	const struct suppressions *rules = rules_of(context);

	for (size_t i = 0; i < rules->count; i++) {
		const struct model_sum *leaked = &leaks_of(context)->by_rule[i];

		if (leaked->count == 0)
			continue;
		str_add(out, "  ");
		add_sum(out, leaked);
		str_add(out, ": ");
		str_add_terminal(out, rules->rules[i].text);
		if (rules->rules[i].reason)
			str_printf(out, ", %s", rules->rules[i].reason);
		str_add_char(out, '\n');
	}
}

static void add_origins_line(struct text *text, const struct report_context *context)
{
	CLEAN(str_deinit) struct str line = { 0 };

	str_add(&line, "suppressions: ");
	suppressed_add_origins(&line, rules_of(context)->file);
	text_add(text, TEXT_DIM, str_text(&line));
	str_add_char(&text->out, '\n');
}

void suppressed_text(struct text *text, const struct report_context *context)
{
	if (leaks_of(context)->total.count > 0) {
		text_heading(text, "Expected leftovers (suppressed)", NULL);
		add_rules(&text->out, context);
	}
	if (rules_of(context)->file) {
		str_add_char(&text->out, '\n');
		add_origins_line(text, context);
	}
}

void suppressed_line(struct text *text, const struct report_context *context)
{
	CLEAN(str_deinit) struct str line = { 0 };

	if (leaks_of(context)->total.count == 0)
		return;
	add_sum(&line, &leaks_of(context)->total);
	str_add(&line, " more suppressed");
	text_add(text, TEXT_DIM, str_text(&line));
	str_add_char(&text->out, '\n');
	if (rules_of(context)->file)
		add_origins_line(text, context);
}
