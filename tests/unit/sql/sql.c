#include "../test.h"

#include "../tape_writer.h"
#include "sql/sql.h"

/* Enough for a second segment of rows. */
enum { ALLOCATIONS = MODEL_SEGMENT + 5000, SLOTS = 500, STREAMS = 4, STACKS = 20 };

struct fixture {
	struct model *model;
	struct names *names;
	struct sql *sql;
};

static uint64_t random_below(uint64_t *state, uint64_t end)
{
	return (random_next(state) >> 20) % end;
}

/* Blocks of a few hundred slots come and go; some calls fail, some blocks are realloc'ed. */
static void write_events(struct writer *writer)
{
	uint32_t nodes[STREAMS][STACKS];
	uint64_t sizes[SLOTS] = { 0 }, state = 7, ticks = WRITER_START_TICKS;

	for (unsigned stream = 0; stream < STREAMS; stream++) {
		for (unsigned i = 0; i < STACKS; i++)
			nodes[stream][i] = writer_node(
				writer, stream + 1, i % 3 ? nodes[stream][i - 1] : TAPE_NODE_ROOT,
				0x1000 + i * 0x100, ticks);
	}
	for (unsigned made = 0; made < ALLOCATIONS;) {
		const size_t slot = random_below(&state, SLOTS);
		const unsigned stream = 1 + (unsigned)random_below(&state, STREAMS);
		const uint32_t node = nodes[stream - 1][random_below(&state, STACKS)];
		const uint64_t address = 0x10000 + slot * 0x1000;
		const uint64_t size = random_below(&state, 40) * random_below(&state, 40);

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
			writer_event(writer, stream, TAPE_FN_MALLOC, ticks, address, size, node);
			sizes[slot] = size + 1;
			made++;
		}
	}
}

static int set_up(void **state)
{
	static const struct sql_settings settings = { .memory_bytes = 1 << 28 };
	static const struct symbol_options symbols = { 0 };
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct writer writer;
	char path[64];

	assert_non_null(fixture);
	writer_init(&writer, 1 << 18);
	write_events(&writer);
	writer_path(path);
	writer_save(&writer, path);
	writer_deinit(&writer);
	assert_null(model_load(path, MODEL_FULL, &fixture->model));
	unlink(path);
	fixture->names = names_create(fixture->model, &symbols);
	assert_non_null(fixture->names);
	assert_null(sql_create(fixture->model, fixture->names, &settings, &fixture->sql));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	sql_destroy(fixture->sql);
	names_destroy(fixture->names);
	model_destroy(fixture->model);
	free(fixture);
	return 0;
}

/* --- answers -------------------------------------------------------------------------------- */

/* The first value of each row, and of the first row all of them. */
struct answer {
	int64_t *values;
	size_t count;
	size_t room;
	size_t column_count;
	int64_t first[32];
};

static struct err *answer_begin(void *context, const struct sql_head *heads, size_t count)
{
	struct answer *answer = context;

	(void)heads;
	answer->count = 0;
	answer->column_count = count;
	return NULL;
}

static struct err *answer_row(void *context, const struct sql_value *values)
{
	struct answer *answer = context;

	for (size_t i = 0; i < answer->column_count && i < 32 && answer->count == 0; i++)
		answer->first[i] = values[i].integer;
	if (answer->count == answer->room) {
		answer->room = answer->room * 2 + 100;
		answer->values = realloc(answer->values, answer->room * sizeof(int64_t));
		assert_non_null(answer->values);
	}
	answer->values[answer->count++] = values[0].integer;
	return NULL;
}

static struct err *answer_end(void *context)
{
	(void)context;
	return NULL;
}

static struct answer ask(struct fixture *fixture, const char *text)
{
	struct answer answer = { 0 };
	const struct sql_sink sink = { answer_begin, answer_row, answer_end, &answer };
	struct err *err = sql_run(fixture->sql, text, 1, &sink);

