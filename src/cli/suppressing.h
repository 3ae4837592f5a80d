/*
 * suppressing: leak suppressions from the options and the project, for commands that report leaks
 * or take filters.
 */
#ifndef MEMTAPE_CLI_SUPPRESSING_H
#define MEMTAPE_CLI_SUPPRESSING_H

#include "base/options.h"
#include "sums/suppress.h"

/* Embed the struct in the options, and append its rows. */
struct suppressing_options {
	const char *file; /* NULL: the project's file, if there is one */
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

/* The rules and their storage; all zeros: no rules. */
struct suppressing {
	struct suppressions rules;
	struct arena arena;
};

/*
 * Loads the built-in rules and those of the file: the one given, or .memtape/suppressions in the
 * working directory or its nearest parent that has one. options NULL: none given. ERR_USAGE:
 * invalid line; ERR_SYSTEM: unreadable file.
 */
struct err *suppressing_load(struct suppressing *suppressing,
			     const struct suppressing_options *options);
void suppressing_deinit(struct suppressing *suppressing);
CLEAN_DEFINE_DEINIT(suppressing_deinit, struct suppressing);

#endif
