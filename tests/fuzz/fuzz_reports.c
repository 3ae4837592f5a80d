/*
 * What is asked of a model when its index says anything: every report, export and table of SQL ends
 * in an answer or in an error, and an answer for people or programs has no control characters that
 * came from the file. One question an input, which its first bytes choose.
 */
#include "export/export.h"
#include "index_input.h"
#include "no_threads.h"
#include "sql/sql.h"
#include "report/report.h"

enum { NS_PER_S = 1000000000 };

struct choice {
	uint8_t what;
	uint8_t format;
	uint8_t filter;
	uint8_t by;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static bool is_clean; /* what is written has no control characters */

static ssize_t written(void *context, const char *bytes, size_t count)
{
	(void)context;
	for (size_t i = 0; i < count && is_clean; i++)
		check((uint8_t)bytes[i] >= ' ' || bytes[i] == '\n' || bytes[i] == '\t');
	return (ssize_t)count;
}

static size_t words_count(const char *const *words)
{
	size_t count = 0;

	while (words[count])
		count++;
	return count;
}

static struct symbol_options no_files(void)
{
	static const struct path_map paths = { .sysroot = "/nowhere" };

	return (struct symbol_options) { .paths = &paths, .thread_count = 1 };
}

static const char *const filters[] = {
	NULL,
	"size >= 32 and (leaked or temporary) and function !~ \"x$\"",
	"thread = 1 or stack_depth > 2 or lifetime < 1ms",
	"alive_at(peak) and chain_length > 1",
	"until mark(end) and not from 50%",
};

static const char *const moments[] = { "10%", "80%", "peak", "end", "mark(end)" };
static const char *const texts[] = { NULL, "x", "self,totB", "module", "lifetime" };

/* Some of what the question takes: a kind of parameter is set when its bit of format is. */
static struct parameters parameters_choose(const struct question *question,
					   const struct choice *choice)
{
	const uint64_t takes = question_takes(question);
	struct parameters with = parameters_usual();

	for (unsigned id = 0; id < PARAMETER_COUNT; id++) {
		const struct parameter *parameter = &parameter_table[id];
		void *place = (char *)&with + parameter->place;
		const unsigned by = choice->by + id;

		if (!(takes >> id & 1))
			continue;
		if (parameter->kind == PARAMETER_IS_FILTER)
			*(const char **)place = filters[choice->filter % array_size(filters)];
		else if (parameter->kind == PARAMETER_IS_CHOICE)
			*(int *)place = (int)(choice->by % words_count(parameter->words));
		else if (parameter->kind == PARAMETER_IS_FLAG)
			*(bool *)place = choice->format & 4 << id % 3;
		else if (parameter->kind == PARAMETER_IS_NUMBER && choice->format & 32)
			*(uint64_t *)place = by;
		else if (parameter->kind == PARAMETER_IS_MOMENT &&
			 (choice->format & 64 || parameter->operand))
			*(const char **)place = moments[by % array_size(moments)];
		else if (parameter->kind == PARAMETER_IS_TEXT && id != PARAMETER_sort)
			*(const char **)place = texts[by % array_size(texts)];
	}
	if (question->sorts && choice->format & 128)
		with.sort = question->sorts[choice->by % words_count(question->sorts)];
	return with;
}

/* What stands behind the name, of all that was chosen. */
static size_t operands_choose(const struct question *question, const struct parameters *with,
			      const char **operands)
{
	size_t count = 0;

	for (unsigned id = 0; id < PARAMETER_COUNT; id++) {
		const struct parameter *parameter = &parameter_table[id];
		const void *place = (const char *)with + parameter->place;

		if (parameter->operand && question_takes(question) >> id & 1)
			operands[count++] =
				*(const char *const *)place ? *(const char *const *)place : "x";
	}
	return count;
}

static struct err *report_ask(const struct model *model, const struct choice *choice, size_t index,
			      FILE *out)
{
	const struct symbol_options symbols = no_files();
	const struct report *report = report_table[index];
	const char *operands[PARAMETER_COUNT];
	struct report_settings settings = {
		.format = (enum emit_format)(choice->format % 3),
		.with = parameters_choose(report->question, choice),
		.operands = operands,
		.symbols = &symbols,
		.tape_path = "fuzz.mtape",
	};
	struct err *err;

	settings.operand_count = operands_choose(report->question, &settings.with, operands);
	is_clean = settings.format != EMIT_CSV;
	err = report_settle(report, &settings);
	if (!err)
		err = report_check(report, &settings);
	return err ? err : report_run_model(report, model, &settings, out);
}

static struct err *no_heads(void *context, const struct sql_head *heads, size_t count)
{
	size_t *bytes = context;

