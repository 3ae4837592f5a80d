/*
 * top_screen: `memtape top` on a terminal: keys, the list of processes, one tape at a time.
 */
#ifndef MEMTAPE_CLI_TOP_SCREEN_H
#define MEMTAPE_CLI_TOP_SCREEN_H

#include "cli/top_tape.h"

struct top_screen_settings {
	const char *tape_path; /* NULL: begin with the list of processes */
	struct top_settings top;
	unsigned window; /* index of screen_windows */
	bool wants_colour;
};

/*
 * Until the user quits. *signal_ret: SIGTERM or another one has ended it, 0: none. What was attached to
 * meanwhile is let go.
 */
struct err *top_screen_run(const struct top_screen_settings *settings, int *signal_ret);

#endif
