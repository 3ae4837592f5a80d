#include "base/emit.h"

#include <assert.h>
#include <errno.h>

#include "base/grid.h"
#include "base/str.h"

enum { DEPTH_MAX = 32, FLUSH_BYTES = 1 << 16, INDENT = 2, TITLE_WIDTH = 24 };

enum level_kind { LEVEL_OBJECT, LEVEL_LIST, LEVEL_TABLE, LEVEL_ROW };

struct level {
	enum level_kind kind;
	const char *key;
	size_t member_count;
	size_t path_len; /* CSV: length of the dotted path before this level */
	bool text_seen;	 /* inside a cell: only the first text of an object is shown */
};

struct emit {
	FILE *out;
	struct emit_settings settings;
	struct level levels[DEPTH_MAX];
	size_t depth;
	struct str pending; /* not yet written */
	struct str path;    /* CSV: "allocations.count" without the last part */
	struct grid grid;   /* of the innermost table; tables nest only inside cells */
	size_t table_depth; /* depth inside the table, 0: no table */
	struct str *cell;   /* where nested values go; NULL: not shown */
	int write_errno;
	bool gap_due; /* text: an empty line before the next output */
};

struct emit *emit_create(FILE *out, const struct emit_settings *settings)
{
	struct emit *emit = calloc(1, sizeof(*emit));

	assert(settings->format <= EMIT_CSV);
	if (emit) {
		emit->out = out;
		emit->settings = *settings;
	}
	return emit;
}

void emit_destroy(struct emit *emit)
{
	if (!emit)
		return;
	grid_end(&emit->grid, NULL);
	str_deinit(&emit->pending);
	str_deinit(&emit->path);
	free(emit);
}

static void flush(struct emit *emit)
{
	CLEAN(str_deinit) struct str folded = { 0 };
	const char *text = str_text(&emit->pending);
	size_t len = emit->pending.len;

	if (emit->settings.format == EMIT_TEXT && emit->settings.width > 0) {
		str_add_wrapped(&folded, text, emit->settings.width);
		text = str_text(&folded);
		len = folded.len;
		emit->pending.failed |= folded.failed;
	}
	errno = 0;
	if (emit->write_errno == 0 && len > 0 && fwrite(text, 1, len, emit->out) != len)
		emit->write_errno = errno ? errno : EIO;
	emit->pending.len = 0;
}

static void flush_if_large(struct emit *emit)
{
	if (emit->pending.len >= FLUSH_BYTES)
		flush(emit);
}

bool emit_has_failed(const struct emit *emit)
{
	return emit->write_errno || emit->pending.failed || emit->path.failed;
}

void emit_fail(struct emit *emit)
{
	emit->pending.failed = true;
}

enum emit_format emit_format_of(const struct emit *emit)
{
	return emit->settings.format;
}

struct err *emit_finish(struct emit *emit)
{
	assert(emit->depth == 0);
	flush(emit);
	errno = 0;
	if (emit->write_errno == 0 && fflush(emit->out) != 0)
		emit->write_errno = errno ? errno : EIO;
	if (emit->write_errno)
		return err_errno_new(emit->write_errno, "write");
	return emit->pending.failed || emit->path.failed ? err_nomem() : NULL;
}

static struct level *innermost(struct emit *emit)
{
	return emit->depth ? &emit->levels[emit->depth - 1] : NULL;
}

static bool in_table_row(const struct emit *emit)
{
	return emit->table_depth && emit->depth > emit->table_depth;
}

/* JSON: white space for human readers. */
static void json_break(struct emit *emit)
{
	if (emit->settings.compact)
		return;
	str_add_char(&emit->pending, '\n');
	str_add_repeated(&emit->pending, ' ', emit->depth * INDENT);
}

