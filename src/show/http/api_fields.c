/*
 * /api/v1/fields: the words of filters and sort keys, for those who complete them.
 */
#include "groups/groups.h"
#include "http/call.h"

static void emit_words(struct emit *emit, const char *key, const char *const *words)
{
	emit_list(emit, key);
	for (; *words; words++)
		emit_text(emit, NULL, *words);
	emit_end(emit);
}

static void emit_aliases(struct emit *emit, const char *aliases)
{
	emit_list(emit, "aliases");
	while (*aliases) {
		const size_t len = strcspn(aliases, " ");
		CLEAN(str_deinit) struct str word = { 0 };

		str_add_bytes(&word, aliases, len);
		emit_text(emit, NULL, str_text(&word));
		aliases += len + (aliases[len] == ' ');
	}
	emit_end(emit);
}

static void emit_field(struct emit *emit, const struct field *field)
{
	emit_object(emit, NULL);
	emit_text(emit, "name", field->name);
	emit_aliases(emit, field->aliases);
	emit_text(emit, "type", field_type_word(field->type));
	emit_text(emit, "scope", field_scope_word(field->scope));
	emit_text(emit, "doc", field->doc);
	emit_text(emit, "none", field->none);
	emit_text(emit, "percent", field->percent);
	emit_end(emit);
}

static struct err *run(struct call *call)
{
	static const char *const units[] = { "B",  "KiB", "MiB", "GiB", "TiB", "ns", "us",
					     "ms", "s",	  "m",	 "h",	"d",   "%",  NULL };
	static const char *const operators[] = { "=",	"==", "!=",  "<",   "<=",     ">",
						 ">=",	"~",  "!~",  "in",  "not in", "..",
						 "and", "or", "not", "all", NULL };
	static const char *const moments[] = { "start", "peak", "end", "mark(NAME)",
					       "1.5s",	"25%",	NULL };
	struct emit *emit = call->emit;

	emit_list(emit, "fields");
	for (size_t i = 0; i < field_count; i++)
		emit_field(emit, &field_table[i]);
	emit_end(emit);
	emit_words(emit, "units", units);
	emit_words(emit, "operators", operators);
	emit_words(emit, "moments", moments);
	emit_object(emit, "sorts");
	emit_words(emit, "groups", group_key_words);
	emit_words(emit, "by", group_by_words);
	emit_end(emit);
	return NULL;
}

const struct route route_api_fields = {
	.path = "/api/v1/fields",
	.summary = "the words of filters and sort keys",
	.answer = "Fields",
	.run = run,
};
