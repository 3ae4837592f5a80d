/*
 * /api/v1/fields: the words accepted by other requests - fields and operators of filters, measures,
 * groups, sort keys, file formats - for clients that offer a choice of them.
 */
#include "export/export.h"
#include "groups/groups.h"
#include "http/api_parts.h"
#include "http/html_report.h"

struct field_row {
	const char *name;
	struct shape_texts aliases;
	const char *type, *scope, *doc, *none, *percent;
	struct shape_texts operators;
};

struct measure_row {
	const char *word, *title, *title_so_far, *unit, *doc, *sort;
	bool at, scan, touches, kernel, spans, in_reports;
};

struct group_row {
	const char *word, *doc;
};

struct export_row {
	const char *name, *summary, *suffix, *kind;
	bool has_metric;
	const char *path;
};

struct sorts {
	struct shape_texts groups, by;
};

struct fields {
	struct shape_rows fields;
	struct shape_texts units, operators, moments;
	struct sorts sorts;
	struct shape_rows measures, groups, exports;
};

static const struct member field_members[] = {
	MEMBER(struct field_row, name, TEXT, NULL),
	MEMBER(struct field_row, aliases, TEXTS, "other names"),
	MEMBER(struct field_row, type, TEXT, NULL),
	MEMBER(struct field_row, scope, TEXT, "of what it is: an allocation, its chain ..."),
	MEMBER(struct field_row, doc, TEXT, NULL),
	MEMBER(struct field_row, none, TEXT, "when it has no value", .nullable = true),
	MEMBER(struct field_row, percent, TEXT, "of what a number with % is a part",
	       .nullable = true),
	MEMBER(struct field_row, operators, TEXTS, "that it can be compared by"),
};
static const struct shape shape_field = SHAPE("Field", struct field_row, field_members);

static const struct member measure_members[] = {
	MEMBER(struct measure_row, word, TEXT, "of `m`"),
	MEMBER(struct measure_row, title, TEXT, NULL),
	MEMBER(struct measure_row, title_so_far, TEXT, "on a tape whose program `goes_on`"),
	MEMBER(struct measure_row, unit, TEXT, NULL, .words = api_unit_words),
	MEMBER(struct measure_row, doc, TEXT, NULL),
	MEMBER(struct measure_row, sort, TEXT, "the sort key of groups", .nullable = true),
	MEMBER(struct measure_row, at, FLAG, "of a moment: takes `at`"),
	MEMBER(struct measure_row, scan, FLAG,
	       "of a leak scan: takes `scan`; tapes without one lack it"),
	MEMBER(struct measure_row, touches, FLAG,
	       "of looks at touched pages: tapes without them lack it"),
	MEMBER(struct measure_row, kernel, FLAG,
	       "of events of the kernel: tapes without them lack it"),
	MEMBER(struct measure_row, spans, FLAG, "adds up over spans of time"),
	MEMBER(struct measure_row, in_reports, FLAG, "reports can be sorted by it"),
};
static const struct shape shape_measure = SHAPE("Measure", struct measure_row, measure_members);

static const struct member group_members[] = {
	MEMBER(struct group_row, word, TEXT, "of `by`"),
	MEMBER(struct group_row, doc, TEXT, NULL),
};
static const struct shape shape_group = SHAPE("GroupBy", struct group_row, group_members);

static const struct member export_members[] = {
	MEMBER(struct export_row, name, TEXT, NULL),
	MEMBER(struct export_row, summary, TEXT, NULL),
	MEMBER(struct export_row, suffix, TEXT, "of the file's name"),
	MEMBER(struct export_row, kind, TEXT, NULL),
	MEMBER(struct export_row, has_metric, FLAG, "takes a measure"),
	MEMBER(struct export_row, path, TEXT, "of its own route; null: /api/v1/export",
	       .nullable = true),
};
static const struct shape shape_export = SHAPE("ExportFormat", struct export_row, export_members);

static const struct member sort_members[] = {
	MEMBER(struct sorts, groups, TEXTS, "sort keys of /api/v1/sites"),
	MEMBER(struct sorts, by, TEXTS, "its words of `by`"),
};
static const struct shape shape_sorts = SHAPE("Sorts", struct sorts, sort_members);

static const struct member fields_members[] = {
	MEMBER(struct fields, fields, ROWS, "of filters", .shape = &shape_field),
	MEMBER(struct fields, units, TEXTS, "of numbers in filters"),
	MEMBER(struct fields, operators, TEXTS, "of filters"),
	MEMBER(struct fields, moments, TEXTS, "ways to say one"),
	MEMBER(struct fields, sorts, OBJECT, NULL, .shape = &shape_sorts),
	MEMBER(struct fields, measures, ROWS, NULL, .shape = &shape_measure),
	MEMBER(struct fields, groups, ROWS, NULL, .shape = &shape_group),
	MEMBER(struct fields, exports, ROWS, NULL, .shape = &shape_export),
};
static const struct shape shape_fields = SHAPE("Fields", struct fields, fields_members);

/* A NULL-terminated list. */
static struct shape_texts texts_of(const char *const *words)
{
	struct shape_texts texts = { words, 0 };

	while (words[texts.count])
		texts.count++;
	return texts;
}

/* "size sz": words separated by blanks. */
static struct err *words_split(const char *text, struct arena *arena, struct shape_texts *texts)
{
	const char **items = arena_array(arena, strlen(text) + 1, sizeof(*items));

