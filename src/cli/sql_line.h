/*
 * sql_line: reads a line interactively, with editing and history.
 */
#ifndef MEMTAPE_CLI_SQL_LINE_H
#define MEMTAPE_CLI_SQL_LINE_H

/* Without its newline, freed by the caller; NULL: the end. stdin and stdout are a terminal. */
char *sql_line_read(const char *prompt);

#endif