	if (err)
		fail_msg("%s: %s", text, err_message(err));
	return answer;
}

static int64_t number(struct fixture *fixture, const char *text)
{
	struct answer answer = ask(fixture, text);

	assert_true(answer.count == 1);
	free(answer.values);
	return answer.first[0];
}

static void answers_are_equal(struct fixture *fixture, const char *left, const char *right)
{
	struct answer a = ask(fixture, left), b = ask(fixture, right);
	const bool is_equal =
		a.count == b.count &&
		(a.count == 0 || memcmp(a.values, b.values, a.count * sizeof(*a.values)) == 0);

	if (!is_equal)
		fail_msg("%zu rows: %s\n%zu rows: %s", a.count, left, b.count, right);
	free(a.values);
	free(b.values);
}

/* --- claims --------------------------------------------------------------------------------- */

static void sums_of_rows_are_the_totals(void **state)
{
	struct fixture *fixture = *state;
	const struct model_totals *totals = model_totals(fixture->model);
	struct answer answer =
		ask(fixture,
		    "SELECT count(*), sum(size), sum(usable_size), "
		    "sum(leaked), sum(temporary), sum(at_peak), count(free_ns) - sum(lost_free), "
		    "total(at_peak * size) = (SELECT peak_bytes FROM summary), "
		    "sum(realloc_of IS NOT NULL) FROM allocations");

	assert_int_equal(answer.first[0], totals->allocated.count);
	assert_int_equal(answer.first[1], totals->allocated.bytes);
	assert_int_equal(answer.first[2], totals->usable_bytes);
	assert_int_equal(answer.first[3], totals->leaked.count);
	assert_int_equal(answer.first[4], totals->temporary.count);
	assert_int_equal(answer.first[5], totals->peak.count);
	assert_int_equal(answer.first[6], totals->freed.count);
	assert_int_equal(answer.first[7], 1);
	assert_true(answer.first[8] > 0 && (uint64_t)answer.first[8] <= totals->realloc_count);
	assert_true(totals->temporary.count > 0);
	free(answer.values);
}

static void sums_by_stack_thread_and_function_agree(void **state)
{
	struct fixture *fixture = *state;
	static const char *const pairs[][2] = {
		{ "SELECT sum(size) FROM allocations GROUP BY stack ORDER BY stack",
		  "SELECT allocated_bytes FROM groups ORDER BY stack" },
		{ "SELECT sum(leaked) FROM allocations GROUP BY stack ORDER BY stack",
		  "SELECT leaked_count FROM groups ORDER BY stack" },
		{ "SELECT sum(temporary * size) FROM allocations GROUP BY thread ORDER BY thread",
		  "SELECT temporary_bytes FROM threads WHERE allocated_count > 0 ORDER BY id" },
		{ "SELECT sum(allocated_bytes) FROM groups",
		  "SELECT sum(self_allocated_bytes) FROM functions" },
		{ "SELECT sum(allocated_count) FROM groups WHERE stack IN "
		  "(SELECT stack FROM frames WHERE function = '0x12ff')",
		  "SELECT allocated_count FROM functions WHERE function = '0x12ff'" },
		{ "SELECT count(*) FROM allocations WHERE alloc_ns <= 50000 AND "
		  "(free_ns IS NULL OR free_ns > 50000)",
		  "SELECT sum(live_count) FROM live_at(50000)" },
		{ "SELECT sum(leaked_bytes) FROM groups", "SELECT sum(live_bytes) FROM live_at" },
		{ "SELECT peak_bytes FROM summary", "SELECT sum(live_bytes) FROM live_at('peak')" },
		{ "SELECT live_count FROM live_at('50%') ORDER BY stack",
		  "SELECT live_count FROM live_at((SELECT duration_ns / 2 FROM summary)) "
		  "ORDER BY stack" },
		{ "SELECT depth FROM stacks WHERE id IN (SELECT DISTINCT stack FROM frames) "
		  "ORDER BY id",
		  "SELECT count(*) FROM frames GROUP BY stack ORDER BY stack" },
	};

	for (size_t i = 0; i < array_size(pairs); i++)
		answers_are_equal(fixture, pairs[i][0], pairs[i][1]);
}

