/*
 * screen: what `memtape top` shows, and what its keys do, without a terminal: what is known and what
 * the user has chosen become cells (cells.h), a key changes what is chosen, or is a wish that the
 * caller fulfils. Nothing is computed here but places on the screen.
 */
#ifndef MEMTAPE_SCREEN_SCREEN_H
#define MEMTAPE_SCREEN_SCREEN_H

#include "http/processes.h"
#include "questions/findings.h"
#include "questions/timeline.h"
#include "screen/cells.h"

/* Beside characters, which are code points. */
enum screen_special {
	SCREEN_UP = 0x110000,
	SCREEN_DOWN,
	SCREEN_LEFT,
	SCREEN_RIGHT,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_F1, /* up to F10 */
	SCREEN_F10 = SCREEN_F1 + 9,
	SCREEN_BACKSPACE
};

enum { SCREEN_ENTER = '\n', SCREEN_ESCAPE = 0x1b, SCREEN_TEXT_BYTES = 256 };

enum screen_page { PAGE_LIST, PAGE_SITES, PAGE_STACK, PAGE_FINDINGS, PAGE_HELP };

enum screen_wish {
	WISH_NOTHING,
	WISH_QUIT,
	WISH_ASK,    /* order, window, filter have changed: other figures of the same tape */
	WISH_REREAD, /* the tape is read again at once */
	WISH_OPEN,   /* the process chosen_pid, which is recorded */
	WISH_ATTACH, /* to chosen_pid */
	WISH_LIST    /* back to the list: the tape is not needed any more */
};

/* What the last line is for: a filter, a question, or a notice until the next key. */
enum screen_prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_ATTACH, PROMPT_NOTICE };

/* What is known; everything is borrowed. */
struct screen_data {
	bool is_utf8;
	const struct process_list *list;	/* NULL: not yet */
	const struct now_answer *now;		/* NULL: not yet */
	const struct findings_answer *findings; /* NULL: not yet */
	const char *tape;			/* its path; NULL: none */
	uint64_t pid;				/* of what is recorded; 0: not known yet */
	const char *state;			/* "recording" ... */
	bool has_ended;				/* nothing changes any more */
	uint64_t duration_ns;			/* of the recording: `now` may be of before */
	uint64_t rss_bytes;			/* SHAPE_NONE: unknown */
	const char *trouble;			/* what went wrong; NULL: nothing */
};

struct screen {
	struct screen_data data;
	/* What the user has chosen. */
	enum screen_page page, help_of; /* help_of: where help was called from */
	bool has_list;			/* there is a list to go back to */
	bool is_paused;			/* the figures stay as they are */
	enum now_order order;
	unsigned window; /* index of screen_windows */
	size_t selected; /* line of sites, or of the list */
	size_t listed;	 /* the line of the list, while it is not shown */
	size_t scroll;	 /* first line of a text */
	unsigned rows;	 /* lines of the list or text on the screen, at least 1 */
	uint64_t site;	 /* PAGE_STACK: hash of its function */
	uint64_t chosen_pid;
	enum screen_prompt prompt;
	char text[SCREEN_TEXT_BYTES];	     /* that is typed, asked or told */
	char filter[SCREEN_TEXT_BYTES];	     /* of sites (memtape-filter(7)); "": none */
	char list_filter[SCREEN_TEXT_BYTES]; /* of the list: a part of name, command or user */
};

/* "10s", "60s" ... as the question `now` takes them; NULL at the end. */
extern const char *const screen_windows[];
enum { SCREEN_WINDOW_USUAL = 1 };

/* Steps of the curves for a screen of this width. */
uint64_t screen_points(unsigned width);

/* The whole screen, in cells that have its size. Sets screen->rows, and nothing else. */
void screen_draw(struct screen *screen, struct cells *cells);

/* key: a code point or enum screen_special. */
enum screen_wish screen_press(struct screen *screen, uint32_t key);

/* The process in the list's line, of those that its filter lets through; NULL: there is none. */
const struct process_row *screen_process(const struct screen *screen, size_t line);
size_t screen_process_count(const struct screen *screen);

#endif
