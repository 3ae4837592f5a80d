#include "screen/cells.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/number.h"
#include "base/str.h"

enum { BAR_STEPS = 8 };

bool cells_reset(struct cells *cells, unsigned width, unsigned height)
{
	const size_t w = u64_min(width, CELLS_SIDE_MAX), h = u64_min(height, CELLS_SIDE_MAX);
	struct cell *items = calloc(w * h + 1, sizeof(*items));

	if (!items)
		return false;
	for (size_t i = 0; i < w * h; i++)
		items[i].text[0] = ' ';
	free(cells->items);
	*cells = (struct cells) { (unsigned)w, (unsigned)h, items };
	return true;
}

void cells_deinit(struct cells *cells)
{
	free(cells->items);
	*cells = (struct cells) { 0 };
}

const struct cell *cells_at(const struct cells *cells, unsigned x, unsigned y)
{
	return x < cells->width && y < cells->height ? &cells->items[(size_t)y * cells->width + x]
						     : NULL;
}

/* The code point of a valid sequence. */
static wchar_t code_point(const char *text, size_t bytes)
{
	static const uint8_t first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t code = (uint8_t)text[0] & first_bits[bytes];

	assert(bytes >= 1 && bytes <= 4);
	for (size_t i = 1; i < bytes; i++)
		code = code << 6 | ((uint8_t)text[i] & 0x3f);
	return (wchar_t)code;
}

/* One character, as it is shown. */
struct glyph {
	size_t bytes; /* in the text */
	int columns;  /* 0: it is part of the one before, and left out */
	bool is_shown;
};

static struct glyph glyph_next(const char *text)
{
	const size_t bytes = str_utf8_bytes(text);
	const int columns = bytes ? wcwidth(code_point(text, bytes)) : -1;

	return columns < 0 ? (struct glyph) { bytes ? bytes : 1, 1, false }
			   : (struct glyph) { bytes, columns, true };
}

unsigned cells_width(const char *text)
{
	unsigned width = 0;

	for (struct glyph glyph; *text; text += glyph.bytes) {
		glyph = glyph_next(text);
		width += (unsigned)glyph.columns;
	}
	return width;
}

static void cell_set(struct cell *cell, enum cell_style style, const char *text, size_t bytes)
{
	*cell = (struct cell) { .style = (uint8_t)style };
	memcpy(cell->text, text, bytes);
}

unsigned cells_put(struct cells *cells, unsigned x, unsigned y, unsigned columns,
		   enum cell_style style, const char *text)
{
	const unsigned room = x < cells->width ? (unsigned)u64_min(columns, cells->width - x) : 0;
	unsigned used = 0;

	if (y >= cells->height)
		return 0;
	while (*text) {
		const struct glyph glyph = glyph_next(text);
		struct cell *cell = &cells->items[(size_t)y * cells->width + x + used];

		if (used + (unsigned)glyph.columns > room)
			break;
		if (glyph.columns > 0)
			cell_set(cell, style, glyph.is_shown ? text : "?",
				 glyph.is_shown ? glyph.bytes : 1);
		if (glyph.columns > 1)
			cell_set(cell + 1, style, "", 0);
		used += (unsigned)glyph.columns;
		text += glyph.bytes;
	}
	return used;
}

void cells_put_right(struct cells *cells, unsigned end, unsigned y, unsigned columns,
		     enum cell_style style, const char *text)
{
	const unsigned width = (unsigned)u64_min(cells_width(text), columns);

	cells_put(cells, end > width ? end - width : 0, y, width, style, text);
}

void cells_style_line(struct cells *cells, unsigned y, enum cell_style style)
{
	for (unsigned x = 0; y < cells->height && x < cells->width; x++)
		cells->items[(size_t)y * cells->width + x].style = (uint8_t)style;
}

/* Something is more than nothing, and only the largest is full. */
static const char *bar_of(uint64_t value, uint64_t most, bool is_utf8)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { " ", "_", ".", "-", "=", "+", "*", "%", "#" };
	unsigned step = 0;

	if (value > 0 && value != UINT64_MAX)
		step = 1 + (unsigned)u64_mul_div(value, BAR_STEPS - 1, most);
	return is_utf8 ? blocks[step] : ascii[step];
}

void cells_put_bars(struct cells *cells, unsigned x, unsigned y, unsigned columns,
		    enum cell_style style, const uint64_t *values, size_t count, bool is_utf8)
{
	const size_t first = count > columns ? count - columns : 0;
	uint64_t most = 1;

	for (size_t i = first; i < count; i++)
		if (values[i] != UINT64_MAX)
			most = u64_max(most, values[i]);
	for (size_t i = first; i < count; i++)
		cells_put(cells, x + (unsigned)(i - first), y, 1, style,
			  bar_of(values[i], most, is_utf8));
}
