/*
 * /api/v1/fields: the words that other questions take - fields and operators of filters, measures,
 * groups, sort keys, formats of files - for those who offer a choice of them.
 */
#include "export/export.h"
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
	emit_words(emit, "operators", expr_operators(field));
	emit_end(emit);
}

static void emit_measures(struct emit *emit)
{
	emit_list(emit, "measures");
	for (unsigned i = 0; i < METRICS_NAMED; i++) {
		const enum metric metric = (enum metric)i;

		emit_object(emit, NULL);
		emit_text(emit, "word", metric_words_all[i]);
		emit_text(emit, "title", metric_title(metric));
		emit_text(emit, "unit", metric_is_bytes(metric) ? "bytes" : "count");
		emit_text(emit, "doc", metric_doc(metric));
		emit_text(emit, "sort", metric_group_key(metric));
		emit_bool(emit, "at", metric == METRIC_LIVE);
		emit_bool(emit, "spans", metric_has_spans(metric));
		emit_bool(emit, "in_reports", i < METRICS);
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_groups(struct emit *emit)
{
	emit_list(emit, "groups");
	for (unsigned i = 0; i < GROUP_BYS; i++) {
		emit_object(emit, NULL);
		emit_text(emit, "word", group_by_words[i]);
		emit_text(emit, "doc", group_by_docs[i]);
		emit_end(emit);
	}
	emit_end(emit);
}

/* The route that makes this one format and takes every measure; NULL: /export does it. */
static const struct route *own_route(const struct export_format *format)
{
	char path[64];
	size_t id_len;
	const char *id;

	str_format(path, sizeof(path), "/api/v1/export/%s%s", format->name, format->suffix);
	return route_find(path, strlen(path), &id, &id_len);
}

static void emit_exports(struct emit *emit)
{
	emit_list(emit, "exports");
	for (const struct export_format *const *at = export_table; *at; at++) {
		const struct route *route = own_route(*at);

		emit_object(emit, NULL);
		emit_text(emit, "name", (*at)->name);
		emit_text(emit, "summary", (*at)->summary);
		emit_text(emit, "suffix", (*at)->suffix);
		emit_text(emit, "kind", export_kind_word((*at)->kind));
		emit_bool(emit, "has_metric", (*at)->has_metric);
		emit_text(emit, "path", route ? route->path : NULL);
		emit_end(emit);
	}
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
	emit_list(emit, "groups");
	for (unsigned key = 0; key < GROUP_KEYS; key++)
		emit_text(emit, NULL, group_key_word(key));
	emit_end(emit);
	emit_words(emit, "by", group_by_words);
	emit_end(emit);
	emit_measures(emit);
	emit_groups(emit);
	emit_exports(emit);
	return NULL;
}

const struct route route_api_fields = {
	.path = "/api/v1/fields",
	.summary = "the words of filters, measures, groups and formats",
	.answer = "Fields",
	.run = run,
};
