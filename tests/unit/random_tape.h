/*
 * A model of a random program: threads, nested functions with names, marks, reallocs, temporary
 * allocations, frees by others. Names come as those of JIT code do, from /tmp/perf-PID.map.
 */
#ifndef MEMTAPE_TESTS_UNIT_QUERY_RANDOM_TAPE_H
#define MEMTAPE_TESTS_UNIT_QUERY_RANDOM_TAPE_H

#include "test.h"

#include "tape_writer.h"
#include "base/arena.h"
#include "model/names.h"

enum { TAPE_BLOCKS = 500, TAPE_THREADS = 3, TAPE_STACKS = 10, TAPE_FUNCTIONS = 5 };

static const char *const tape_functions[TAPE_FUNCTIONS] = {
	"main", "parse(char const*)", "parse_line(int)", "http::get<int>(int)", "run",
};

struct random_tape {
	struct writer writer;
	uint64_t random;
	uint64_t ticks;
	uint32_t nodes[TAPE_THREADS + 1][TAPE_STACKS];
	uint64_t sizes[TAPE_BLOCKS]; /* 0: no block */
	struct model *model;
	struct names *names;
	struct arena arena;
};

static void tape_names_write(void)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	assert_non_null(map);
	for (unsigned i = 0; i < TAPE_FUNCTIONS; i++)
		fprintf(map, "%x 1000 %s\n", (i + 1) * 0x1000, tape_functions[i]);
	fclose(map);
}

/* Stack i is called from stack i / 2, so that there are some of each depth. */
static void tape_stacks(struct random_tape *tape)
{
	for (unsigned stream = 1; stream <= TAPE_THREADS; stream++) {
		for (unsigned i = 0; i < TAPE_STACKS; i++) {
			const uint32_t parent = i == 0	 ? TAPE_NODE_ROOT
						: i == 9 ? TAPE_NODE_TRUNCATED
							 : tape->nodes[stream][i / 2];

			tape->nodes[stream][i] = writer_node(
				&tape->writer, stream, parent,
				0x1000 * (1 + i % TAPE_FUNCTIONS) + 16 * i + 1, tape->ticks);
		}
	}
}

static uint64_t tape_address(size_t block)
{
	return 0x10000 + block * 8192;
}

static void tape_step(struct random_tape *tape)
{
	const uint64_t r = random_next(&tape->random);
	const unsigned stream = 1 + (unsigned)(r % TAPE_THREADS);
	const size_t block = (r >> 8) % TAPE_BLOCKS;
	const uint32_t stack = (uint32_t)((r >> 20) % TAPE_STACKS);
	const uint32_t node = (r >> 30) % 50 ? tape->nodes[stream][stack] : TAPE_NODE_NONE;
	const uint64_t size = (r >> 36) % 9 ? (r >> 40) % 300 : (r >> 40) % 8000;

	tape->ticks += (r >> 52) % 4; /* equal times happen */
	if (!tape->sizes[block]) {
		writer_event(&tape->writer, stream, stack % 3 ? TAPE_FN_MALLOC : TAPE_FN_NEW,
			     tape->ticks, tape_address(block), size, node);
		tape->sizes[block] = size + 1;
	} else if (stack % 4 == 0) {
		writer_event(&tape->writer, stream, TAPE_FN_REALLOC_OUT, tape->ticks,
			     tape_address(block), 0, node);
		writer_event(&tape->writer, stream, TAPE_FN_REALLOC_IN, ++tape->ticks,
			     tape_address(block), size, node);
		tape->sizes[block] = size + 1;
	} else if (block % 16) { /* the others leak */
		writer_event(&tape->writer, stream, stack % 2 ? TAPE_FN_FREE : TAPE_FN_DELETE,
			     tape->ticks, tape_address(block), 0, node);
		tape->sizes[block] = 0;
	}
}

static void tape_mark(struct random_tape *tape, const char *text)
{
	const struct tape_mark mark = { 1, TAPE_NODE_NONE };

	writer_extended(&tape->writer, 1, TAPE_EXT_MARK, ++tape->ticks, &mark, sizeof(mark), text);
}

/* NULL: none. */
static void tape_tag(struct random_tape *tape, unsigned stream, const char *text)
{
	const struct tape_tag tag = { .is_set = text != NULL };

	writer_extended(&tape->writer, stream, TAPE_EXT_TAG, ++tape->ticks, &tag, sizeof(tag),
			text ? text : "");
}

static void tape_threads(struct random_tape *tape)
{
	static const char *const names[] = { "", "main", "worker-1", "worker-2" };

	for (unsigned stream = 1; stream <= TAPE_THREADS; stream++) {
		const struct tape_thread thread = { .tid = 100 + stream };

		writer_extended(&tape->writer, stream, TAPE_EXT_THREAD, tape->ticks, &thread,
				sizeof(thread), names[stream]);
	}
}

static inline void tape_make_depth(struct random_tape *tape, uint64_t seed, size_t step_count,
				   enum model_depth depth)
{
	char path[64];

	*tape = (struct random_tape) { .random = seed, .ticks = WRITER_START_TICKS };
	tape_names_write();
	writer_init(&tape->writer, 64 << 10);
	writer_header(&tape->writer)->pid = (uint32_t)getpid();
	tape_threads(tape);
	tape_stacks(tape);
	for (size_t i = 0; i < step_count; i++) {
		tape_step(tape);
		if (i == step_count / 4)
			tape_mark(tape, "loaded");
		if (i == step_count / 2)
			tape_mark(tape, "a phase");
		if (i % 97 == 50)
			tape_tag(tape, 1 + (unsigned)(i % TAPE_THREADS),
				 (const char *[]) { "read", "write", NULL }[i % 3]);
	}
	writer_path(path);
	writer_save(&tape->writer, path);
	writer_deinit(&tape->writer);
	assert_null(model_load(path, depth, &tape->model));
	unlink(path);
	tape->names = names_create(tape->model, NULL);
	assert_non_null(tape->names);
}

static inline void tape_make(struct random_tape *tape, uint64_t seed, size_t step_count)
{
	tape_make_depth(tape, seed, step_count, MODEL_FULL);
}

static void tape_unmake(struct random_tape *tape)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	names_destroy(tape->names);
	model_destroy(tape->model);
	arena_deinit(&tape->arena);
}

/* One row, all columns. */
struct tape_row {
	uint64_t number;
	uint64_t values[MODEL_COLUMNS];
};

static inline struct tape_row tape_row(const struct random_tape *tape, uint64_t number)
{
	struct tape_row row = { .number = number };

	for (int column = 0; column < MODEL_COLUMNS; column++)
		model_rows_read(tape->model, (enum model_column)column, number, 1,
				&row.values[column]);
	return row;
}

#endif
