/*
 * Statements answered from the table of sums, next to the same statements answered row by row:
 * with another name for the table they are not recognised.
 */
#include "../test.h"

#include "../tape_writer.h"
#include "sql/sql_adapter.h"
#include "sql/sql_rewrite.h"

enum { SLOTS = 300, STREAMS = 4, STACKS = 12 };

struct tape {
	unsigned allocations;
	uint64_t address; /* of the first block */
	uint64_t state;
};

/* Few rows; more than a segment; sums beyond 2^53 and beyond 2^63; none. */
static const struct tape tapes[] = {
	{ 300, 0x10000, 5 },
	{ MODEL_SEGMENT + 3000, 0x10000, 6 },
	{ MODEL_SEGMENT + 20000, UINT64_C(1) << 47, 7 },
	{ 40, UINT64_C(0xffff000000000000), 8 },
	{ 0, 0x10000, 9 },
};

struct fixture {
	struct model *model;
	struct names *names;
	struct sql *sql;
};

static uint64_t random_below(uint64_t *state, uint64_t end)
{
	return (random_next(state) >> 20) % end;
}

static void write_events(struct writer *writer, const struct tape *tape)
{
	uint32_t nodes[STREAMS][STACKS];
	uint64_t sizes[SLOTS] = { 0 }, state = tape->state, ticks = WRITER_START_TICKS;

	for (unsigned stream = 0; stream < STREAMS; stream++) {
		for (unsigned i = 0; i < STACKS; i++)
			nodes[stream][i] = writer_node(
				writer, stream + 1, i % 3 ? nodes[stream][i - 1] : TAPE_NODE_ROOT,
				0x1000 + i * 0x100, ticks);
	}
	for (unsigned made = 0; made < tape->allocations;) {
		const size_t slot = random_below(&state, SLOTS);
		const unsigned stream = 1 + (unsigned)random_below(&state, STREAMS);
		const uint32_t node = nodes[stream - 1][random_below(&state, STACKS)];
		const uint64_t address = tape->address + slot * 0x1008 + 7;
		const uint64_t size = random_below(&state, 12) * random_below(&state, 12);

		ticks += random_below(&state, 3);
		if (sizes[slot] && random_below(&state, 10) == 0) {
			writer_event(writer, stream, TAPE_FN_REALLOC_OUT, ticks, address, 0, node);
			writer_event(writer, stream, TAPE_FN_REALLOC_IN, ticks, address, size,
				     node);
			sizes[slot] = size + 1;
			made++;
		} else if (sizes[slot]) {
			writer_event(writer, stream, TAPE_FN_FREE, ticks, address, 0, node);
			sizes[slot] = 0;
		} else {
			writer_event(writer, stream,
				     random_below(&state, 4) ? TAPE_FN_MALLOC : TAPE_FN_CALLOC,
				     ticks, address, size, node);
			sizes[slot] = size + 1;
			made++;
		}
	}
}

static void fixture_init(struct fixture *fixture, const struct tape *tape)
{
	static const struct sql_settings settings = { .memory_bytes = 1 << 28 };
	static const struct symbol_options symbols = { 0 };
	struct writer writer;
	char path[64];

	writer_init(&writer, 1 << 18);
	write_events(&writer, tape);
	writer_path(path);
	writer_save(&writer, path);
	writer_deinit(&writer);
	assert_null(model_load(path, MODEL_FULL, &fixture->model));
	unlink(path);
	fixture->names = names_create(fixture->model, &symbols);
	assert_non_null(fixture->names);
	assert_null(sql_create(fixture->model, fixture->names, &settings, &fixture->sql));
}

static void fixture_deinit(struct fixture *fixture)
{
	sql_destroy(fixture->sql);
	names_destroy(fixture->names);
	model_destroy(fixture->model);
}

/* --- answers -------------------------------------------------------------------------------- */

struct answer {
	struct str text; /* all of it, with types */
	size_t column_count;
	bool is_summed;
};

static struct err *answer_begin(void *context, const struct sql_head *heads, size_t count)
{
	struct answer *answer = context;

	answer->column_count = count;
	for (size_t i = 0; i < count; i++)
		str_printf(&answer->text, "%s%s|", heads[i].name, heads[i].is_text ? " text" : "");
	return NULL;
}

