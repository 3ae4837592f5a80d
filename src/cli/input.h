/*
 * input: detects the type of an input file, and whether a command may overwrite its output.
 */
#ifndef MEMTAPE_CLI_INPUT_H
#define MEMTAPE_CLI_INPUT_H

#include "base/err.h"
#include "base/options.h"

enum input_kind { INPUT_TAPE, INPUT_OTHER };

/* By the first bytes. Pipes and "-" are never tapes; nothing is read from them. */
struct err *input_kind_of(const char *path, enum input_kind *kind_ret);

/* The --force option, required to overwrite FILE. letter: 0 where -f is another option. */
/* clang-format off */
#define OUTPUT_FORCE_OPTION_AS(letter, settings, member)                                           \
	{ "force", letter, NULL, OPTION_FLAG, offsetof(settings, member),                          \
	  "overwrite an existing FILE" }
#define OUTPUT_FORCE_OPTION(settings, member) OUTPUT_FORCE_OPTION_AS('f', settings, member)
/* clang-format on */

/* Devices and pipes cannot be replaced by a file; they are written to. */
bool output_is_special(const char *path);

/* ERR_USAGE: path exists, and --force was not given. NULL and devices are fine. */
struct err *output_check(const char *path, bool may_overwrite);

/* ERR_USAGE: the name (may be NULL) is that of another kind of picture than an SVG. */
struct err *output_check_svg(const char *path);

/* ERR_USAGE: the same, or path is special. */
struct err *output_check_file(const char *path, bool may_overwrite);

/* The same error, for callers that detect it when creating the file. */
struct err *output_exists(const char *path);

#endif
