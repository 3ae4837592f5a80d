#include "screen/terminal.h"

#include <assert.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "screen/screen.h"

enum { ESCAPE_MS = 50 /* after which Escape is a key, and no longer the begin of one */ };

struct terminal {
	SCREEN *screen;
	bool is_utf8, has_colour;
};

/* Pairs are numbered by style. */
static const struct {
	short colour, background; /* -1: the terminal's own */
	attr_t attributes;	  /* beside the colours */
	attr_t without;		  /* where there are none */
} styles[CELL_STYLES] = {
	[CELL_PLAIN] = { -1, -1, A_NORMAL, A_NORMAL },
	[CELL_DIM] = { -1, -1, A_DIM, A_DIM },
	[CELL_BOLD] = { -1, -1, A_BOLD, A_BOLD },
	[CELL_VALUE] = { COLOR_CYAN, -1, A_NORMAL, A_BOLD },
	[CELL_GOOD] = { COLOR_GREEN, -1, A_NORMAL, A_NORMAL },
	[CELL_BAD] = { COLOR_RED, -1, A_NORMAL, A_BOLD },
	[CELL_ALARM] = { COLOR_RED, -1, A_BOLD, A_BOLD },
	[CELL_BAR] = { COLOR_BLACK, COLOR_CYAN, A_NORMAL, A_REVERSE },
	[CELL_KEY] = { -1, -1, A_BOLD, A_BOLD },
	[CELL_HEADING] = { COLOR_BLACK, COLOR_GREEN, A_NORMAL, A_REVERSE },
	[CELL_SORTED] = { COLOR_BLACK, COLOR_CYAN, A_NORMAL, A_REVERSE | A_BOLD },
	[CELL_SELECTED] = { COLOR_BLACK, COLOR_WHITE, A_NORMAL, A_REVERSE },
};

static void colours_begin(struct terminal *terminal, bool wants_colour)
{
	if (!wants_colour || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	for (short i = 0; i < CELL_STYLES; i++)
		if (init_pair((short)(i + 1), styles[i].colour, styles[i].background) == ERR)
			return;
	terminal->has_colour = true;
}

struct err *terminal_open(bool wants_colour, struct terminal **terminal_ret)
{
	const char *name = getenv("TERM");
	struct terminal *terminal = calloc(1, sizeof(*terminal));

	if (!terminal)
		return err_nomem();
	setlocale(LC_CTYPE, "");
	terminal->is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	terminal->screen = newterm(NULL, stdout, stdin);
	if (!terminal->screen) {
		free(terminal);
		return err_new(ERR_UNSUPPORTED,
			       "TERM=%s: no terminal that a screen can be shown on; --once prints "
			       "one look",
			       name ? name : "");
	}
	set_term(terminal->screen);
	colours_begin(terminal, wants_colour);
	cbreak();
	noecho();
	nonl();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	*terminal_ret = terminal;
	return NULL;
}

void terminal_close(struct terminal *terminal)
{
	if (!terminal)
		return;
	move(LINES - 1, 0); /* where what comes next is written, if there was no other screen */
	clrtoeol();
	refresh();
	endwin();
	delscreen(terminal->screen);
	free(terminal);
}

bool terminal_is_utf8(const struct terminal *terminal)
{
	return terminal->is_utf8;
}

void terminal_size(struct terminal *terminal, unsigned *width_ret, unsigned *height_ret)
{
	struct winsize size = { 0 };

	(void)terminal;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0 &&
	    (size.ws_col != COLS || size.ws_row != LINES))
		resizeterm(size.ws_row, size.ws_col);
	*width_ret = (unsigned)COLS;
	*height_ret = (unsigned)LINES;
}

static uint32_t special_of(wint_t key)
{
	static const struct {
		wint_t from;
		uint32_t to;
	} keys[] = {
		{ KEY_UP, SCREEN_UP },	       { KEY_DOWN, SCREEN_DOWN },
		{ KEY_LEFT, SCREEN_LEFT },     { KEY_RIGHT, SCREEN_RIGHT },
		{ KEY_PPAGE, SCREEN_PAGE_UP }, { KEY_NPAGE, SCREEN_PAGE_DOWN },
		{ KEY_HOME, SCREEN_HOME },     { KEY_END, SCREEN_END },
		{ KEY_ENTER, SCREEN_ENTER },   { KEY_BACKSPACE, SCREEN_BACKSPACE },
	};

	for (size_t i = 0; i < array_size(keys); i++)
		if (keys[i].from == key)
			return keys[i].to;
	return key >= KEY_F(1) && key <= KEY_F(10) ? SCREEN_F1 + (key - KEY_F(1)) : 0;
}

bool terminal_key(struct terminal *terminal, uint32_t *key_ret)
{
	wint_t key = 0;
	int rc;

	(void)terminal;
	while ((rc = get_wch(&key)) != ERR) {
		const uint32_t code = rc == KEY_CODE_YES ? special_of(key)
				      : key == '\r'	 ? (uint32_t)SCREEN_ENTER
							 : (uint32_t)key;

		if (code == 0)
			continue; /* another one, or that the size has changed */
		*key_ret = code;
		return true;
	}
	return false;
}

static void style_set(const struct terminal *terminal, uint8_t style)
{
	assert(style < CELL_STYLES);
	if (terminal->has_colour)
		attr_set(styles[style].attributes, (short)(style + 1), NULL);
	else
		attr_set(styles[style].without, 0, NULL);
}

static wchar_t wide_of(const struct cell *cell)
{
	mbstate_t state = { 0 };
	wchar_t wide = L'?';
	const size_t bytes = mbrtowc(&wide, cell->text, strlen(cell->text), &state);

	return bytes == (size_t)-1 || bytes == (size_t)-2 ? L'?' : wide;
}

static void row_show(const struct terminal *terminal, const struct cells *cells, unsigned y)
{
	const struct cell *row = cells_at(cells, 0, y);

	for (unsigned x = 0; x < cells->width; x++) {
		wchar_t wide;

		if (row[x].text[0] == '\0')
			continue; /* the second half of a wide one */
		wide = wide_of(&row[x]);
		style_set(terminal, row[x].style);
		mvaddnwstr((int)y, (int)x, &wide, 1);
	}
}

void terminal_show(struct terminal *terminal, const struct cells *cells)
{
	for (unsigned y = 0; y < cells->height; y++)
		row_show(terminal, cells, y);
	refresh();
}
