/*
 * sql_prompt: statements from a file or a terminal. Lines that begin with a dot are commands of the
 * prompt (".help" lists them); all others are SQL, run when a semicolon ends them.
 */
#ifndef MEMTAPE_CLI_SQL_PROMPT_H
#define MEMTAPE_CLI_SQL_PROMPT_H

#include <stdio.h>

#include "sql/sql.h"

/*
 * Reads in to its end. On a terminal it prompts, prints errors and continues, and ^C cancels a
 * statement; elsewhere the first error stops it and is returned.
 */
struct err *sql_prompt_run(struct sql *sql, const struct sql_sink *sink, FILE *in,
			   bool is_terminal);

/* For sql_settings.is_interrupted: whether ^C came while a statement of a prompt ran. */
bool sql_prompt_is_interrupted(void *context);

#endif
