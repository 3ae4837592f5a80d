#include "cli/sql_prompt.h"

#include <assert.h>
#include <signal.h>
#include <time.h>

#include "base/str.h"
#include "cli/sql_line.h"

struct prompt {
	struct sql *sql;
	const struct sql_sink *sink;
	FILE *in;
	bool is_terminal;
	bool is_over;
	uint64_t line;	     /* number of the last line read */
	uint64_t first_line; /* of the statement */
	struct str statement;
};

/* --- ^C ------------------------------------------------------------------------------------ */

static sigset_t interrupt_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	return set;
}

/* Blocked while a statement runs, so that it can be polled without a handler. */
static void hold_interrupt(bool is_held)
{
	const sigset_t set = interrupt_set();

	sigprocmask(is_held ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

bool sql_prompt_is_interrupted(void *context)
{
	static const struct timespec now = { 0 };
	const sigset_t set = interrupt_set();
	sigset_t pending;

	(void)context;
	return sigpending(&pending) == 0 && sigismember(&pending, SIGINT) &&
	       sigtimedwait(&set, NULL, &now) == SIGINT;
}

/* --- lines for the prompt ------------------------------------------------------------------ */

static void print(const struct str *text)
{
	fputs(str_text(text), stdout);
	fflush(stdout);
}

static struct err *print_tables(struct prompt *prompt, const char *argument)
{
	CLEAN(str_deinit) struct str text = { 0 };

	(void)prompt;
	(void)argument;
	sql_list_tables(&text);
	print(&text);
	return NULL;
}

static struct err *print_schema(struct prompt *prompt, const char *argument)
{
	CLEAN(str_deinit) struct str text = { 0 };
	struct err *err = sql_schema(*argument ? argument : NULL, &text);

	(void)prompt;
	if (!err)
		print(&text);
	return err;
}

static struct err *print_functions(struct prompt *prompt, const char *argument)
{
	CLEAN(str_deinit) struct str text = { 0 };

	(void)prompt;
	(void)argument;
	sql_list_functions(&text);
	print(&text);
	return NULL;
}

static struct err *print_examples(struct prompt *prompt, const char *argument)
{
	(void)prompt;
	(void)argument;
	for (const struct sql_example *at = sql_examples; at->text; at++)
		printf("%s-- %s\n%s\n", at == sql_examples ? "" : "\n", at->about, at->text);
	return NULL;
}

static struct err *quit(struct prompt *prompt, const char *argument)
{
	(void)argument;
	prompt->is_over = true;
	return NULL;
}

static struct err *print_help(struct prompt *prompt, const char *argument);

static const struct word {
	const char *name;
	const char *about;
	struct err *(*run)(struct prompt *prompt, const char *argument);
} words[] = {
	{ ".tables", "list the tables", print_tables },
	{ ".schema", "columns of all tables, or of the one named", print_schema },
	{ ".functions", "functions besides SQLite's own", print_functions },
	{ ".examples", "statements worth knowing", print_examples },
	{ ".help", "this list", print_help },
	{ ".quit", "end (or ^D)", quit },
};

static struct err *print_help(struct prompt *prompt, const char *argument)
{
	(void)prompt;
	(void)argument;
	for (size_t i = 0; i < array_size(words); i++)
		printf("%-12s %s\n", words[i].name, words[i].about);
	printf("Everything else is SQL; a semicolon ends a statement.\n");
	return NULL;
}

static struct err *run_word(struct prompt *prompt, char *line)
{
	const size_t len = strcspn(line, " \t");
	char *argument = line + len + strspn(line + len, " \t");

	argument[strcspn(argument, " \t;")] = '\0';
	for (size_t i = 0; i < array_size(words); i++) {
		if (strlen(words[i].name) == len && strncmp(words[i].name, line, len) == 0)
			return words[i].run(prompt, argument);
	}
	return err_new(ERR_USAGE, "unknown command '%.*s'; .help lists them", (int)len, line);
}

/* --- statements ---------------------------------------------------------------------------- */

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

static struct err *run_statement(struct prompt *prompt)
{
	struct err *err;

	if (prompt->statement.failed)
		return err_nomem();
	if (prompt->is_terminal)
		hold_interrupt(true);
	err = sql_run(prompt->sql, str_text(&prompt->statement), prompt->first_line, prompt->sink);
	if (prompt->is_terminal) {
		sql_prompt_is_interrupted(NULL); /* a late ^C must not stop the next one */
		hold_interrupt(false);
	}
	str_clear(&prompt->statement);
	return err;
}

static struct err *take_line(struct prompt *prompt, char *line)
{
	prompt->line++;
	line[strcspn(line, "\r\n")] = '\0';
	if (is_blank(str_text(&prompt->statement))) {
		str_clear(&prompt->statement);
		prompt->first_line = prompt->line;
		if (line[0] == '.')
			return run_word(prompt, line);
	}
	str_add(&prompt->statement, line);
	str_add_char(&prompt->statement, '\n');
	return sql_is_complete(str_text(&prompt->statement)) ? run_statement(prompt) : NULL;
}

static void complain(struct err *err)
{
	CLEAN(str_deinit) struct str text = { 0 };

	fflush(stdout);
	str_add_terminal(&text, err_message(err));
	fprintf(stderr, "%s\n", str_text(&text));
	err_destroy(err);
}

/* The caller frees it; NULL: end of input. */
static char *read_line(const struct prompt *prompt)
{
	char *line = NULL;
	size_t room = 0;

	if (prompt->is_terminal)
		return sql_line_read(is_blank(str_text(&prompt->statement)) ? "memtape> "
									    : "    ...> ");
	if (getline(&line, &room, prompt->in) >= 0)
		return line;
	free(line);
	return NULL;
}

static struct err *read_all(struct prompt *prompt)
{
	struct err *err = NULL;

	while (!err && !prompt->is_over) {
		CLEAN(free) char *line = read_line(prompt);

		if (!line)
			break;
		err = take_line(prompt, line);
		if (err && prompt->is_terminal)
			complain(steal(err));
	}
	if (!err && !is_blank(str_text(&prompt->statement)))
		err = run_statement(prompt);
	return err;
}

struct err *sql_prompt_run(struct sql *sql, const struct sql_sink *sink, FILE *in, bool is_terminal)
{
	struct prompt prompt = {
		.sql = sql, .sink = sink, .in = in, .is_terminal = is_terminal, .first_line = 1
	};
	struct err *err;

	assert(sql && sink && in);
	if (is_terminal)
		printf("SQL on a tape; type .help for help.\n");
	err = read_all(&prompt);
	if (is_terminal && !prompt.is_over)
		fputc('\n', stdout);
	str_deinit(&prompt.statement);
	return err;
}
