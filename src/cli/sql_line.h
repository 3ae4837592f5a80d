/*
 * sql_line: one line from a person, with editing and the lines before it.
 */
#ifndef MEMTAPE_CLI_SQL_LINE_H
#define MEMTAPE_CLI_SQL_LINE_H

/* Without its newline, to be freed; NULL: the end. Standard input and output are a terminal. */
char *sql_line_read(const char *prompt);

#endif
