/*
 * memusage_options: the command line of memusage, compatible with glibc's: parsing stops at the
 * first operand, short options are not bundled, long options may be abbreviated unambiguously.
 */
#ifndef MEMTAPE_CLI_MEMUSAGE_OPTIONS_H
#define MEMTAPE_CLI_MEMUSAGE_OPTIONS_H

#include "base/options.h"

struct memusage_options {
	const char *name; /* NULL or "": every process */
	const char *png;
	const char *data;
	bool is_unbuffered; /* ignored: nothing is lost either way */
	const char *buffer; /* ignored too */
	bool has_no_timer;  /* ignored: there is no timer */
	bool has_mappings;
	bool is_by_time;
	bool shows_total;
	const char *title;
	const char *width;
	const char *height;
	bool has_stacks;
	const char *colour;
	bool shows_help;
	bool shows_usage;
	bool shows_version;
};

/* Rows of --help, with offsets into the struct above. */
enum { MEMUSAGE_OPTION_ROWS = 16 };
extern const struct option_row memusage_option_rows[MEMUSAGE_OPTION_ROWS];

/* Reads the environment, then argv[1 ...]; *first_ret: index of the program's name, or argc. */
struct err *memusage_options_parse(int argc, char **argv, struct memusage_options *options,
				   int *first_ret);

/* The short usage text of --usage. */
void memusage_options_usage(struct str *text);

#endif