static const struct {
	const char *name;
	uint64_t end; /* values are below, roughly */
} columns[] = {
	{ "id", ALLOCATIONS },
	{ "alloc_ns", 2 * ALLOCATIONS },
	{ "free_ns", 2 * ALLOCATIONS },
	{ "lifetime_ns", 2000 },
	{ "size", 1600 },
	{ "usable_size", 1600 },
	{ "thread", 5 },
	{ "free_thread", 5 },
	{ "stack", STACKS + 5 },
	{ "free_stack", STACKS + 5 },
	{ "realloc_of", ALLOCATIONS },
	{ "chain", 3000 },
	{ "address", 0x10000 + 1000 },
	{ "temporary", 2 },
	{ "leaked", 2 },
};

static void add_operand(struct str *text, uint64_t *state, uint64_t end)
{
	static const char *const odd[] = {
		"-1",	 "NULL", "9223372036854775807", "1e30", "-1e30", "'500'", "'abc'",
		"x'00'", "4.5",	 "9223372036854775806"
	};

	if (random_below(state, 6) == 0)
		str_add(text, odd[random_below(state, array_size(odd))]);
	else
		str_add_u64(text, random_below(state, end));
}

/* The same condition twice: on the column, and on a value that happens to be the column's. */
static void add_condition(struct str *pushed, struct str *plain, uint64_t *state)
{
	static const char *const ops[] = { " = ", " < ", " <= ", " > ", " >= ", " IS " };
	const size_t column = random_below(state, array_size(columns));
	const unsigned kind = (unsigned)random_below(state, 10);
	CLEAN(str_deinit) struct str rest = { 0 };

	if (kind == 0) {
		str_add(&rest, random_below(state, 2) ? " IS NULL" : " IS NOT NULL");
	} else if (kind == 1) {
		str_add(&rest, " IN (");
		for (unsigned i = 0; i < 5; i++) {
			str_add(&rest, i ? ", " : "");
			add_operand(&rest, state, columns[column].end);
		}
		str_add_char(&rest, ')');
	} else if (kind == 2) {
		str_printf(&rest, " IN (SELECT id * %u FROM stacks)",
			   (unsigned)random_below(state, 50));
	} else {
		str_add(&rest, ops[random_below(state, array_size(ops))]);
		add_operand(&rest, state, columns[column].end);
	}
	str_printf(pushed, "%s%s", columns[column].name, str_text(&rest));
	str_printf(plain, "CAST(%s AS INTEGER)%s", columns[column].name, str_text(&rest));
}

static void add_conditions(struct str *pushed, struct str *plain, uint64_t *state)
{
	const uint64_t count = 1 + random_below(state, 3);

	for (uint64_t i = 0; i < count; i++) {
		const char *between = i == 0 ? "" : random_below(state, 5) ? " AND " : " OR ";

		str_add(pushed, between);
		str_add(plain, between);
		add_condition(pushed, plain, state);
	}
}

static void constraints_give_the_rows_of_a_full_scan(void **state)
{
	static const char *const orders[] = { "id", "id DESC", "alloc_ns, id",
					      "alloc_ns DESC, id DESC" };
	struct fixture *fixture = *state;
	uint64_t seed = 11;

	for (unsigned i = 0; i < 60; i++) {
		CLEAN(str_deinit) struct str pushed = { 0 };
		CLEAN(str_deinit) struct str plain = { 0 };
		const char *order = orders[random_below(&seed, array_size(orders))];

		str_add(&pushed, "SELECT id FROM allocations WHERE ");
		str_add(&plain, "SELECT id FROM allocations WHERE ");
		add_conditions(&pushed, &plain, &seed);
		str_printf(&pushed, " ORDER BY %s", order);
		str_printf(&plain, " ORDER BY +%s", order);
		answers_are_equal(fixture, str_text(&pushed), str_text(&plain));
	}
}

