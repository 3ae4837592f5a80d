/*
 * annotate: a source file with what its lines allocated in the margin.
 */
#include "groups/lines.h"

#include "base/sort.h"
#include "report/quality.h"
#include "report/source.h"
#include "report/suppressed.h"
#include "report/text.h"

enum {
	COLUMNS = 11, /* of a number */
	LINE_COLUMNS = 6,
	CONTEXT_LINES = 2,
	COLUMNS_MAX = 16
};

/* --- columns ------------------------------------------------------------------------------- */

/* The last six are those of Valgrind's execution trees, by the names that kcachegrind shows. */
enum { COLUMNS_OWN = 11 };

static const struct column {
	const char *name;
	const char *key; /* in JSON and CSV; NULL: the metric's */
	enum { OF_TOTAL, OF_FREED, OF_SELF } of;
	enum metric metric;
} columns[] = {
	{ "allocated", NULL, OF_TOTAL, METRIC_ALLOCATED },
	{ "calls", NULL, OF_TOTAL, METRIC_COUNT },
	{ "peak", NULL, OF_TOTAL, METRIC_PEAK },
	{ "blocks", NULL, OF_TOTAL, METRIC_PEAK_COUNT },
	{ "leaked", NULL, OF_TOTAL, METRIC_LEAKED },
	{ "left", NULL, OF_TOTAL, METRIC_LEAKED_COUNT },
	{ "temporary", NULL, OF_TOTAL, METRIC_TEMPORARY },
	{ "freed", "freed_bytes", OF_FREED, METRIC_ALLOCATED },
	{ "frees", "freed_count", OF_FREED, METRIC_COUNT },
	{ "self", "self_bytes", OF_SELF, METRIC_ALLOCATED },
	{ "selfcalls", "self_count", OF_SELF, METRIC_COUNT },
	{ "curB", NULL, OF_TOTAL, METRIC_LEAKED },
	{ "curBk", NULL, OF_TOTAL, METRIC_LEAKED_COUNT },
	{ "totB", NULL, OF_TOTAL, METRIC_ALLOCATED },
	{ "totBk", NULL, OF_TOTAL, METRIC_COUNT },
	{ "totFdB", NULL, OF_FREED, METRIC_ALLOCATED },
	{ "totFdBk", NULL, OF_FREED, METRIC_COUNT },
};

static uint64_t line_value(const struct line *line, const struct column *column)
{
	const struct model_stack_sums freed = { .allocated = line->freed };
	const struct model_stack_sums *const sums[] = {
		[OF_TOTAL] = &line->total,
		[OF_FREED] = &freed,
		[OF_SELF] = &line->self,
	};

	return metric_value(column->metric, sums[column->of]);
}

static const char *column_key(const struct column *column)
{
	return column->key ? column->key : metric_key(column->metric);
}

static const char usual[] = "allocated,calls,peak,leaked";

struct chosen {
	const struct column *columns[COLUMNS_MAX];
	size_t count;
};

static const struct column *column_find(const char *name, size_t len)
{
	for (size_t i = 0; i < array_size(columns); i++) {
		if (strlen(columns[i].name) == len && memcmp(columns[i].name, name, len) == 0)
			return &columns[i];
	}
	return NULL;
}

static struct err *column_unknown(const char *name, size_t len)
{
	CLEAN(str_deinit) struct str known = { 0 };

	for (size_t i = 0; i < array_size(columns); i++)
		str_printf(&known, "%s%s", i ? ", " : "", columns[i].name);
	return err_new(ERR_USAGE, "--columns: '%.*s' is not one of %s", (int)u64_min(len, 32), name,
		       str_text(&known));
}

static struct err *columns_choose(const char *list, struct chosen *chosen)
{
	*chosen = (struct chosen) { 0 };
	for (list = list ? list : usual;; list++) {
		const size_t len = strcspn(list, ",");
		const struct column *column = column_find(list, len);

		if (!column)
			return column_unknown(list, len);
		if (chosen->count == COLUMNS_MAX)
			return err_new(ERR_USAGE, "--columns: at most %d", (int)COLUMNS_MAX);
		chosen->columns[chosen->count++] = column;
		list += len;
		if (!*list)
			return NULL;
	}
}

static struct err *check(const struct report_settings *settings)
{
	struct chosen chosen;

	return columns_choose(settings->with.columns, &chosen);
}

/* --- text ---------------------------------------------------------------------------------- */