	if (!items)
		return err_nomem();
	texts->items = items;
	while (*text) {
		const size_t len = strcspn(text, " ");

		items[texts->count] = arena_text(arena, text, len);
		if (!items[texts->count++])
			return err_nomem();
		text += len + (text[len] == ' ');
	}
	return NULL;
}

static struct err *fields_fill(struct arena *arena, struct shape_rows *rows)
{
	struct field_row *items = arena_array(arena, field_count, sizeof(*items));
	struct err *err = items ? NULL : err_nomem();

	for (size_t i = 0; i < field_count && !err; i++) {
		const struct field *field = &field_table[i];

		items[i] = (struct field_row) {
			.name = field->name,
			.type = field_type_word(field->type),
			.scope = field_scope_word(field->scope),
			.doc = field->doc,
			.none = field->none,
			.percent = field->percent,
			.operators = texts_of(expr_operators(field)),
		};
		err = words_split(field->aliases, arena, &items[i].aliases);
	}
	*rows = (struct shape_rows) { .items = items, .count = field_count };
	return err;
}

static struct err *measures_fill(struct arena *arena, struct shape_rows *rows)
{
	struct measure_row *items = arena_array(arena, METRICS_NAMED, sizeof(*items));

	if (!items)
		return err_nomem();
	for (unsigned i = 0; i < METRICS_NAMED; i++) {
		const enum metric metric = (enum metric)i;

		items[i] = (struct measure_row) {
			.word = metric_words_all[i],
			.title = metric_title(metric),
			.title_so_far = metric_title_so_far(metric),
			.unit = api_unit(metric),
			.doc = metric_doc(metric),
			.sort = metric_group_key(metric),
			.at = metric == METRIC_LIVE,
			.scan = metric == METRIC_RETAINED,
			.touches = metric == METRIC_STALE,
			.kernel = metric_is_of_kernel(metric) || metric == METRIC_OWNED_FAULTS,
			.spans = metric_has_spans(metric),
			.in_reports = i < METRICS,
		};
	}
	*rows = (struct shape_rows) { .items = items, .count = METRICS_NAMED };
	return NULL;
}

static struct err *groups_fill(struct arena *arena, struct fields *fields)
{
	struct group_row *items = arena_array(arena, GROUP_BYS, sizeof(*items));
	const char **keys = arena_array(arena, GROUP_KEYS, sizeof(*keys));

	if (!items || !keys)
		return err_nomem();
	for (unsigned i = 0; i < GROUP_BYS; i++)
		items[i] = (struct group_row) { group_by_words[i], group_by_docs[i] };
	for (unsigned key = 0; key < GROUP_KEYS; key++)
		keys[key] = group_key_word(key);
	fields->groups = (struct shape_rows) { .items = items, .count = GROUP_BYS };
	fields->sorts.groups = (struct shape_texts) { keys, GROUP_KEYS };
	fields->sorts.by = texts_of(group_by_words);
	return NULL;
}

/* The route for this format alone with every measure; NULL: /export makes it. */
static const struct route *own_route(const struct export_format *format)
{
	char path[64];
	size_t id_len;
	const char *id;

	str_format(path, sizeof(path), "/api/v1/export/%s%s", format->name, format->suffix);
	return route_find(path, strlen(path), &id, &id_len);
}

static struct err *exports_fill(struct arena *arena, struct shape_rows *rows)
{
	struct export_row *items;
	size_t count = 0;

	while (export_table[count])
		count++;
	items = arena_array(arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct export_format *format = export_table[i];
		const struct route *route = own_route(format);

		items[i] = (struct export_row) {
			.name = format->name,
			.summary = format->summary,
			.suffix = format->suffix,
			.kind = export_kind_word(format->kind),
			.has_metric = format->has_metric,
			.path = route ? route->path : NULL,
		};
	}
	items[count] = (struct export_row) {
		.name = HTML_REPORT_NAME,
		.summary = HTML_REPORT_SUMMARY,
		.suffix = ".html",
		.kind = "everything",
		.path = HTML_REPORT_PATH,
	};
	*rows = (struct shape_rows) { .items = items, .count = count + 1 };
	return NULL;
}

static struct err *find(struct call *call, void *answer)
{
	static const char *const units[] = { "B",  "KiB", "MiB", "GiB", "TiB", "ns", "us",
					     "ms", "s",	  "m",	 "h",	"d",   "%",  NULL };
	static const char *const operators[] = { "=",	"==", "!=",  "<",   "<=",     ">",
						 ">=",	"~",  "!~",  "in",  "not in", "..",
						 "and", "or", "not", "all", NULL };
	static const char *const moments[] = { "start", "peak", "end", "mark(NAME)",
					       "1.5s",	"25%",	NULL };
	struct fields *fields = answer;
	struct err *err = fields_fill(call->arena, &fields->fields);

	if (!err)
		err = measures_fill(call->arena, &fields->measures);
	if (!err)
		err = groups_fill(call->arena, fields);
	if (!err)
		err = exports_fill(call->arena, &fields->exports);
	fields->units = texts_of(units);
	fields->operators = texts_of(operators);
	fields->moments = texts_of(moments);
	return err;
}

const struct route route_api_fields = {
	.path = "/api/v1/fields",
	.summary = "the words of filters, measures, groups and formats",
	.shape = &shape_fields,
	.find = find,
};
