/*
 * input: what kind of file a command was given, and whether it may overwrite its output.
 */
#ifndef MEMTAPE_CLI_INPUT_H
#define MEMTAPE_CLI_INPUT_H

#include "base/err.h"

enum input_kind { INPUT_TAPE, INPUT_OTHER };

/* By its first bytes. Pipes and "-" are no tapes; nothing is read from them. */
struct err *input_kind_of(const char *path, enum input_kind *kind_ret);

/* ERR_USAGE: path is a file that exists, and -f was not given. NULL is fine. */
struct err *output_check(const char *path, bool may_overwrite);

#endif