/* JSON: the comma, newline, indentation and key before any value. */
static void json_begin(struct emit *emit, const char *key)
{
	struct level *level = innermost(emit);

	if (!level)
		return;
	if (level->member_count++ > 0)
		str_add_char(&emit->pending, ',');
	json_break(emit);
	if (level->kind == LEVEL_OBJECT || level->kind == LEVEL_ROW) {
		str_add_json(&emit->pending, key);
		str_add(&emit->pending, emit->settings.compact ? ":" : ": ");
	}
}

static void json_end(struct emit *emit, const struct level *level)
{
	bool is_object = level->kind == LEVEL_OBJECT || level->kind == LEVEL_ROW;

	if (level->member_count > 0)
		json_break(emit);
	str_add_char(&emit->pending, is_object ? '}' : ']');
	if (emit->depth == 0)
		str_add_char(&emit->pending, '\n');
}

static void gap_if_due(struct emit *emit)
{
	if (emit->gap_due)
		str_add_char(&emit->pending, '\n');
	emit->gap_due = false;
}

/* Text outside tables is indented by its enclosing objects, except the outermost. */
static size_t text_indent(const struct emit *emit)
{
	return emit->depth > 1 ? (emit->depth - 1) * INDENT : 0;
}

static void text_heading(struct emit *emit, const char *key)
{
	str_add_repeated(&emit->pending, ' ', text_indent(emit));
	if (emit->settings.colour)
		str_add(&emit->pending, "\033[1m");
	grid_title(&emit->pending, key);
	if (emit->settings.colour)
		str_add(&emit->pending, "\033[0m");
	str_add_char(&emit->pending, '\n');
}

static void level_push(struct emit *emit, enum level_kind kind, const char *key)
{
	assert(emit->depth < DEPTH_MAX);
	emit->levels[emit->depth++] =
		(struct level) { .kind = kind, .key = key, .path_len = emit->path.len };
	if (key && emit->settings.format == EMIT_CSV && !in_table_row(emit)) {
		str_add(&emit->path, key);
		str_add_char(&emit->path, '.');
	}
}

static void nested_begin(struct emit *emit, enum level_kind kind, const char *key)
{
	bool is_list = kind == LEVEL_LIST || kind == LEVEL_TABLE;

	if (emit->settings.format == EMIT_JSON) {
		json_begin(emit, key);
		str_add_char(&emit->pending, is_list ? '[' : '{');
	} else if (in_table_row(emit)) {
		if (emit->depth == emit->table_depth + 1)
			emit->cell = grid_cell(&emit->grid, key);
	} else if (emit->settings.format == EMIT_TEXT && key) {
		gap_if_due(emit);
		if (kind != LEVEL_TABLE)
			text_heading(emit, key);
	}
	level_push(emit, kind, key);
}

void emit_object(struct emit *emit, const char *key)
{
	nested_begin(emit, LEVEL_OBJECT, key);
}

void emit_list(struct emit *emit, const char *key)
{
	nested_begin(emit, LEVEL_LIST, key);
}

static void csv_header(struct emit *emit)
{
	for (size_t i = 0; i < emit->grid.column_count; i++) {
		if (i > 0)
			str_add_char(&emit->pending, ',');
		str_add_csv(&emit->pending, emit->grid.columns[i].key);
	}
	str_add_char(&emit->pending, '\n');
}

void emit_table(struct emit *emit, const char *key, const struct emit_column *columns,
		size_t column_count)
{
	assert(columns || column_count == 0);
	assert(emit->table_depth == 0);
	nested_begin(emit, LEVEL_TABLE, key);
	if (emit->settings.format == EMIT_JSON)
		return;
	emit->pending.failed |= !grid_begin(&emit->grid, columns, column_count, &emit->settings,
					    emit->depth > 2 ? (emit->depth - 2) * INDENT : 0);
	emit->table_depth = emit->depth;
	if (emit->settings.format == EMIT_CSV)
		csv_header(emit);
	else
		gap_if_due(emit);
}

