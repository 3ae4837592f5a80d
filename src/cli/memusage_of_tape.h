/*
 * memusage_of_tape: what memusage says of a program, from a tape that there is already.
 */
#ifndef MEMTAPE_CLI_MEMUSAGE_OF_TAPE_H
#define MEMTAPE_CLI_MEMUSAGE_OF_TAPE_H

#include "cli/memusage_options.h"

/* Whether the words behind the options are the name of one tape, and no program. */
bool memusage_is_tape(char **words);

/* The table on standard output; data file and picture where the options want them. */
struct err *memusage_of_tape(const struct memusage_options *options, const char *path);

#endif