static struct err *answer_row(void *context, const struct sql_value *values)
{
	struct answer *answer = context;
	char number[64];

	str_add_char(&answer->text, '\n');
	for (size_t i = 0; i < answer->column_count; i++) {
		str_printf(&answer->text, "%u:", (unsigned)values[i].kind);
		if (values[i].kind == SQL_INTEGER)
			str_add_i64(&answer->text, values[i].integer);
		if (values[i].kind == SQL_TEXT)
			str_add(&answer->text, values[i].text);
		if (values[i].kind == SQL_REAL) {
			snprintf(number, sizeof(number), "%a", values[i].real);
			str_add(&answer->text, number);
		}
		str_add_char(&answer->text, '|');
	}
	return NULL;
}

static struct err *answer_end(void *context)
{
	(void)context;
	return NULL;
}

static void ask(struct fixture *fixture, const char *text, struct answer *answer)
{
	const struct sql_sink sink = { answer_begin, answer_row, answer_end, answer };
	struct err *err;

	str_clear(&answer->text);
	err = sql_run(fixture->sql, text, 1, &sink);
	if (err)
		str_add(&answer->text, err_message(err));
	err_destroy(err);
	answer->is_summed = fixture->sql->is_summed;
}

/* With a sign before each condition in parentheses, so that only SQLite tests it. */
static void add_untested(struct str *out, const char *text)
{
	for (; *text; text++) {
		if (strncmp(text, " WHERE (", 8) == 0 || strncmp(text, " AND (", 6) == 0) {
			const size_t len = strcspn(text, "(");

			str_add_bytes(out, text, len);
			str_add_char(out, '+');
			text += len;
		}
		str_add_char(out, *text);
	}
}

/* Whether it was answered from sums: with the same answer as without, or the test fails. */
static bool compare(struct fixture *fixture, const char *head, const char *tail)
{
	CLEAN(str_deinit) struct str summed = { 0 };
	CLEAN(str_deinit) struct str plain = { 0 };
	struct answer a = { 0 }, b = { 0 };
	const bool has_filter = *tail == '(';
	const char *rest = has_filter ? strchr(tail, ')') + 1 : tail;
	bool is_summed;

	str_printf(&summed, "%s FROM allocations%s", head, tail);
	str_printf(&plain, "%s FROM allocations%.*s AS a", head, (int)(rest - tail), tail);
	add_untested(&plain, rest);
	ask(fixture, str_text(&summed), &a);
	ask(fixture, str_text(&plain), &b);
	assert_false(b.is_summed);
	if (strcmp(str_text(&a.text), str_text(&b.text)) != 0)
		fail_msg("%s:\n%.600s\nbut row by row\n%.600s", str_text(&summed),
			 str_text(&a.text), str_text(&b.text));
	is_summed = a.is_summed;
	str_deinit(&a.text);
	str_deinit(&b.text);
	return is_summed;
}

/* --- random statements ---------------------------------------------------------------------- */

static const char *pick(uint64_t *state, const char *const *words, size_t count)
{
	return words[random_below(state, count)];
}
#define PICK(state, words) pick(state, words, array_size(words))

static const char *const keys[] = { "size",
				    "thread",
				    "stack",
				    "free_thread",
				    "call",
				    "free_call",
				    "leaked",
				    "temporary",
				    "at_peak",
				    "size / 16",
				    "size_class",
				    "site(stack)",
				    "site",
				    "free_stack",
				    "iif(size > 30, 1, NULL)",
				    "thread_name",
				    "depth",
				    "chain_position",
				    "5",
				    "free_stack % 2",
				    "size & 3",
				    "address",
				    "lifetime_ns / 100",
				    "reallocated" };

static const char *const columns[] = { "size",	      "lifetime_ns", "free_ns",	 "alloc_ns",
				       "address",     "free_thread", "id",	 "leaked",
				       "usable_size", "realloc_of",  "thread",	 "chain",
				       "free_stack",  "depth",	     "lifetime", "chain_length",
				       "slack",	      "age" };

static const char *const functions[] = { "sum", "count", "avg", "total", "min", "max" };

