/*
 * sql: queries a tape as a database.
 */
#include "sql/sql.h"

#include "cli/command.h"
#include "cli/input.h"
#include "cli/reading.h"
#include "cli/session_operand.h"
#include "cli/sql_output.h"
#include "cli/sql_prompt.h"
#include "cli/suppressing.h"

struct sql_options {
	bool json;
	bool csv;
	bool examples;
	bool in_memory;
	bool schema;
	bool pools;
	uint64_t memory_bytes;
	uint64_t timeout_ns;
	const char *output;
	bool force;
	bool no_index;
	struct suppressing_options suppressing;
	struct reading_symbol_options symbols;
};

static const struct option_row rows[] = {
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct sql_options, json),
	  "JSON: an array of objects for each statement" },
	{ "csv", 0, NULL, OPTION_FLAG, offsetof(struct sql_options, csv), "CSV with a header row" },
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct sql_options, output),
	  "write to FILE" },
	OUTPUT_FORCE_OPTION(struct sql_options, force),
	{ "pools", 0, NULL, OPTION_FLAG, offsetof(struct sql_options, pools),
	  "query the objects of the program's own pools instead of the heap" },
	{ "timeout", 0, "TIME", OPTION_DURATION, offsetof(struct sql_options, timeout_ns),
	  "time limit per statement (10s, 500ms)" },
	{ "memory", 0, "SIZE", OPTION_BYTES, offsetof(struct sql_options, memory_bytes),
	  "memory limit per statement (default: 1GiB)" },
	{ "in-memory", 0, NULL, OPTION_FLAG, offsetof(struct sql_options, in_memory),
	  "use no temporary files; sorting counts as memory" },
	{ "schema", 0, NULL, OPTION_FLAG, offsetof(struct sql_options, schema),
	  "list all tables, columns and functions" },
	{ "examples", 0, NULL, OPTION_FLAG, offsetof(struct sql_options, examples),
	  "print useful statements" },
	READING_INDEX_OPTION(struct sql_options, no_index),
	SUPPRESSING_OPTIONS(struct sql_options, suppressing),
	READING_SYMBOL_OPTIONS(struct sql_options, symbols),
};

static struct err *print_schema(void)
{
	CLEAN(str_deinit) struct str text = { 0 };
	struct err *err = sql_schema(NULL, &text);

	if (err)
		return err;
	str_add(&text, "\nfunctions:\n");
	sql_list_functions(&text);
	fputs(str_text(&text), stdout);
	return text.failed ? err_nomem() : NULL;
}

static void print_examples(void)
{
	for (const struct sql_example *at = sql_examples; at->text; at++)
		printf("%s-- %s\n%s\n", at == sql_examples ? "" : "\n", at->about, at->text);
}

static struct err *sql_ask(const char *tape_path, const char *text,
			   const struct sql_options *options,
			   const struct suppressions *suppressions, enum emit_format format,
			   FILE *out)
{
	const bool is_prompt = !text && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	CLEAN(suppressor_deinit) struct suppressor suppressor = { 0 };
	const struct sql_settings settings = {
		.memory_bytes = options->memory_bytes,
		.timeout_ns = options->timeout_ns,
		.memory_option = "--memory",
		.timeout_option = "--timeout",
		.suppressor = &suppressor,
		.stays_in_memory = options->in_memory,
		.is_interrupted = is_prompt ? sql_prompt_is_interrupted : NULL,
	};
	CLEAN(sql_output_deinit)
	struct sql_output output = {
		.out = out,
		.settings = { .format = format,
			      .exact = true,
			      .colour = reading_wants_colour(out),
			      .width = reading_width(out) },
	};
	const struct sql_sink sink = sql_output_sink(&output);
	const struct model_settings how = {
		.subject = options->pools ? MODEL_OF_POOLS : MODEL_OF_HEAP,
		.index = reading_index(options->no_index),
		.announce_context = READING_INDEX_AVOIDED,
	};
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(names_destroy) struct names *names = NULL;
	CLEAN(sql_destroy) struct sql *sql = NULL;
	struct err *err = reading_symbols_init(&symbols, &options->symbols, tape_path);

	if (!err)
		err = reading_model(tape_path, MODEL_FULL, &how, &model);
	if (err)
		return err;
	names = names_create(model, &symbols.options);
	if (!names)
		return err_nomem();
	suppressor_init(&suppressor, model, names, suppressions);
	err = sql_create(model, names, &settings, &sql);
	if (err)
		return err;
	return text ? sql_run(sql, text, 1, &sink) : sql_prompt_run(sql, &sink, stdin, is_prompt);
}

static struct err *sql_command_run(const struct command *command, int argc, char **argv,
				   int *exit_code)
{
	struct sql_options options = { .memory_bytes = UINT64_C(1) << 30 };
	CLEAN(suppressing_deinit) struct suppressing suppressing = { 0 };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct reading_output output;
	enum emit_format format;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (err)
		return err;
	if (options.examples || options.schema) {
		if (options.examples)
			print_examples();
		return options.schema ? print_schema() : NULL;
	}
	if (operand_count < 1 || operand_count > 2)
		return err_new(ERR_USAGE, "expected one tape and at most one SQL text");
	err = reading_format(options.json, options.csv, &format);
	if (!err)
		err = suppressing_load(&suppressing, &options.suppressing);
	if (!err)
		err = session_operands(argv + 1, 1, &arena);
	if (err)
		return err;
	err = reading_output_open(&output, options.output, options.force, argv[1]);
	if (err)
		return err;
	return reading_output_close(&output,
				    sql_ask(argv[1], operand_count > 1 ? argv[2] : NULL, &options,
					    &suppressing.rules, format, output.file));
}

const struct command cmd_sql = {
	.name = "sql",
	.summary = "query a tape with SQL",
	.options = {
		.usage = "memtape sql TAPE [SQL] [options]",
		.about = "Runs SQL queries on a tape: allocations, stacks, functions, threads, time. Without SQL, statements are read from standard input, or at a prompt. Tables are read-only.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = sql_command_run,
};