struct page {
	const struct report_context *context;
	struct text *text;
	const struct chosen *chosen;
	const struct lines *lines;
	const struct source *source;
	uint64_t shown; /* the last line; 0: none yet */
};

static void add_value(struct text *text, const struct column *column, const struct line *line)
{
	const uint64_t value = line ? line_value(line, column) : 0;
	const bool is_bytes = metric_is_bytes(column->metric);
	char words[STR_SHORT_BYTES];

	if (value == 0)
		text_right(text, TEXT_DIM, line ? "." : "", COLUMNS);
	else
		text_right(text, is_bytes ? TEXT_VALUE : TEXT_PLAIN,
			   is_bytes ? str_iec(words, value) : str_grouped(words, value), COLUMNS);
}

/* line is NULL for one without numbers. */
static void add_line(struct page *page, uint64_t number, const struct line *line)
{
	const size_t taken = page->chosen->count * COLUMNS + LINE_COLUMNS + 3;
	struct text *text = page->text;
	CLEAN(str_deinit) struct str shown = { 0 };
	char words[STR_SHORT_BYTES];

	for (size_t i = 0; i < page->chosen->count; i++)
		add_value(text, page->chosen->columns[i], line);
	text_right(text, TEXT_DIM,
		   str_format(words, sizeof(words), "%llu", (unsigned long long)number),
		   LINE_COLUMNS);
	str_add(&text->out, "  ");
	if (number <= page->source->count) {
		text_cut(&shown, page->source->lines[number - 1],
			 text->width > taken + 20 ? text->width - taken : 20);
		text_add(text, line ? TEXT_PLAIN : TEXT_DIM, str_text(&shown));
	} else if (line) {
		text_function(text, TEXT_PLAIN,
			      names_get(page->context->names, line->name)->function, 60);
	}
	str_add_char(&text->out, '\n');
	page->shown = number;
}

static void add_gap(struct page *page, uint64_t next)
{
	if (next <= page->shown + 1 || (page->shown == 0 && next == 1))
		return;
	str_add_repeated(&page->text->out, ' ', page->chosen->count * COLUMNS);
	text_right(page->text, TEXT_DIM, "···", LINE_COLUMNS);
	str_add_char(&page->text->out, '\n');
}

/* Lines of the source that have no numbers, up to before `end`. */
static void add_context(struct page *page, uint64_t begin, uint64_t end)
{
	begin = u64_max(begin, page->shown + 1);
	if (page->source->count > 0 && begin < end && begin <= page->source->count)
		add_gap(page, begin);
	for (uint64_t i = begin; i < end && i <= page->source->count; i++)
		add_line(page, i, NULL);
}

static void add_lines(struct page *page)
{
	const bool is_whole = page->context->settings->with.whole_file;

	for (size_t i = 0; i < page->lines->count; i++) {
		const struct line *line = &page->lines->items[i];
		const uint64_t before = line->line > CONTEXT_LINES ? line->line - CONTEXT_LINES : 1;

		if (page->shown > 0 && !is_whole)
			add_context(page, page->shown + 1,
				    u64_min(page->shown + 1 + CONTEXT_LINES, line->line));
		add_context(page, is_whole ? 1 : before, line->line);
		add_gap(page, line->line);
		add_line(page, line->line, line);
	}
	add_context(page, page->shown + 1,
		    is_whole ? page->source->count + 1 : page->shown + 1 + CONTEXT_LINES);
}

static void add_titles(struct page *page)
{
	for (size_t i = 0; i < page->chosen->count; i++)
		text_right(page->text, TEXT_DIM, page->chosen->columns[i]->name, COLUMNS);
	text_right(page->text, TEXT_DIM, "line", LINE_COLUMNS);
	str_add_char(&page->text->out, '\n');
}

static void add_head(struct page *page, const char *tried)
{
	struct text *text = page->text;

	text_heading(text, page->lines->file,
		     page->source->path && strcmp(page->source->path, page->lines->file) != 0
			     ? page->source->path
			     : NULL);
	if (!page->source->path) {
		text_style(text, TEXT_BAD);
		str_add(&text->out, "The source is not there: ");
		str_add_terminal(&text->out, tried);
		str_add(&text->out, ". --path-map FROM=TO says where it is now.\n");
		text_style(text, TEXT_PLAIN);
	} else if (page->source->is_newer) {
		text_add(text, TEXT_BAD,
			 "The source is newer than the recording: lines may have "
			 "moved.");
		str_add_char(&text->out, '\n');
	}
}