static void keys_give_the_rows_of_a_full_scan(void **state)
{
	static const char *const tables[][2] = {
		{ "stacks", "id" },  { "groups", "stack" },  { "frames", "stack" },
		{ "threads", "id" }, { "functions", "id" },  { "timeline", "id" },
		{ "calls", "id" },   { "live_at", "stack" },
	};
	struct fixture *fixture = *state;
	uint64_t seed = 3;

	for (unsigned i = 0; i < 150; i++) {
		const size_t table = random_below(&seed, array_size(tables));
		const char *name = tables[table][0], *key = tables[table][1];
		const char *down = random_below(&seed, 2) ? " DESC" : "";
		const unsigned low = (unsigned)random_below(&seed, 40);
		const unsigned high = low + (unsigned)random_below(&seed, 40);
		char pushed[200], plain[200];

		snprintf(pushed, sizeof(pushed),
			 "SELECT %s FROM %s WHERE %s >= %u AND %s < %u ORDER BY %s%s", key, name,
			 key, low, key, high, key, down);
		snprintf(plain, sizeof(plain),
			 "SELECT %s FROM %s WHERE +%s >= %u AND +%s < %u ORDER BY +%s%s", key, name,
			 key, low, key, high, key, down);
		answers_are_equal(fixture, pushed, plain);
	}
}

static void filters_give_the_rows_of_their_conditions(void **state)
{
	static const char *const pairs[][2] = {
		{ "size >= 500 and not leaked", "size >= 500 AND NOT leaked" },
		{ "lifetime < 100ns or stack = 7", "lifetime_ns < 100 OR stack = 7" },
		{ "function = \"0x12ff\"",
		  "stack IN (SELECT stack FROM frames WHERE function = '0x12ff')" },
		{ "temporary and time >= 20us", "temporary AND alloc_ns >= 20000" },
		{ "size < 0 or leaked", "leaked" },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < array_size(pairs); i++) {
		char filtered[300], plain[300];

		snprintf(filtered, sizeof(filtered),
			 "SELECT id FROM allocations('%s') WHERE id %% 3 < 2 ORDER BY id DESC",
			 pairs[i][0]);
		snprintf(plain, sizeof(plain),
			 "SELECT id FROM allocations WHERE (%s) AND id %% 3 < 2 ORDER BY +id DESC",
			 pairs[i][1]);
		answers_are_equal(fixture, filtered, plain);
	}
	assert_int_equal(number(fixture, "SELECT count(*) FROM threads JOIN allocations('leaked') "
					 "AS a ON a.thread = threads.id WHERE a.filter = 'leaked'"),
			 number(fixture, "SELECT leaked_count FROM summary"));
	assert_int_equal(number(fixture, "SELECT count(*) FROM allocations WHERE filter = NULL"),
			 0);
}

static void fields_have_the_values_that_filters_see(void **state)
{
	static const char *const conditions[] = {
		"slack > 1",	      "size_class >= 256", "chain_length > 2",
		"chain_position = 1", "foreign_free = 1",  "group_bytes > 900000",
		"depth >= 3",	      "chain_leaked = 1",  "freed = 0",
		"group_leaked > 7",   "mmapped = 1",
	};
	static const char *const filters[] = {
		"slack > 1",	"size_class >= 256",	"chain_length > 2", "chain_position = 1",
		"foreign_free", "group_bytes > 900000", "depth >= 3",	    "chain_leaked",
		"not freed",	"group_leaked > 7",	"mmapped",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < array_size(conditions); i++) {
		char filtered[300], plain[300];

		snprintf(filtered, sizeof(filtered), "SELECT id FROM allocations('%s')",
			 filters[i]);
		snprintf(plain, sizeof(plain), "SELECT id FROM allocations WHERE %s",
			 conditions[i]);
		answers_are_equal(fixture, filtered, plain);
	}
	assert_int_equal(
		number(fixture, "SELECT count(*) FROM allocations WHERE site IS NOT "
				"site(stack) OR lifetime IS NOT lifetime_ns OR time <> "
				"alloc_ns OR age < 0 OR thread_name IS NULL"),
		number(fixture, "SELECT count(*) FROM allocations WHERE thread_name IS NULL"));
	assert_int_equal(number(fixture,
				"SELECT count(*) > 0 FROM allocations WHERE chain_length > 2 "
				"AND first_size > last_size ORDER BY depth"),
			 1);
}

