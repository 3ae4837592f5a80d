#include "screen/draw_list.h"

#include <string.h>

#include "base/str.h"

size_t draw_first_line(size_t selected, size_t count, unsigned rows)
{
	const size_t half = rows / 2;

	if (count <= rows || selected <= half)
		return 0;
	return u64_min(selected - half, count - rows);
}

size_t draw_line_selected(const struct screen *screen, size_t count)
{
	return count > 0 ? u64_min(screen->selected, count - 1) : 0;
}

static void draw_list_heading(struct cells *cells)
{
	cells_style_line(cells, 1, CELL_HEADING);
	cells_put_right(cells, 8, 1, 8, CELL_HEADING, "PID");
	cells_put(cells, 10, 1, 8, CELL_HEADING, "USER");
	cells_put_right(cells, 29, 1, 10, CELL_SORTED, "RSS");
	cells_put_right(cells, 39, 1, 9, CELL_HEADING, "RUNS FOR");
	cells_put(cells, 41, 1, 12, CELL_HEADING, "STATE");
	cells_put(cells, 54, 1, cells->width, CELL_HEADING, "COMMAND");
}

/* Without the folders of its program, which is what is looked for. */
static const char *command_of(const struct process_row *row)
{
	const char *end = row->command + strcspn(row->command, " ");
	const char *begin = end;

	if (row->command[0] == '\0')
		return row->name;
	while (begin > row->command && begin[-1] != '/')
		begin--;
	return begin < end ? begin : row->command;
}

static void draw_process(struct cells *cells, unsigned y, const struct process_row *row)
{
	char text[STR_SHORT_BYTES], state[STR_SHORT_BYTES] = "";

	if (row->tape)
		str_format(state, sizeof(state), "recorded");
	else if (row->obstacle)
		str_format(state, sizeof(state), "(%s)", row->obstacle);

	str_format(text, sizeof(text), "%llu", (unsigned long long)row->pid);
	cells_put_right(cells, 8, y, 8, CELL_PLAIN, text);
	cells_put(cells, 10, y, 8, CELL_PLAIN, row->user);
	cells_put_right(cells, 29, y, 10, CELL_VALUE, str_iec(text, row->rss_bytes));
	cells_put_right(cells, 39, y, 9, CELL_PLAIN, str_duration(text, row->age_ns));
	cells_put(cells, 41, y, 12, row->tape ? CELL_GOOD : CELL_DIM, state);
	cells_put(cells, 54, y, cells->width, row->tape ? CELL_BOLD : CELL_PLAIN, command_of(row));
}

void draw_list(const struct screen *screen, struct cells *cells)
{
	const size_t count = screen_process_count(screen);
	const size_t selected = draw_line_selected(screen, count);
	const size_t first = draw_first_line(selected, count, screen->rows);
	CLEAN(str_deinit) struct str left = { 0 };

	str_printf(&left, " memtape top  %zu process%s", count, count == 1 ? "" : "es");
	cells_style_line(cells, 0, CELL_BAR);
	cells_put(cells, 0, 0, cells->width, CELL_BAR, str_text(&left));
	if (screen->is_paused)
		cells_put_right(cells, cells->width, 0, 10, CELL_BAR, "PAUSED ");
	draw_list_heading(cells);
	for (unsigned i = 0; i < screen->rows && first + i < count; i++) {
		draw_process(cells, LIST_HEAD_LINES + i, screen_process(screen, first + i));
		if (first + i == selected)
			cells_style_line(cells, LIST_HEAD_LINES + i, CELL_SELECTED);
	}
	if (count == 0)
		cells_put(cells, 1, LIST_HEAD_LINES, cells->width, CELL_DIM,
			  !screen->data.list	   ? "Looking for processes ..."
			  : screen->list_filter[0] ? "No process matches."
						   : "There are no processes.");
}
