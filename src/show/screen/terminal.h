/*
 * terminal: a terminal that shows cells (cells.h) and gives keys: the adapter of ncurses, which keeps
 * one terminal a process. All functions are for one thread.
 *
 * Signals are the caller's: those that end it must lead to terminal_close. Ctrl-Z works.
 */
#ifndef MEMTAPE_SCREEN_TERMINAL_H
#define MEMTAPE_SCREEN_TERMINAL_H

#include "base/err.h"
#include "screen/cells.h"

struct terminal;

/*
 * Takes standard input and output, which are a terminal. wants_colour false: bold and reverse only.
 * Sets the locale's character set from the environment. ERR_UNSUPPORTED: TERM names no terminal that
 * can do it.
 */
struct err *terminal_open(bool wants_colour, struct terminal **terminal_ret);

/* As it was before; NULL is fine. */
void terminal_close(struct terminal *terminal);
CLEAN_DEFINE(terminal_close, struct terminal *);

/* Whether it shows more than ASCII. */
bool terminal_is_utf8(const struct terminal *terminal);

/* Its size now: also after SIGWINCH, which somebody else may have taken. */
void terminal_size(struct terminal *terminal, unsigned *width_ret, unsigned *height_ret);

/* A key that was pressed: a code point or enum screen_special. False: none is waiting. */
bool terminal_key(struct terminal *terminal, uint32_t *key_ret);

/* Cells of its size. Only what has changed is sent. */
void terminal_show(struct terminal *terminal, const struct cells *cells);

#endif