	for (size_t i = 0; i < count; i++)
		*bytes += strlen(heads[i].name);
	return NULL;
}

static struct err *no_row(void *context, const struct sql_value *values)
{
	size_t *bytes = context;

	if (values[0].kind == SQL_TEXT)
		*bytes += strlen(values[0].text);
	return NULL;
}

static struct err *no_end(void *context)
{
	check(*(size_t *)context < SIZE_MAX / 2);
	return NULL;
}

static struct err *sql_ask(const struct model *model, const char *text)
{
	const struct symbol_options symbols = no_files();
	const struct sql_settings settings = { .timeout_ns = NS_PER_S, .stays_in_memory = true };
	CLEAN(names_destroy) struct names *names = names_create(model, &symbols);
	CLEAN(sql_destroy) struct sql *sql = NULL;
	size_t bytes = 0;
	struct err *err = sql_create(model, names, &settings, &sql);

	if (err)
		return err;
	return sql_run(sql, text, 1, &(struct sql_sink) { no_heads, no_row, no_end, &bytes });
}

static struct err *export_ask(const struct model *model, const struct choice *choice,
			      const struct export_format *format, FILE *out)
{
	const struct symbol_options symbols = no_files();
	const struct selection_settings asked = {
		.filter = filters[choice->filter % array_size(filters)],
	};
	CLEAN(names_destroy) struct names *names = names_create(model, &symbols);
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct selection *selection;
	struct err *err = selection_make(model, names, &asked, &arena, &selection);

	if (err)
		return err;
	is_clean = false;
	return format->write(
		&(struct export_context) {
			.tape_path = "fuzz.mtape",
			.model = model,
			.names = names,
			.selection = selection,
			.sums = selection->sums,
			.metric = (enum metric)(choice->by % METRICS),
			.mode = WALK_EXACT,
		},
		out);
}

static const char *const statements[] = {
	"SELECT * FROM allocations",
	"SELECT * FROM allocations WHERE size > 20 AND alloc_ns < 50000000 ORDER BY free_ns DESC",
	"SELECT * FROM notes JOIN stacks ON stacks.id = notes.stack",
	"SELECT * FROM frames",
	"SELECT * FROM mappings",
	"SELECT * FROM timeline JOIN threads",
	"SELECT * FROM usage JOIN modules",
	"SELECT * FROM groups JOIN functions",
};

static struct err *ask(const struct model *model, const struct choice *choice, FILE *out)
{
	size_t what = choice->what;

	for (size_t i = 0; report_table[i]; i++)
		if (what-- == 0)
			return report_ask(model, choice, i, out);
	for (size_t i = 0; export_table[i]; i++)
		if (what-- == 0)
			return export_ask(model, choice, export_table[i], out);
	for (size_t i = 0; i < array_size(statements); i++)
		if (what-- == 0)
			return sql_ask(model, statements[i]);
	for (size_t i = 0; sql_examples[i].text; i++)
		if (what-- == 0)
			return sql_ask(model, sql_examples[i].text);
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const cookie_io_functions_t functions = { .write = written };
	struct choice choice;
	struct model *model;
	FILE *out;

	if (size < sizeof(choice))
		return 0;
	memcpy(&choice, data, sizeof(choice));
	threads_are_off = true;
	model = index_input_read(TAPE_FLAG_LATENCY, data + sizeof(choice), size - sizeof(choice));
	out = fopencookie(NULL, "w", functions);
	check(out != NULL);
	if (model)
		err_destroy(ask(model, &choice, out));
	check(fclose(out) == 0);
	model_destroy(model);
	threads_are_off = false;
	return 0;
}
