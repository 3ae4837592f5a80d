/*
 * The filter of a site: text for memtape-filter(7) that selects exactly this function of this
 * module. Names come from the tape and may contain anything.
 */
#include <assert.h>

#include "findings/finding.h"

/* Whether `site = "text"` matches (select/filter_text.c): also with parameters in parentheses. */
static bool is_taken_for(const char *function, const char *text)
{
	const size_t len = strlen(text);

	return strncmp(function, text, len) == 0 && (function[len] == '\0' || function[len] == '(');
}

struct rivals {
	bool of_text;	/* the text matches other functions */
	bool in_module; /* also in the same module */
};

static struct rivals rivals_of(const struct finding_search *search, const struct name *name)
{
	struct rivals rivals = { 0 };

	for (size_t i = 0; i < search->sites.count; i++) {
		const struct name *other = names_get(search->names, search->sites.items[i].name);

		if (other == name || !is_taken_for(other->function, name->function))
			continue;
		rivals.of_text = true;
		rivals.in_module |= strcmp(other->module, name->module) == 0;
	}
	return rivals;
}

/* In quotes a backslash is literal, except before the quote. */
static bool can_be_quoted(const char *text, char quote)
{
	return !strchr(text, quote) && !strchr(text, '\\');
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == ' ' || c == ':' || c == ',' || c == '<' || c == '>' || c == '/' ||
	       c == '-' || c == '=' || c == '@' || c == '~' || c == '&' || (c & 0x80);
}

/* A regular expression for the whole text; characters that cannot be written become '.'. */
static void add_pattern(struct str *out, const char *text)
{
	str_add(out, " ~ \"^");
	for (; *text; text++) {
		if (is_word(*text))
			str_add_char(out, *text);
		else if (*text == '"' || *text == '\\' || *text < ' ' || *text == 0x7f)
			str_add_char(out, '.');
		else
			str_printf(out, "[%s%c]", *text == '^' ? "\\" : "", *text);
	}
	str_add(out, "$\"");
}

static void add_test(struct str *out, const char *field, const char *text, bool is_exact)
{
	str_add(out, field);
	if (!is_exact && can_be_quoted(text, '"'))
		str_printf(out, " = \"%s\"", text);
	else if (!is_exact && can_be_quoted(text, '\''))
		str_printf(out, " = '%s'", text);
	else
		add_pattern(out, text);
}

char *finding_site_filter(const struct finding_search *search, const struct site *site,
			  const char *more)
{
	const struct name *name = names_get(search->names, site->name);
	const struct rivals rivals = rivals_of(search, name);
	CLEAN(str_deinit) struct str text = { 0 };

	assert((size_t)(site - search->sites.items) < search->sites.count);
	const char *field = search->mode == WALK_MY ? "site" : "exact_site";

	add_test(&text, field, name->function, rivals.in_module);
	if (rivals.of_text)
		str_printf(&text, " and %s", field);
	if (rivals.of_text && name->module[0])
		add_test(&text, "_module", name->module, false);
	else if (rivals.of_text)
		str_add(&text, "_module = none");
	if (more)
		str_printf(&text, " and %s", more);
	return text.failed ? NULL : arena_strdup(search->arena, str_text(&text));
}
