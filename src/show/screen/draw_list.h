/* draw_list: the list of processes, and what it has in common with that of functions. Internal to screen. */
#ifndef MEMTAPE_SCREEN_DRAW_LIST_H
#define MEMTAPE_SCREEN_DRAW_LIST_H

#include "screen/screen.h"

enum { LIST_HEAD_LINES = 2 };

void draw_list(const struct screen *screen, struct cells *cells);

/* The selected line of count. */
size_t draw_line_selected(const struct screen *screen, size_t count);

/* The first line of count that is shown in rows: the selected one is near the middle. */
size_t draw_first_line(size_t selected, size_t count, unsigned rows);

#endif