static void patterns_are_those_of_perl(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(number(fixture, "SELECT 'foobar' REGEXP '^fo+b(?=a)'"), 1);
	assert_int_equal(number(fixture, "SELECT 'foobar' REGEXP '^b'"), 0);
	assert_int_equal(number(fixture, "SELECT NULL REGEXP '^b' IS NULL"), 1);
	assert_int_equal(number(fixture,
				"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 "
				"FROM c LIMIT 30) SELECT sum('12' REGEXP CAST(x AS TEXT)) FROM c"),
			 3);
}

static void order_of_time_needs_no_sort(void **state)
{
	struct fixture *fixture = *state;

	/* A sort would be a line of the plan. */
	assert_int_equal(number(fixture, "SELECT count(*) FROM allocations WHERE id = "
					 "(SELECT id FROM allocations ORDER BY id DESC LIMIT 1) "
					 "AND id = (SELECT max(+id) FROM allocations)"),
			 1);
	for (unsigned down = 0; down < 2; down++) {
		struct answer plan =
			ask(fixture, down ? "EXPLAIN QUERY PLAN SELECT * FROM allocations WHERE "
					    "size > 5 ORDER BY alloc_ns DESC"
					  : "EXPLAIN QUERY PLAN SELECT * FROM allocations ORDER BY "
					    "alloc_ns, id");

		assert_int_equal(plan.count, 1);
		free(plan.values);
	}
}

static void joins_look_stacks_up(void **state)
{
	struct fixture *fixture = *state;
	const int64_t count = number(fixture, "SELECT count(*) FROM allocations");

	assert_int_equal(number(fixture, "SELECT count(*) FROM stacks JOIN allocations ON "
					 "allocations.stack = stacks.id JOIN threads ON "
					 "threads.id = thread"),
			 count);
	assert_int_equal(number(fixture, "SELECT count(*) FROM frames JOIN allocations USING "
					 "(stack) WHERE position = 0"),
			 count);
}

static enum err_code failure_of(struct fixture *fixture, const char *text, const char *words)
{
	struct answer answer = { 0 };
	const struct sql_sink sink = { answer_begin, answer_row, answer_end, &answer };
	CLEAN(err_destroy) struct err *err = sql_run(fixture->sql, text, 1, &sink);

	free(answer.values);
	if (!err)
		fail_msg("accepted: %s", text);
	if (!strstr(err_message(err), words))
		fail_msg("%s: %s", text, err_message(err));
	return err_code_of(err);
}

