/*
 * memusage_of_tape: memusage's report from an existing tape.
 */
#ifndef MEMTAPE_CLI_MEMUSAGE_OF_TAPE_H
#define MEMTAPE_CLI_MEMUSAGE_OF_TAPE_H

#include "cli/memusage_options.h"

/* Whether the operands are the name of one tape rather than a program. */
bool memusage_is_tape(char **words);

/* Prints the table to standard output; writes the data file and picture if requested. */
struct err *memusage_of_tape(const struct memusage_options *options, const char *path);

#endif
