/*
 * wrap: lines of text folded for a terminal.
 */
#ifndef MEMTAPE_BASE_WRAP_H
#define MEMTAPE_BASE_WRAP_H

#include "base/str.h"

/*
 * Appends text with each line of it folded at blanks to at most `width` columns, what follows
 * below the last column of text that begins in the left half. A number stays with its unit, a word
 * wider than a line is split, and a line that is a command to copy ("memtape ...") stays whole.
 * Sequences that set colours take no room. width 0: as it is. Any thread.
 */
void str_add_wrapped(struct str *out, const char *text, size_t width);

#endif