static void add_aggregate(uint64_t *state, struct str *out)
{
	switch (random_below(state, 6)) {
	case 0:
		str_add(out, random_below(state, 8) ? "count(*)" : "count()");
		break;
	case 1:
		str_printf(out, "%s(DISTINCT %s)", random_below(state, 3) ? "count" : "min",
			   PICK(state, keys));
		break;
	case 2:
		str_printf(out, "%s(%s)", random_below(state, 2) ? "min" : "max",
			   PICK(state, keys));
		break;
	default:
		str_printf(out, "%s(%s)", PICK(state, functions), PICK(state, columns));
	}
}

static void add_condition(uint64_t *state, struct str *out)
{
	static const char *const ops[] = { "=", "<", "<=", ">", ">=", "<>", "IS", "IS NOT" };
	static const char *const others[] = {
		"free_ns IS NULL",
		"free_ns IS NOT NULL",
		"size BETWEEN 5 AND 60",
		"thread IN (0, 2)",
		"size IN (4, 6, 8, 12)",
		"stack IN (SELECT stack FROM frames "
		"WHERE depth = 0)",
		"size % 3 = 1",
		"leaked = 1",
		"size > 10.5",
		"size > '7'",
		"free_stack > 3",
		"size = 4 OR thread = 1",
		"NOT temporary",
		"call = 'malloc'",
		"id < 100",
		"alloc_ns > 500",
		"alloc_ns < 60000",
		"lifetime_ns > size",
		"free_thread IS NOT NULL",
		"address > -5",
		"size <> 4",
		"id IN (1, 2, 3)",
		"free_stack IS NULL",
		"depth > 1",
		"site = 'main'",
		"size > (SELECT 5)",
	};

	if (random_below(state, 2))
		str_printf(out, "%s %s %d", PICK(state, columns), PICK(state, ops),
			   (int)random_below(state, 120) - 20);
	else
		str_add(out, PICK(state, others));
}

static void add_where(uint64_t *state, struct str *out)
{
	for (unsigned i = 0; random_below(state, 2); i++) {
		str_add(out, i ? " AND (" : " WHERE (");
		add_condition(state, out);
		str_add_char(out, ')');
	}
}

static void add_order(uint64_t *state, size_t item_count, struct str *out)
{
	if (random_below(state, 2)) {
		str_printf(out, " ORDER BY %u%s", 1 + (unsigned)random_below(state, item_count),
			   random_below(state, 2) ? " DESC" : "");
		if (random_below(state, 3) == 0)
			str_add(out, ", count(*) + 1 DESC NULLS LAST");
	}
	if (random_below(state, 3) == 0)
		str_printf(out, " LIMIT %u", (unsigned)random_below(state, 20));
}

/* A statement in two parts, before and after FROM allocations. */
static void make_statement(uint64_t *state, struct str *head, struct str *tail)
{
	const size_t key_count = random_below(state, 3), sums = 1 + random_below(state, 3);

	str_add(head, random_below(state, 12) ? "SELECT " : "SELECT DISTINCT ");
	for (size_t i = 0; i < key_count; i++) {
		str_add(head, PICK(state, keys));
		if (random_below(state, 3) == 0)
			str_printf(head, " AS k%u", (unsigned)i);
		str_add(head, ", ");
	}
	for (size_t i = 0; i < sums; i++) {
		str_add(head, i ? ", " : "");
		add_aggregate(state, head);
		if (random_below(state, 4) == 0)
			str_printf(head, " n%u", (unsigned)i);
	}
	if (random_below(state, 8) == 0)
		str_add(tail, "('size > 8')");
	add_where(state, tail);
	for (size_t i = 0; i < key_count; i++)
		str_printf(tail, "%s%u", i ? ", " : " GROUP BY ", (unsigned)i + 1);
	if (key_count > 0 && random_below(state, 4) == 0)
		str_add(tail, " HAVING count(*) > 2 AND max(size) > 8");
	add_order(state, key_count + sums, tail);
}

static void sums_answer_what_rows_answer(void **state)
{
	static const unsigned counts[] = { 600, 60, 60, 300, 100 };
	uint64_t random = 11;

	(void)state;
	for (size_t i = 0; i < array_size(tapes); i++) {
		struct fixture fixture = { 0 };
		unsigned summed = 0;

		fixture_init(&fixture, &tapes[i]);
		for (unsigned at = 0; at < counts[i]; at++) {
			CLEAN(str_deinit) struct str head = { 0 };
			CLEAN(str_deinit) struct str tail = { 0 };

			make_statement(&random, &head, &tail);
			summed += compare(&fixture, str_text(&head), str_text(&tail));
		}
		/* The others have constraints by which nothing can be merged, or too large sums. */
		if (summed < counts[i] / 3)
			fail_msg("tape %zu: %u of %u are summed", i, summed, counts[i]);
		fixture_deinit(&fixture);
	}
}

