/*
 * memusagestat: the picture of glibc's memusagestat, from its data files and from tapes.
 */
#ifndef MEMTAPE_CLI_MEMUSAGESTAT_H
#define MEMTAPE_CLI_MEMUSAGESTAT_H

#include "base/err.h"

struct memusagestat_options {
	const char *output; /* NULL: the input's name plus .png; not .svg or .pdf: a PNG */
	const char *title;  /* NULL: the input's name */
	bool is_by_time;
	bool shows_total;
	const char *width; /* NULL, or not a number: the original's default */
	const char *height;
	bool has_mappings; /* tapes: count mappings too */
	uint64_t clock_hz; /* ticks per second of a data file, which lacks it; 0: unknown */
	bool shows_usage;
	bool shows_version;
};

/* The input is a data file of memusage or a tape; it is only read. */
struct err *memusagestat_draw(const struct memusagestat_options *options, const char *input);

#endif
