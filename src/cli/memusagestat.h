/*
 * memusagestat: the picture that glibc's memusagestat draws, of its data files and of tapes.
 */
#ifndef MEMTAPE_CLI_MEMUSAGESTAT_H
#define MEMTAPE_CLI_MEMUSAGESTAT_H

#include "base/err.h"

struct memusagestat_options {
	const char *output; /* NULL: the input's name and .png; not .svg or .pdf: a PNG */
	const char *title;  /* NULL: the input's name */
	bool is_by_time;
	bool shows_total;
	const char *width; /* NULL, or no number: as the original has it */
	const char *height;
	bool has_mappings; /* of a tape: count them, too */
	uint64_t clock_hz; /* of a data file, whose ticks it says nothing of; 0: not known */
	bool shows_usage;
	bool shows_version;
};

/* The input is a data file of memusage or a tape, and only read. */
struct err *memusagestat_draw(const struct memusagestat_options *options, const char *input);

#endif
