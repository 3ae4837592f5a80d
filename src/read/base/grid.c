#include "base/grid.h"

#include <assert.h>

enum { HELD_ROWS_MAX = 256, GAP = 2, ELASTIC_MIN = 16 };

void grid_title(struct str *out, const char *key)
{
	const size_t len = strlen(key);
	/* The value beside it has the unit. */
	const bool has_unit = len > 3 && strcmp(key + len - 3, "_ns") == 0;

	for (const char *c = key; c < key + len - (has_unit ? 3 : 0); c++) {
		char shown = *c == '_' ? ' ' : *c;

		if (c == key && shown >= 'a' && shown <= 'z')
			shown = (char)(shown - 'a' + 'A');
		str_add_char(out, shown);
	}
}

bool grid_begin(struct grid *grid, const struct emit_column *columns, size_t column_count,
		const struct emit_settings *settings, size_t indent)
{
	assert(columns || column_count == 0);
	*grid = (struct grid) { .columns = columns,
				.column_count = column_count,
				.width = settings->width,
				.colour = settings->colour,
				.indent = indent };
	grid->cells = arena_array(&grid->arena, column_count, sizeof(*grid->cells));
	grid->widths = arena_array(&grid->arena, column_count, sizeof(*grid->widths));
	grid->held = arena_array(&grid->arena, column_count * HELD_ROWS_MAX, sizeof(*grid->held));
	return grid->cells && grid->widths && grid->held;
}

struct str *grid_cell(struct grid *grid, const char *key)
{
	assert(grid->cells || grid->column_count == 0);
	for (size_t i = 0; i < grid->column_count; i++)
		if (strcmp(grid->columns[i].key, key) == 0)
			return &grid->cells[i];
	return NULL;
}

/* Bytes of the first `columns` code points. */
static size_t bytes_of_width(const char *text, size_t columns)
{
	size_t bytes = 0;

	while (text[bytes] && (columns > 0 || (text[bytes] & 0xc0) == 0x80)) {
		columns -= (text[bytes] & 0xc0) != 0x80;
		bytes++;
	}
	return bytes;
}

static void add_cell(const struct grid *grid, size_t column, const char *text, struct str *out)
{
	size_t width = grid->widths[column], len = str_width(text);
	bool cut = grid->columns[column].elastic && len > width && width > 3;
	size_t pad = len < width ? width - len : 0;

	if (!grid->columns[column].left)
		str_add_repeated(out, ' ', pad);
	str_add_bytes(out, text, cut ? bytes_of_width(text, width - 3) : strlen(text));
	if (cut)
		str_add(out, "...");
	/* no trailing blanks after the last column */
	if (grid->columns[column].left && column + 1 < grid->column_count)
		str_add_repeated(out, ' ', pad);
}

static void add_line(const struct grid *grid, char *const *cells, struct str *out)
{
	str_add_repeated(out, ' ', grid->indent);
	for (size_t i = 0; i < grid->column_count; i++) {
		if (i > 0)
			str_add_repeated(out, ' ', GAP);
		add_cell(grid, i, cells[i], out);
	}
	str_add_char(out, '\n');
}

static char *column_title(struct grid *grid, size_t column)
{
	CLEAN(str_deinit) struct str title = { 0 };

	if (grid->columns[column].title)
		str_add(&title, grid->columns[column].title);
	else
		grid_title(&title, grid->columns[column].key);
	return arena_strdup(&grid->arena, str_text(&title));
}

/* Cuts elastic columns, the last first, until a line fits. */
static void fit_width(struct grid *grid)
{
	size_t line = grid->indent;

	for (size_t i = 0; i < grid->column_count; i++)
		line += grid->widths[i] + (i > 0 ? GAP : 0);
	for (size_t i = grid->column_count; i-- > 0 && grid->width && line > grid->width;) {
		size_t excess = line - grid->width, width = grid->widths[i];

		if (!grid->columns[i].elastic || width <= ELASTIC_MIN)
			continue;
		grid->widths[i] = width - u64_min(excess, width - ELASTIC_MIN);
		line -= width - grid->widths[i];
	}
}

static void flush_held(struct grid *grid, struct str *out)
{
	char **titles = arena_array(&grid->arena, grid->column_count, sizeof(*titles));

	for (size_t i = 0; titles && i < grid->column_count; i++) {
		titles[i] = column_title(grid, i);
		if (!titles[i]) {
			titles = NULL;
			break;
		}
		grid->widths[i] = u64_max(grid->widths[i], str_width(titles[i]));
	}
	grid->streaming = true;
	if (!titles) {
		out->failed = true;
		return;
	}
	fit_width(grid);
	if (grid->colour)
		str_add(out, "\033[1m");
	add_line(grid, titles, out);
	if (grid->colour) {
		out->len--; /* the colour ends before the newline */
		str_add(out, "\033[0m\n");
	}
	for (size_t row = 0; row < grid->held_rows; row++)
		add_line(grid, grid->held + row * grid->column_count, out);
}

static void hold_row(struct grid *grid, struct str *out)
{
	char **row = grid->held + grid->held_rows * grid->column_count;

	for (size_t i = 0; i < grid->column_count; i++) {
		row[i] = arena_strdup(&grid->arena, str_text(&grid->cells[i]));
		out->failed |= !row[i] || grid->cells[i].failed;
		if (!row[i])
			return;
		grid->widths[i] = u64_max(grid->widths[i], str_width(row[i]));
	}
	if (++grid->held_rows == HELD_ROWS_MAX)
		flush_held(grid, out);
}

static void stream_row(struct grid *grid, struct str *out)
{
	str_add_repeated(out, ' ', grid->indent);
	for (size_t i = 0; i < grid->column_count; i++) {
		if (i > 0)
			str_add_repeated(out, ' ', GAP);
		add_cell(grid, i, str_text(&grid->cells[i]), out);
		out->failed |= grid->cells[i].failed;
	}
	str_add_char(out, '\n');
}

void grid_row_end(struct grid *grid, struct str *out)
{
	assert(grid->cells || grid->column_count == 0);
	if (grid->streaming)
		stream_row(grid, out);
	else
		hold_row(grid, out);
	for (size_t i = 0; i < grid->column_count; i++)
		str_clear(&grid->cells[i]);
}

void grid_end(struct grid *grid, struct str *out)
{
	if (grid->cells && !grid->streaming && out)
		flush_held(grid, out);
	for (size_t i = 0; grid->cells && i < grid->column_count; i++)
		str_deinit(&grid->cells[i]);
	arena_deinit(&grid->arena);
	*grid = (struct grid) { 0 };
}
