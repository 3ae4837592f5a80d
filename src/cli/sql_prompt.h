/*
 * sql_prompt: statements from a file or from a person. Lines that begin with a point are for the
 * prompt (".help" lists them), all others are SQL, run as soon as a semicolon ends them.
 */
#ifndef MEMTAPE_CLI_SQL_PROMPT_H
#define MEMTAPE_CLI_SQL_PROMPT_H

#include <stdio.h>

#include "sql/sql.h"

/*
 * Reads in to its end. At a terminal there is a prompt, errors are printed and go on, and ^C ends a
 * statement; elsewhere the first error ends all and is returned.
 */
struct err *sql_prompt_run(struct sql *sql, const struct sql_sink *sink, FILE *in,
			   bool is_terminal);

/* For sql_settings.is_interrupted: whether ^C came while a statement of a prompt ran. */
bool sql_prompt_is_interrupted(void *context);

#endif