void emit_row(struct emit *emit)
{
	assert(emit->depth > 0);
	assert(emit->levels[emit->depth - 1].kind == LEVEL_TABLE);
	if (emit->settings.format == EMIT_JSON)
		nested_begin(emit, LEVEL_ROW, NULL);
	else
		level_push(emit, LEVEL_ROW, NULL);
}

static void csv_row(struct emit *emit)
{
	for (size_t i = 0; i < emit->grid.column_count; i++) {
		if (i > 0)
			str_add_char(&emit->pending, ',');
		str_add_csv(&emit->pending, str_text(&emit->grid.cells[i]));
		str_clear(&emit->grid.cells[i]);
	}
	str_add_char(&emit->pending, '\n');
}

static void table_end(struct emit *emit)
{
	if (emit->settings.format == EMIT_TEXT)
		grid_end(&emit->grid, &emit->pending);
	else
		grid_end(&emit->grid, NULL);
	emit->table_depth = 0;
	emit->gap_due = true;
}

void emit_end(struct emit *emit)
{
	const struct level *level;

	assert(emit->depth > 0);
	level = &emit->levels[--emit->depth];
	if (emit->settings.format == EMIT_JSON) {
		json_end(emit, level);
	} else if (level->kind == LEVEL_ROW) {
		if (emit->grid.cells && emit->settings.format == EMIT_TEXT)
			grid_row_end(&emit->grid, &emit->pending);
		else if (emit->grid.cells)
			csv_row(emit);
	} else if (level->kind == LEVEL_TABLE) {
		table_end(emit);
	} else if (!in_table_row(emit) && level->key) {
		emit->gap_due = true;
	}
	if (emit->settings.format == EMIT_CSV && !in_table_row(emit) &&
	    emit->path.len > level->path_len)
		emit->path.len = level->path_len;
	flush_if_large(emit);
}

/* A value inside a list or object that is a table's cell. */
static void nested_value(struct emit *emit, const char *text, bool is_text)
{
	struct level *level = innermost(emit);
	struct level *list = &emit->levels[emit->table_depth + 1];

	if (!emit->cell || (level->kind == LEVEL_OBJECT && (level->text_seen || !is_text)))
		return;
	level->text_seen = true;
	if (list->member_count++ > 0)
		str_add(emit->cell, " < ");
	str_add(emit->cell, text);
}

static void plain_value(struct emit *emit, const char *key, const char *text)
{
	struct str *out = &emit->pending;
	size_t begin = out->len, title;

	if (emit->settings.format == EMIT_CSV) {
		CLEAN(str_deinit) struct str path = { 0 };

		str_printf(&path, "%.*s%s", (int)emit->path.len, str_text(&emit->path),
			   key ? key : "");
		str_add_csv(out, str_text(&path));
		str_add_char(out, ',');
		str_add_csv(out, text);
	} else {
		gap_if_due(emit);
		str_add_repeated(out, ' ', text_indent(emit));
		if (key) {
			grid_title(out, key);
			title = out->len - begin;
			str_add_repeated(out, ' ', title < TITLE_WIDTH ? TITLE_WIDTH - title : 1);
		}
		str_add(out, text);
	}
	str_add_char(out, '\n');
}

/* Any value, already formatted for text or CSV. */
static void spelled_value(struct emit *emit, const char *key, const char *text, bool is_text)
{
	struct str *cell;

	if (!in_table_row(emit)) {
		plain_value(emit, key, text);
	} else if (emit->depth > emit->table_depth + 1) {
		nested_value(emit, text, is_text);
	} else {
		cell = grid_cell(&emit->grid, key);
		if (cell)
			str_add(cell, text);
	}
	flush_if_large(emit);
}

static void spelled_str(struct emit *emit, const char *key, struct str *text, bool is_text)
{
	emit->pending.failed |= text->failed;
	if (emit->settings.format == EMIT_JSON) {
		json_begin(emit, key);
		str_add(&emit->pending, str_text(text));
		flush_if_large(emit);
	} else {
		spelled_value(emit, key, str_text(text), is_text);
	}
}

