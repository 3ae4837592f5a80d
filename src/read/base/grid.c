#include "base/grid.h"

#include <assert.h>

enum { HELD_ROWS_MAX = 256, GAP = 2, ELASTIC_MIN = 16, HANG = 4, NUMBER_MAX = 24 };

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
	grid->line = arena_array(&grid->arena, column_count, sizeof(*grid->line));
	grid->held = arena_array(&grid->arena, column_count * HELD_ROWS_MAX, sizeof(*grid->held));
	return grid->cells && grid->widths && grid->line && grid->held;
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

/* In the middle, for names differ at their ends. */
static void add_cut(struct str *out, const char *text, size_t len, size_t width)
{
	static const char dots[] = "...";
	const size_t tail = (width - strlen(dots)) / 2;

	str_add_bytes(out, text, bytes_of_width(text, width - strlen(dots) - tail));
	str_add(out, dots);
	str_add(out, text + bytes_of_width(text, len - tail));
}

/* Columns that the text takes in its column: more than the column has where it is a number. */
static size_t cell_width(const struct grid *grid, size_t column, const char *text)
{
	const size_t width = grid->widths[column], len = str_width(text);
	const bool may_cut = grid->columns[column].elastic || (grid->width && len > NUMBER_MAX);

	return len <= width || (may_cut && width > 3) ? width : len;
}

static void add_cell(const struct grid *grid, size_t column, const char *text, bool is_last,
		     struct str *out)
{
	const size_t width = cell_width(grid, column, text), len = str_width(text);
	const size_t pad = len < width ? width - len : 0;

	if (!grid->columns[column].left)
		str_add_repeated(out, ' ', pad);
	if (len > width)
		add_cut(out, text, len, width);
	else
		str_add(out, text);
	if (grid->columns[column].left && !is_last) /* no trailing blanks */
		str_add_repeated(out, ' ', pad);
}

/* Cells for which the line has no room continue on the next one. */
static void add_line(const struct grid *grid, char *const *cells, struct str *out)
{
	size_t used = grid->indent, width;

	str_add_repeated(out, ' ', grid->indent);
	for (size_t i = 0; i < grid->column_count; i++) {
		width = cell_width(grid, i, cells[i]);
		if (i > 0 && grid->width && used + GAP + width > grid->width) {
			str_add_char(out, '\n');
			used = grid->indent + HANG;
			str_add_repeated(out, ' ', used);
		} else if (i > 0) {
			str_add_repeated(out, ' ', GAP);
			used += GAP;
		}
		add_cell(grid, i, cells[i], i + 1 == grid->column_count, out);
		used += width;
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

/* Columns of a line with all cells. */
static size_t line_width(const struct grid *grid)
{
	size_t line = grid->indent;

	for (size_t i = 0; i < grid->column_count; i++)
		line += grid->widths[i] + (i > 0 ? GAP : 0);
	return line;
}

/*
 * Cuts elastic columns, the last first, until a line fits. Where that does not help rows take more
 * than one line, and a column is only cut if it is wider than one.
 */
static void fit_width(struct grid *grid)
{
	const size_t line = line_width(grid);
	size_t excess = grid->width && line > grid->width ? line - grid->width : 0, spare = 0;

	for (size_t i = 0; i < grid->column_count; i++)
		if (grid->columns[i].elastic && grid->widths[i] > ELASTIC_MIN)
			spare += grid->widths[i] - ELASTIC_MIN;
	for (size_t i = grid->column_count; i-- > 0 && excess > 0;) {
		const size_t width = grid->widths[i];

		if (spare < line - grid->width) {
			grid->widths[i] = u64_min(
				width, u64_max(grid->width - grid->indent - HANG, ELASTIC_MIN));
		} else if (grid->columns[i].elastic && width > ELASTIC_MIN) {
			grid->widths[i] = width - u64_min(excess, width - ELASTIC_MIN);
			excess -= width - grid->widths[i];
		}
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
	for (size_t i = 0; i < grid->column_count; i++) {
		grid->line[i] = (char *)str_text(&grid->cells[i]);
		out->failed |= grid->cells[i].failed;
	}
	add_line(grid, grid->line, out);
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
