/*
 * suppressing: which leaks are known, as the options and the project have it: for commands that
 * tell of leaks or take filters.
 */
#ifndef MEMTAPE_CLI_SUPPRESSING_H
#define MEMTAPE_CLI_SUPPRESSING_H

#include "base/options.h"
#include "sums/suppress.h"

/* Put it in the options, and its rows below. */
struct suppressing_options {
	const char *file; /* NULL: the project's, if there is one */
	bool none;
};

#define SUPPRESSING_ROW(settings, member, field)                                                   \
	(offsetof(settings, member) + offsetof(struct suppressing_options, field))

/* clang-format off */
#define SUPPRESSING_OPTIONS(settings, member)                                                      \
	{ "suppressions", 0, "FILE", OPTION_TEXT, SUPPRESSING_ROW(settings, member, file),         \
	  "leaks: omit those that match FILE (lines of leak:PATTERN); default: "                   \
	  ".memtape/suppressions here or in a parent folder" },                                    \
	{ "no-suppressions", 0, NULL, OPTION_FLAG, SUPPRESSING_ROW(settings, member, none),        \
	  "leaks: omit none, not even those built in" }
/* clang-format on */

/* The rules, with where they live; all zeros has none. */
struct suppressing {
	struct suppressions rules;
	struct arena arena;
};

/*
 * Those built in and those of the file: the one that is named, or .memtape/suppressions in the
 * working directory or the nearest above it. options NULL: none were given. ERR_USAGE: a line is no
 * rule; ERR_SYSTEM: it cannot be read.
 */
struct err *suppressing_load(struct suppressing *suppressing,
			     const struct suppressing_options *options);
void suppressing_deinit(struct suppressing *suppressing);
CLEAN_DEFINE_DEINIT(suppressing_deinit, struct suppressing);

#endif
