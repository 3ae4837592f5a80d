#include "screen/lines.h"

#include <stdlib.h>
#include <string.h>

void lines_add(struct lines *lines, enum cell_style style, unsigned indent, const char *text)
{
	struct line *line = line_vec_add(&lines->items);
	char *own = strdup(text);

	if (!line || !own) {
		free(own);
		if (line)
			lines->items.count--;
		lines->failed = true;
		return;
	}
	*line = (struct line) { style, indent, own };
}

/* Bytes of the text that fit into columns: whole words, or a part of one that is too long. */
static size_t fitting(const char *text, unsigned columns)
{
	size_t fits = 0, at = 0;
	unsigned used = 0;

	while (text[at]) {
		const size_t bytes = str_utf8_bytes(text + at) ? str_utf8_bytes(text + at) : 1;
		char one[CELL_BYTES] = { 0 };

		memcpy(one, text + at, bytes);
		if (used + cells_width(one) > columns)
			return fits > 0 ? fits : u64_max(at, 1);
		used += cells_width(one);
		at += bytes;
		if (text[at] == ' ')
			fits = at;
	}
	return at;
}

void lines_add_wrapped(struct lines *lines, enum cell_style style, unsigned indent,
		       const char *text)
{
	const unsigned columns = lines->width > indent + 8 ? lines->width - indent : 8;

	while (*text) {
		const size_t len = fitting(text, columns);
		char *part = strndup(text, len);

		if (part)
			lines_add(lines, style, indent, part);
		lines->failed |= !part;
		free(part);
		text += len;
		text += strspn(text, " ");
	}
}

void lines_add_item(struct lines *lines, enum cell_style style, unsigned indent, const char *head,
		    const char *text)
{
	const size_t first = lines->items.count;
	CLEAN(str_deinit) struct str line = { 0 };
	char *own;

	lines_add_wrapped(lines, style, indent + cells_width(head), text);
	if (lines->items.count == first)
		return;
	str_printf(&line, "%s%s", head, lines->items.items[first].text);
	own = strdup(str_text(&line));
	lines->failed |= line.failed || !own;
	if (!own)
		return;
	free(lines->items.items[first].text);
	lines->items.items[first].text = own;
	lines->items.items[first].indent = indent;
}

void lines_deinit(struct lines *lines)
{
	for (size_t i = 0; i < lines->items.count; i++)
		free(lines->items.items[i].text);
	line_vec_deinit(&lines->items);
}