static void bad_statements_are_located(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(failure_of(fixture, "SELEC 1", "line 1, column 1: "), ERR_USAGE);
	assert_int_equal(failure_of(fixture, "SELECT 1;\n  SELECT\n \"\xc3\xa9\", frm FROM summary",
				    "line 3, column 2: no such column"),
			 ERR_USAGE);
	assert_int_equal(failure_of(fixture, "SELECT 1;\n\n  SELECT bytes('x') FROM summary",
				    "line 3, column 3: bytes() expects"),
			 ERR_USAGE);
	assert_int_equal(failure_of(fixture, "SELECT abs(-9223372036854775808)", "overflow"),
			 ERR_USAGE);
	assert_int_equal(failure_of(fixture, "SELECT 'open", "line 1, column 8"), ERR_USAGE);
	assert_int_equal(failure_of(fixture, "SELECT 1 FROM allocations('size >> 1')", "size >> 1"),
			 ERR_USAGE);
	assert_int_equal(failure_of(fixture, "SELECT 1 FROM allocations(5)", "expects a filter"),
			 ERR_USAGE);
	assert_int_equal(failure_of(fixture, "SELECT 'a' REGEXP '('", "character 2"), ERR_USAGE);
	assert_int_equal(failure_of(fixture, "SELECT 1 FROM live_at('never')", "not a time"),
			 ERR_USAGE);
	assert_int_equal(failure_of(fixture, "SELECT 1 FROM live_at(-1)", "expects a time"),
			 ERR_USAGE);
	assert_int_equal(failure_of(fixture,
				    "SELECT replace(hex(zeroblob(3000)), '0', 'a') || '!' REGEXP "
				    "'^(a+)+$'",
				    "takes too long"),
			 ERR_LIMIT);
}

static void nothing_but_select_is_accepted(void **state)
{
	static const char *const texts[] = {
		"CREATE TABLE t(x)",
		"CREATE TEMP TABLE t AS SELECT 1",
		"CREATE VIEW v AS SELECT 1",
		"CREATE VIRTUAL TABLE t USING allocations",
		"INSERT INTO allocations(id) VALUES (1)",
		"UPDATE allocations SET size = 1",
		"DELETE FROM groups",
		"DROP TABLE allocations",
		"ATTACH '/tmp/memtape-unit-attached' AS a",
		"ATTACH ':memory:' AS a",
		"PRAGMA writable_schema = 1",
		"PRAGMA temp_store_directory = '/'",
		"PRAGMA hard_heap_limit = 0",
		"SELECT * FROM pragma_hard_heap_limit",
		"VACUUM",
		"VACUUM INTO '/tmp/memtape-unit-vacuum'",
		"BEGIN",
		"SAVEPOINT s",
		"ANALYZE",
		"SELECT load_extension('libm.so.6')",
		"INSERT INTO sqlite_master VALUES (1, 2, 3, 4, 5)",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < array_size(texts); i++)
		assert_int_equal(failure_of(fixture, texts[i], ""), ERR_USAGE);
	assert_int_equal(access("/tmp/memtape-unit-attached", F_OK), -1);
	assert_int_equal(access("/tmp/memtape-unit-vacuum", F_OK), -1);
	assert_int_equal(number(fixture, "SELECT count(*) FROM sqlite_master"), 0);
}

static void too_much_is_an_error_and_the_next_statement_works(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(failure_of(fixture, "SELECT randomblob(1000000000)", "too long"),
			 ERR_LIMIT);
	assert_int_equal(failure_of(fixture, "SELECT zeroblob(2000000000)", "too long"), ERR_LIMIT);
	assert_int_equal(
		failure_of(fixture,
			   "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c "
			   "LIMIT 50) SELECT max(b), count(*) FROM (SELECT "
			   "group_concat(randomblob(15000000)) OVER (), randomblob(15000000) "
			   "AS b FROM c ORDER BY b)",
			   "stopped"),
		ERR_LIMIT);
	assert_int_equal(number(fixture, "SELECT 5"), 5);
}

static bool is_interrupted_soon(void *context)
{
	unsigned *left = context;

	return (*left)-- == 0;
}

static void an_interrupt_ends_a_statement(void **state)
{
	struct fixture *fixture = *state;
	unsigned left = 3;
	const struct sql_settings settings = { .is_interrupted = is_interrupted_soon,
					       .context = &left };
	struct fixture other = *fixture;

	assert_null(sql_create(fixture->model, fixture->names, &settings, &other.sql));
	assert_int_equal(failure_of(&other, "SELECT count(*) FROM allocations a, allocations b",
				    "interrupted"),
			 ERR_STATE);
	sql_destroy(other.sql);
}