static struct err *annotate_text(const struct report_context *context, const struct chosen *chosen,
				 const struct lines *lines, const struct source *source,
				 const char *tried, FILE *out)
{
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	struct page page = { context, &text, chosen, lines, source, 0 };

	text_head(&text, context->model);
	add_head(&page, tried);
	add_titles(&page);
	add_lines(&page);
	suppressed_line(&text, context);
	quality_text(&text, context);
	return text_write(&text, out);
}

/* --- JSON and CSV -------------------------------------------------------------------------- */

static void emit_line(struct emit *emit, const struct report_context *context,
		      const struct line *line, const struct source *source)
{
	emit_row(emit);
	emit_u64(emit, "line", line->line, EMIT_PLAIN);
	emit_text(emit, "function", names_get(context->names, line->name)->function);
	for (size_t i = 0; i < COLUMNS_OWN; i++)
		emit_u64(emit, column_key(&columns[i]), line_value(line, &columns[i]), EMIT_PLAIN);
	emit_text(emit, "text", line->line <= source->count ? source->lines[line->line - 1] : NULL);
	emit_end(emit);
}

static struct err *annotate_emit(const struct report_context *context, const struct lines *lines,
				 const struct source *source, FILE *out)
{
	const struct emit_settings settings = { .format = context->settings->format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);
	const bool is_json = settings.format == EMIT_JSON;
	struct emit_column shown[COLUMNS_OWN + 3] = { { .key = "line" }, { .key = "function" } };

	if (!emit)
		return err_nomem();
	for (size_t i = 0; i < COLUMNS_OWN; i++)
		shown[i + 2].key = column_key(&columns[i]);
	shown[COLUMNS_OWN + 2].key = "text";
	if (is_json) {
		emit_object(emit, NULL);
		emit_text(emit, "file", lines->file);
		emit_text(emit, "source", source->path);
		emit_bool(emit, "source_is_newer", source->is_newer);
	}
	emit_table(emit, is_json ? "lines" : NULL, shown, array_size(shown));
	for (size_t i = 0; i < lines->count; i++)
		emit_line(emit, context, &lines->items[i], source);
	emit_end(emit);
	if (is_json) {
		suppressed_emit(emit, context);
		quality_emit(emit, context);
		emit_end(emit);
	}
	return emit_finish(emit);
}

/* --- */

/* The lines that have most of what is sorted by, in their order. */
static struct err *lines_cut(const struct report_context *context, struct lines *lines)
{
	const struct report_settings *settings = context->settings;
	const enum metric metric =
		settings->has_sort ? (enum metric)settings->sort : METRIC_ALLOCATED;
	CLEAN(free) struct sort_pair *order = calloc(lines->count + 1, sizeof(*order));
	size_t kept = 0;

	if (settings->with.top == 0 || settings->with.top >= lines->count)
		return NULL;
	for (size_t i = 0; order && i < lines->count; i++)
		order[i] = (struct sort_pair) { ~metric_value(metric, &lines->items[i].total),
						(uint32_t)i };
	if (!order || !sort_pairs(order, lines->count))
		return err_nomem();
	for (size_t i = settings->with.top; i < lines->count; i++)
		lines->items[order[i].index].line = 0;
	for (size_t i = 0; i < lines->count; i++) {
		if (lines->items[i].line > 0)
			lines->items[kept++] = lines->items[i];
	}
	lines->count = kept;
	return NULL;
}

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct report_settings *settings = context->settings;
	CLEAN(str_deinit) struct str tried = { 0 };
	struct chosen chosen;
	struct source source;
	struct lines lines;
	struct err *err = columns_choose(settings->with.columns, &chosen);

	if (!err)
		err = lines_find(&context->sums, context->selection, context->names, context->mode,
				 settings->operands[0], context->arena, &lines);
	if (!err)
		err = source_read(context->model, lines.file, settings->operands[0],
				  &settings->source_opener, context->arena, &tried, &source);
	if (!err)
		err = lines_cut(context, &lines);
	if (err)
		return err;
	return settings->format == EMIT_TEXT
		       ? annotate_text(context, &chosen, &lines, &source, str_text(&tried), out)
		       : annotate_emit(context, &lines, &source, out);
}

const struct report report_annotate = {
	.name = "annotate",
	.summary = "a source FILE with what its lines allocated in the margin",
	.depth = MODEL_FULL,
	.operands = "FILE",
	.reads_sources = true,
	.selects = true,
	.check = check,
	.run = run,
};
