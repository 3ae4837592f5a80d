/*
 * leak_heuristics: the option of commands that scan for leaks.
 */
#ifndef MEMTAPE_CLI_LEAK_HEURISTICS_H
#define MEMTAPE_CLI_LEAK_HEURISTICS_H

#include "base/err.h"
#include "base/options.h"

/* clang-format off */
#define LEAK_HEURISTICS_OPTION(settings, member)                                                   \
	{ "leak-heuristics", 0, "SET", OPTION_TEXT, offsetof(settings, member),                    \
	  "pointers into the middle of a block that count like those to its beginning: all (the "  \
	  "default), none, or a comma-separated list of stdstring, length64, newarray, "           \
	  "multipleinheritance" }
/* clang-format on */

/* A set of enum tape_scan_heuristic. ERR_USAGE: a word is none of them. */
struct err *leak_heuristics_parse(const char *text, uint32_t *set_ret);

#endif