/* --- chosen statements ---------------------------------------------------------------------- */

static const struct {
	const char *head, *tail;
	bool is_summed;
} statements[] = {
	{ "SELECT count(*)", "", true },
	{ "select COUNT ( * ) , Sum(SIZE) -- all\n", " where /* all */ size >= 0;", true },
	{ "SELECT size, count(*)", " GROUP BY size", true },
	{ "SELECT \"size\", count(*) AS \"a b\"", " GROUP BY \"size\" ORDER BY \"a b\"", true },
	{ "SELECT size, count(*)", " GROUP BY size HAVING count(*) > 5", true },
	{ "SELECT size s, count(*) n", " GROUP BY s ORDER BY n DESC, s LIMIT 3 OFFSET 1", true },
	{ "SELECT size / 8 * 8, sum(size) * 1.0 / count(*)", " GROUP BY size / 8 * 8", true },
	{ "SELECT human_bytes(sum(size))", "", true },
	{ "SELECT thread, free_thread, avg(lifetime_ns)", " GROUP BY thread, 2", true },
	{ "SELECT DISTINCT thread, call", "", true },
	{ "SELECT size", " GROUP BY size", true },
	{ "SELECT min(size), max(alloc_ns)", "", true },
	{ "SELECT CAST(sum(size) AS REAL)", " WHERE size > 0", true },
	{ "SELECT count(*)", " WHERE alloc_ns BETWEEN 100 AND 2000 AND free_ns > 500", true },
	{ "SELECT count(*)", " WHERE free_ns IS NULL AND id < 1000000", true },
	{ "SELECT count(*)", "('size > 20') WHERE thread = 1", true },
	{ "SELECT count(*)", " WHERE stack IN (SELECT frames.stack FROM frames)", true },
	{ "SELECT 1, count(*)", " GROUP BY NULL", false },
	/* A column of any row of the group. */
	{ "SELECT size, count(*)", " GROUP BY thread", false },
	{ "SELECT size, count(*)", "", false },
	{ "SELECT size + 1, count(*)", " GROUP BY size / 2", false },
	{ "SELECT count(*)", " GROUP BY thread ORDER BY size", false },
	{ "SELECT count(*)", " GROUP BY thread HAVING size > 2", false },
	{ "SELECT *, count(*)", " GROUP BY size", false },
	{ "SELECT thread AS size, size, count(*)", " GROUP BY size", false },
	{ "SELECT thread size, count(*)", " GROUP BY size", false },
	{ "SELECT thread size, count(*)", " GROUP BY thread, size", false },
	{ "SELECT count(*)", " WHERE (size < 5 OR thread = 1)", true },
	{ "SELECT thread 'size', count(*)", " GROUP BY thread", false },
	/* Of rows, or of their order. */
	{ "SELECT size", " LIMIT 3", false },
	{ "SELECT min(alloc_ns)", "", false },
	{ "SELECT group_concat(size)", " WHERE id < 5", false },
	{ "SELECT count(*)", " WHERE rowid < 5", false },
	{ "SELECT id, count(*)", " GROUP BY id LIMIT 5", false },
	{ "SELECT alloc_ns / 1000, count(*)", " GROUP BY 1", false },
	{ "SELECT count(*) OVER ()", " LIMIT 2", false },
	{ "SELECT sum(size) OVER w", " WINDOW w AS (ORDER BY id) LIMIT 2", false },
	{ "SELECT count(*) FILTER (WHERE size > 5)", "", false },
	{ "SELECT count(*)", ", threads", false },
	{ "SELECT count(*)", " JOIN threads ON thread = threads.id", false },
	{ "SELECT count(*)", ", (SELECT 1 UNION SELECT 2) b", false },
	{ "SELECT count(*)", " WHERE id < 5 UNION SELECT 3", false },
	{ "SELECT (SELECT max(id) FROM threads), count(*)", "", false },
	{ "SELECT count(*)", " GROUP BY size COLLATE nocase", false },
	{ "SELECT sum(size + 1)", "", false },
	{ "SELECT max(size, 7), count(*)", " GROUP BY 1", false },
};

