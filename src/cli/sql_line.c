/* The libedit adapter. */
#include "cli/sql_line.h"

#include <stdio.h>

#include <editline/readline.h>

char *sql_line_read(const char *prompt)
{
	char *line = readline(prompt);

	if (line && *line)
		add_history(line);
	return line;
}
