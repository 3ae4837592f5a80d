/*
 * top_once: what `memtape top` shows, printed: a number of looks, as text or JSON.
 */
#ifndef MEMTAPE_CLI_TOP_ONCE_H
#define MEMTAPE_CLI_TOP_ONCE_H

#include "cli/top_tape.h"

struct top_once {
	const char *tape_path; /* NULL: the list of processes */
	struct top_settings top;
	uint64_t count;
	bool is_json;
};

struct err *top_once_run(const struct top_once *once);

#endif