static void an_interrupt_ends_what_is_done_before_the_first_row(void **state)
{
	static const struct {
		const char *text;
		unsigned asked_by_scan; /* by batches of rows; SQLite does not ask for so little */
	} rows[] = {
		{ "SELECT 1 FROM allocations('leaked') LIMIT 1", 2 },
		{ "SELECT group_first_time FROM allocations LIMIT 1", 1 },
		{ "SELECT group_usage_max FROM allocations LIMIT 1", 1 },
	};
	struct fixture *fixture = *state;
	unsigned left;
	const struct sql_settings settings = { .is_interrupted = is_interrupted_soon,
					       .context = &left };

	for (size_t i = 0; i < array_size(rows); i++) {
		struct fixture other = *fixture;

		assert_null(sql_create(fixture->model, fixture->names, &settings, &other.sql));
		left = rows[i].asked_by_scan;
		assert_int_equal(failure_of(&other, rows[i].text, "interrupted"), ERR_STATE);
		assert_int_equal(number(&other, "SELECT 5"), 5);
		sql_destroy(other.sql);
	}
}

static void time_is_up_after_the_timeout(void **state)
{
	struct fixture *fixture = *state;
	const struct sql_settings settings = { .timeout_ns = 50 * 1000 * 1000 };
	struct fixture other = *fixture;

	assert_null(sql_create(fixture->model, fixture->names, &settings, &other.sql));
	assert_int_equal(failure_of(&other, "SELECT count(*) FROM allocations a, allocations b",
				    "time limit"),
			 ERR_LIMIT);
	assert_int_equal(
		failure_of(&other,
			   "SELECT count(*) FROM stacks JOIN allocations ON size = -stacks.id - 1, "
			   "stacks s2, stacks s3, stacks s4, stacks s5, stacks s6",
			   "time limit"),
		ERR_LIMIT);
	assert_int_equal(number(&other, "SELECT 5"), 5); /* each has its own time */
	sql_destroy(other.sql);
}

static void every_example_runs(void **state)
{
	struct fixture *fixture = *state;

	assert_non_null(sql_examples[0].text);
	for (const struct sql_example *at = sql_examples; at->text; at++) {
		struct answer answer = ask(fixture, at->text);

		assert_true(answer.column_count > 0);
		assert_true(sql_is_complete(at->text));
		free(answer.values);
	}
}

static void a_statement_is_complete_after_its_semicolon(void **state)
{
	(void)state;
	assert_true(sql_is_complete("SELECT 1;\n"));
	assert_true(sql_is_complete("SELECT ';' -- ;\n;"));
	assert_false(sql_is_complete("SELECT ';"));
	assert_false(sql_is_complete("SELECT 1 -- ;"));
	assert_false(sql_is_complete("SELECT 1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_of_rows_are_the_totals),
		cmocka_unit_test(sums_by_stack_thread_and_function_agree),
		cmocka_unit_test(constraints_give_the_rows_of_a_full_scan),
		cmocka_unit_test(keys_give_the_rows_of_a_full_scan),
		cmocka_unit_test(filters_give_the_rows_of_their_conditions),
		cmocka_unit_test(fields_have_the_values_that_filters_see),
		cmocka_unit_test(patterns_are_those_of_perl),
		cmocka_unit_test(order_of_time_needs_no_sort),
		cmocka_unit_test(joins_look_stacks_up),
		cmocka_unit_test(bad_statements_are_located),
		cmocka_unit_test(nothing_but_select_is_accepted),
		cmocka_unit_test(too_much_is_an_error_and_the_next_statement_works),
		cmocka_unit_test(an_interrupt_ends_a_statement),
		cmocka_unit_test(an_interrupt_ends_what_is_done_before_the_first_row),
		cmocka_unit_test(time_is_up_after_the_timeout),
		cmocka_unit_test(every_example_runs),
		cmocka_unit_test(a_statement_is_complete_after_its_semicolon),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
