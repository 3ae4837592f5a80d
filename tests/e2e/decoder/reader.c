/*
 * The reader's commands that only read tapes, for processors that memtape does not record on: what
 * looks at other processes and other formats, or needs the kernel without libc, is not there.
 */
#include <errno.h>
#include <sys/random.h>

#include "cli/command.h"
#include "cli/foreign.h"
#include "cli/session_operand.h"
#include "cli/sql_line.h"
#include "core/random.h"
#include "http/html_report.h"

extern const struct command cmd_report, cmd_flamegraph, cmd_export, cmd_info, cmd_index,
	cmd_anonymise, cmd_strip, cmd_symbols, cmd_sql;
const struct command *const command_table[] = { &cmd_report, &cmd_flamegraph, &cmd_export,
						&cmd_info,   &cmd_index,      &cmd_anonymise,
						&cmd_strip,  &cmd_symbols,    &cmd_sql,
						NULL };

int random_fill(void *ptr, size_t bytes)
{
	return getrandom(ptr, bytes, 0) == (ssize_t)bytes ? 0 : -EIO;
}

void random_distinct(void *ptr, size_t bytes)
{
	if (random_fill(ptr, bytes) != 0)
		memset(ptr, 0, bytes);
}

struct err *foreign_check(const char *path)
{
	(void)path;
	return NULL;
}

struct err *foreign_explain(struct err *err, const char *path)
{
	(void)path;
	return err;
}

struct err *session_operand(const char **path, const char *process, const char *refused,
			    struct arena *arena)
{
	(void)path, (void)process, (void)refused, (void)arena;
	return NULL;
}

struct err *session_operands(char **operands, size_t count, struct arena *arena)
{
	(void)operands, (void)count, (void)arena;
	return NULL;
}

char *sql_line_read(const char *prompt)
{
	(void)prompt;
	return NULL;
}

struct err *html_report_write(const struct html_report *report, FILE *out)
{
	(void)report, (void)out;
	return err_new(ERR_UNSUPPORTED, "built without the app");
}