static void only_statements_about_sums_are_answered_from_them(void **state)
{
	struct fixture fixture = { 0 };

	(void)state;
	fixture_init(&fixture, &tapes[0]);
	for (size_t i = 0; i < array_size(statements); i++) {
		if (compare(&fixture, statements[i].head, statements[i].tail) !=
		    statements[i].is_summed)
			fail_msg("%s ...%s", statements[i].head, statements[i].tail);
	}
	fixture_deinit(&fixture);
}

/* Beyond 2^53 a real number depends on the order in which it was added up. */
static void large_sums_are_added_in_the_order_of_rows(void **state)
{
	static const struct {
		const char *head, *tail;
		bool is_summed;
	} rows[] = {
		{ "SELECT avg(address), total(address)", "", true },
		{ "SELECT thread, avg(address)", " GROUP BY thread", true },
		{ "SELECT size, thread, total(address)", " WHERE size > 3 GROUP BY 1, 2", true },
		/* Groups of several merged rows. */
		{ "SELECT size / 16, total(address)", " GROUP BY 1", false },
		{ "SELECT thread, total(address)", " WHERE size % 3 = 1 GROUP BY 1", false },
		{ "SELECT avg(address)", " WHERE stack IN (SELECT stack FROM frames)", false },
		{ "SELECT call, total(address)", " GROUP BY call", false },
		{ "SELECT sum(address)", "", false }, /* too large */
		{ "SELECT max(address), min(address)", "", true },
	};
	struct fixture fixture = { 0 };

	(void)state;
	fixture_init(&fixture, &tapes[2]);
	for (size_t i = 0; i < array_size(rows); i++) {
		const bool is_summed = compare(&fixture, rows[i].head, rows[i].tail);

		if (is_summed != rows[i].is_summed && fixture.sql->adds_in_order)
			fail_msg("%s ...%s", rows[i].head, rows[i].tail);
	}
	fixture_deinit(&fixture);
}

static void what_depends_on_chance_is_not_rewritten(void **state)
{
	static const char *const texts[] = {
		"SELECT count(*) FROM allocations WHERE random() % 2",
		"SELECT count(*) FROM allocations WHERE size IN (SELECT random() % 9)",
		"SELECT count(*) FROM allocations WHERE size > ?",
		"SELECT count(*) FROM allocations WHERE size > (SELECT 1 FROM "
		"\"allocations#sums\")",
		"SELECT count(*) FROM \"allocations#sums\"",
		"EXPLAIN SELECT count(*) FROM allocations",
		"SELECT count(*) FROM allocations WHERE \"a\"\"b\" = 1",
		"SELECT count(*) FROM",
		"SELECT",
		"",
	};

	(void)state;
	for (size_t i = 0; i < array_size(texts); i++) {
		CLEAN(str_deinit) struct str out = { 0 };
		struct sql_sums sums;

		if (sql_rewrite(texts[i], strlen(texts[i]), &out, &sums))
			fail_msg("%s", texts[i]);
	}
}

static void the_table_of_sums_cannot_be_read(void **state)
{
	struct fixture fixture = { 0 };
	struct answer answer = { 0 };

	(void)state;
	fixture_init(&fixture, &tapes[0]);
	ask(&fixture, "SELECT count(*) FROM allocations", &answer); /* now it exists */
	assert_true(answer.is_summed);
	ask(&fixture, "SELECT size FROM \"allocations#sums\"", &answer);
	assert_non_null(strstr(str_text(&answer.text), "only SELECT is allowed"));
	ask(&fixture, "SELECT count(*) FROM \"Allocations#Sums\"", &answer);
	assert_non_null(strstr(str_text(&answer.text), "only SELECT is allowed"));
	str_deinit(&answer.text);
	fixture_deinit(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_answer_what_rows_answer),
		cmocka_unit_test(only_statements_about_sums_are_answered_from_them),
		cmocka_unit_test(large_sums_are_added_in_the_order_of_rows),
		cmocka_unit_test(what_depends_on_chance_is_not_rewritten),
		cmocka_unit_test(the_table_of_sums_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