void emit_u64(struct emit *emit, const char *key, uint64_t value, enum emit_unit unit)
{
	CLEAN(str_deinit) struct str text = { 0 };
	bool exact = emit->settings.exact || emit->settings.format != EMIT_TEXT;

	assert(unit <= EMIT_PLAIN);
	if (exact || unit == EMIT_PLAIN)
		str_add_u64(&text, value);
	else if (unit == EMIT_BYTES)
		str_add_iec(&text, value);
	else if (unit == EMIT_DURATION)
		str_add_duration(&text, value);
	else
		str_add_grouped(&text, value);
	spelled_str(emit, key, &text, false);
}

void emit_i64(struct emit *emit, const char *key, int64_t value)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_i64(&text, value);
	spelled_str(emit, key, &text, false);
}

void emit_ratio(struct emit *emit, const char *key, double value, unsigned decimals)
{
	CLEAN(str_deinit) struct str text = { 0 };

	assert(decimals <= 9);
	if (emit->settings.exact || emit->settings.format != EMIT_TEXT)
		str_add_double(&text, value, decimals);
	else
		str_add_short_double(&text, value, decimals);
	spelled_str(emit, key, &text, false);
}

void emit_number(struct emit *emit, const char *key, const char *spelled)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add(&text, spelled);
	spelled_str(emit, key, &text, false);
}

void emit_percent(struct emit *emit, const char *key, uint64_t part, uint64_t whole)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (emit->settings.format == EMIT_TEXT)
		str_add_percent(&text, part, whole);
	else
		str_add_double(&text, whole ? (double)part * 100 / (double)whole : 0, 3);
	spelled_str(emit, key, &text, false);
}

void emit_address(struct emit *emit, const char *key, uint64_t address)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_hex(&text, address);
	if (emit->settings.format == EMIT_JSON)
		emit_text(emit, key, str_text(&text));
	else
		spelled_str(emit, key, &text, false);
}

void emit_text(struct emit *emit, const char *key, const char *text)
{
	CLEAN(str_deinit) struct str safe = { 0 };

	if (!text) {
		emit_null(emit, key);
		return;
	}
	if (emit->settings.format == EMIT_JSON)
		str_add_json(&safe, text);
	else if (emit->settings.format == EMIT_TEXT)
		str_add_terminal(&safe, text);
	else
		str_add(&safe, text); /* quoted with the whole cell */
	spelled_str(emit, key, &safe, true);
}

void emit_bool(struct emit *emit, const char *key, bool value)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (emit->settings.format == EMIT_TEXT)
		str_add(&text, value ? "yes" : "no");
	else
		str_add(&text, value ? "true" : "false");
	spelled_str(emit, key, &text, false);
}

void emit_null(struct emit *emit, const char *key)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (emit->settings.format != EMIT_CSV)
		str_add(&text, emit->settings.format == EMIT_JSON ? "null" : "-");
	spelled_str(emit, key, &text, false);
}

void emit_heading(struct emit *emit, const char *text)
{
	if (emit->settings.format != EMIT_TEXT)
		return;
	gap_if_due(emit);
	if (emit->settings.colour)
		str_add(&emit->pending, "\033[1m");
	str_add_terminal(&emit->pending, text);
	str_add(&emit->pending, emit->settings.colour ? "\033[0m\n" : "\n");
}

void emit_prose(struct emit *emit, const char *text)
{
	if (emit->settings.format != EMIT_TEXT)
		return;
	gap_if_due(emit);
	str_add_terminal(&emit->pending, text);
	str_add_char(&emit->pending, '\n');
}

void emit_gap(struct emit *emit)
{
	emit->gap_due = emit->settings.format == EMIT_TEXT;
}
