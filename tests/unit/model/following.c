/*
 * A random program with threads, reallocs, samples, notes and stacks that come later, on a packed tape
 * that grows. The followed model is that of the tape as it is, after every look.
 */
#include "../test.h"

#include <sys/stat.h>

#include "../tape_writer.h"
#include "capture/pack.h"
#include "model/following.h"

enum { CHUNK_BYTES = 16 << 10, THREADS = 4, NODES = 24, BLOCKS = 300, LOOKS = 20, STEPS = 500 };

static const uint64_t NOTHING_LATER = UINT64_MAX;

struct program {
	char path[64];
	struct writer writer;
	struct capture_packer *packer;
	uint8_t *packed;
	size_t written; /* of the writer's slots */
	uint64_t random, ticks;
	uint32_t nodes[THREADS][NODES];
	size_t node_count[THREADS];
	uint64_t sizes[BLOCKS]; /* + 1; 0: no block */
};

static uint64_t random_below(struct program *program, uint64_t limit)
{
	return (random_next(&program->random) >> 8) % limit;
}

/* --- the tape ------------------------------------------------------------------------------- */

static void file_add(const char *path, const void *bytes, size_t len)
{
	const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static void program_begin(struct program *program, uint64_t seed)
{
	struct tape_header *header;
	uint8_t page[TAPE_HEADER_BYTES] = { 0 };

	*program = (struct program) { .random = seed, .ticks = WRITER_START_TICKS };
	writer_init(&program->writer, CHUNK_BYTES);
	header = writer_header(&program->writer);
	header->kind = TAPE_KIND_PACKED;
	memcpy(page, header, sizeof(*header));
	writer_path(program->path);
	writer_save_bytes(program->path, page, sizeof(page));
	program->written = program->writer.len;
	program->packer = capture_packer_create(CAPTURE_PACK_LEVEL);
	program->packed = malloc(capture_pack_bound(CHUNK_BYTES));
	assert_non_null(program->packer);
	assert_non_null(program->packed);
}

static void program_end(struct program *program)
{
	unlink(program->path);
	capture_packer_destroy(program->packer);
	free(program->packed);
	writer_deinit(&program->writer);
}

/* The next sealed chunk as it is on a tape; 0: there is none. */
static size_t chunk_pack(struct program *program)
{
	const struct writer *writer = &program->writer;
	struct tape_chunk *chunk = (struct tape_chunk *)(void *)(writer->bytes + program->written);
	size_t bytes = 0;

	if (program->written >= writer->len || chunk->state != TAPE_CHUNK_SEALED)
		return 0;
	program->written += CHUNK_BYTES;
	assert_null(
		capture_pack(program->packer, chunk, CHUNK_BYTES, program->packed, &bytes, NULL));
	return bytes;
}

/* Everything that is sealed, up to the first chunk that is not. */
static void tape_grow(struct program *program)
{
	size_t bytes;

	while ((bytes = chunk_pack(program)) > 0)
		file_add(program->path, program->packed, bytes);
}

/* All chunks end now. */
static void tape_grow_whole(struct program *program)
{
	for (unsigned stream = 0; stream <= THREADS; stream++)
		writer_seal(&program->writer, stream);
	tape_grow(program);
	program->ticks++; /* what follows is later */
}

/* --- the program ---------------------------------------------------------------------------- */

static uint32_t node_choose(struct program *program, unsigned thread)
{
	size_t *count = &program->node_count[thread];
	const uint64_t which = random_below(program, 60);

	if (which == 0 && *count < NODES) {
		program->nodes[thread][*count] =
			writer_node(&program->writer, thread + 1,
				    *count ? program->nodes[thread][random_below(program, *count)]
					   : TAPE_NODE_ROOT,
				    0x1000 * (1 + random_below(program, 30)) + 1, program->ticks);
		++*count;
	}
	return *count ? program->nodes[thread][which % *count] : TAPE_NODE_NONE;
}

static void sample(struct program *program)
{
	struct tape_usage usage;
	const struct tape_mark mark = { 1, TAPE_NODE_NONE };

	memset(&usage, 0xff, sizeof(usage));
	usage.rss_bytes = random_below(program, 1 << 30);
	writer_extended(&program->writer, 0, TAPE_EXT_USAGE, program->ticks, &usage, sizeof(usage),
			NULL);
	if (random_below(program, 3) == 0)
		writer_extended(&program->writer, 1, TAPE_EXT_MARK, program->ticks, &mark,
				sizeof(mark), "a mark");
}

static void event(struct program *program, enum tape_fn fn, unsigned thread, size_t block,
		  uint64_t size)
{
	const uint32_t node = node_choose(program, thread);

	writer_event(&program->writer, thread + 1, fn, program->ticks, 0x10000 + block * 8192, size,
		     node);
}

static void step(struct program *program)
{
	const unsigned thread = (unsigned)random_below(program, THREADS);
	const size_t block = random_below(program, BLOCKS);
	const uint64_t size = random_below(program, 5000);
	uint64_t *lives = &program->sizes[block];

	program->ticks += random_below(program, 3) ? random_below(program, 100000000) : 0;
	if (random_below(program, 50) == 0)
		sample(program);
	if (random_below(program, 200) == 0) {
		event(program, TAPE_FN_FREE, thread, BLOCKS + block, 0); /* of nothing */
	} else if (!*lives) {
		event(program, TAPE_FN_MALLOC, thread, block, size);
		*lives = size + 1;
	} else if (size % 4 == 0) {
		event(program, TAPE_FN_REALLOC_OUT, thread, block, 0);
		program->ticks++;
		event(program, size % 3 ? TAPE_FN_REALLOC_IN : TAPE_FN_REALLOC_FAIL, thread, block,
		      size);
		*lives = size % 3 ? size + 1 : *lives;
	} else {
		event(program, TAPE_FN_FREE, thread, block, 0);
		*lives = 0;
	}
}

static void steps(struct program *program)
{
	for (uint64_t i = random_below(program, STEPS); i > 0; i--)
		step(program);
}

/* --- comparing ------------------------------------------------------------------------------ */

static void stacks_are_equal(const struct model *a, const struct model *b)
{
	assert_int_equal(model_stack_count(a), model_stack_count(b));
	for (size_t i = 0; i < model_stack_count(a); i++) {
		assert_int_equal(model_stacks(a)[i].pc, model_stacks(b)[i].pc);
		assert_int_equal(model_stacks(a)[i].parent, model_stacks(b)[i].parent);
	}
	for (size_t i = 0; i < model_stack_count(a); i++)
		assert_memory_equal(model_stack_sums(a, i), model_stack_sums(b, i),
				    sizeof(struct model_stack_sums));
}

static void threads_are_equal(const struct model *a, const struct model *b)
{
	assert_int_equal(model_thread_count(a), model_thread_count(b));
	for (size_t i = 0; i < model_thread_count(a); i++) {
		const struct model_thread *left = model_thread(a, i), *right = model_thread(b, i);

		assert_int_equal(left->begin_ns, right->begin_ns);
		assert_int_equal(left->end_ns, right->end_ns);
		assert_int_equal(left->free_count, right->free_count);
		assert_int_equal(left->foreign_free_count, right->foreign_free_count);
		assert_memory_equal(&left->allocated, &right->allocated, sizeof(left->allocated));
		assert_memory_equal(&left->leaked, &right->leaked, sizeof(left->leaked));
		assert_memory_equal(&left->peak, &right->peak, sizeof(left->peak));
		assert_memory_equal(&left->temporary, &right->temporary, sizeof(left->temporary));
	}
}

static void times_are_equal(const struct model *a, const struct model *b)
{
	assert_int_equal(model_process(a)->duration_ns, model_process(b)->duration_ns);
	assert_int_equal(model_timeline_count(a), model_timeline_count(b));
	assert_memory_equal(model_timeline(a), model_timeline(b),
			    model_timeline_count(a) * sizeof(struct model_timeline_span));
	assert_int_equal(model_usage_count(a), model_usage_count(b));
	for (size_t i = 0; i < model_usage_count(a); i++) {
		assert_int_equal(model_usages(a)[i].ns, model_usages(b)[i].ns);
		assert_int_equal(model_usages(a)[i].usage.rss_bytes,
				 model_usages(b)[i].usage.rss_bytes);
	}
	assert_int_equal(model_note_count(a), model_note_count(b));
	for (size_t i = 0; i < model_note_count(a); i++) {
		assert_int_equal(model_notes(a)[i].ns, model_notes(b)[i].ns);
		assert_string_equal(model_notes(a)[i].text, model_notes(b)[i].text);
	}
	assert_int_equal(model_stray_free_count(a), model_stray_free_count(b));
	for (size_t i = 0; i < model_stray_free_count(a); i++)
		assert_memory_equal(&model_stray_frees(a)[i], &model_stray_frees(b)[i],
				    sizeof(struct model_stray_free));
}

static void models_are_equal(const struct model *a, const struct model *b)
{
	assert_memory_equal(model_totals(a), model_totals(b), sizeof(struct model_totals));
	assert_memory_equal(model_functions(a), model_functions(b),
			    TAPE_FN_COUNT * sizeof(struct model_function));
	assert_memory_equal(model_size_buckets(a), model_size_buckets(b),
			    MODEL_SIZE_BUCKETS * sizeof(struct model_size_bucket));
	assert_int_equal(model_quality(a)->tape_bytes, model_quality(b)->tape_bytes);
	assert_int_equal(model_quality(a)->chunk_count, model_quality(b)->chunk_count);
	assert_int_equal(model_quality(a)->missing_chunk_count,
			 model_quality(b)->missing_chunk_count);
	stacks_are_equal(a, b);
	threads_are_equal(a, b);
	times_are_equal(a, b);
}

/* What happened since, by stack, is what the rows say. */
static void window_is_right(const struct model *followed, const struct model *full, uint64_t ns)
{
	const size_t count = model_stack_count(full);
	struct model_stack_moment *now = calloc(count, sizeof(*now));
	struct model_stack_moment *rows = calloc(count, sizeof(*rows));
	const uint64_t from_ns = model_window_begin(followed, ns);

	assert_non_null(now);
	assert_non_null(rows);
	model_window_moments(followed, from_ns, now);
	model_stack_moments_between(full, from_ns, UINT64_MAX, rows);
	for (size_t i = 0; i < count; i++) {
		assert_memory_equal(&now[i].allocated, &rows[i].allocated, sizeof(now->allocated));
		assert_memory_equal(&now[i].freed, &rows[i].freed, sizeof(now->freed));
	}
	free(now);
	free(rows);
}

static void windows_are_right(const struct model *followed, const char *path)
{
	static const struct model_settings settings = { .index = MODEL_INDEX_NONE };
	CLEAN(model_destroy) struct model *full = NULL;
	const uint64_t end_ns = model_process(followed)->duration_ns;

	assert_null(model_load_with(path, MODEL_FULL, &settings, &full));
	for (uint64_t part = 0; part <= 16; part++) {
		const uint64_t ns = end_ns - end_ns * part / 16, age_ns = end_ns - ns;
		const uint64_t from_ns = model_window_begin(followed, ns);

		window_is_right(followed, full, ns);
		if (part == 16)
			assert_int_equal(from_ns, 0);
		else if (age_ns > 0 && from_ns < ns) /* a look is a second here, or longer */
			assert_true(ns - from_ns <= age_ns / 16 + UINT64_C(20000000000));
	}
}

static void is_of_the_tape(const struct model_following *following, const struct program *program)
{
	static const struct model_settings settings = { .index = MODEL_INDEX_NONE };
	CLEAN(model_destroy) struct model *model = NULL;

	assert_null(model_load_with(program->path, MODEL_SUMMARY, &settings, &model));
	models_are_equal(model_following_model(following), model);
}

static struct model_following *followed(const struct program *program)
{
	struct model_following *following;

	assert_null(model_following_open(program->path, MODEL_FOLLOWING_BYTES, &following));
	return following;
}

/* --- tests ---------------------------------------------------------------------------------- */

static void every_look_finds_what_a_fresh_reading_does(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		CLEAN(model_following_close) struct model_following *following = NULL;
		struct program program;

		program_begin(&program, seed * 77777);
		following = followed(&program);
		for (int i = 0; i < LOOKS; i++) {
			steps(&program);
			tape_grow_whole(&program);
			assert_null(model_following_look(following, program.ticks, 0, NULL));
			is_of_the_tape(following, &program);
			if (i % 10 == 9)
				windows_are_right(model_following_model(following), program.path);
		}
		program_end(&program);
	}
}

/* Of some threads more is on the tape than of others. */
static void what_may_not_be_whole_waits(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		CLEAN(model_following_close) struct model_following *following = NULL;
		struct program program;

		program_begin(&program, seed * 99991);
		following = followed(&program);
		for (int i = 0; i < LOOKS; i++) {
			const uint64_t settled = program.ticks;

			steps(&program);
			writer_seal(&program.writer, (unsigned)i % (THREADS + 1));
			tape_grow(&program);
			/* Whatever is in open chunks is later than the last whole one. */
			assert_null(model_following_look(following, settled, 0, NULL));
			assert_true(model_process(model_following_model(following))->duration_ns <=
				    settled - WRITER_START_TICKS);
			if (i % 4)
				tape_grow_whole(&program);
			else
				steps(&program);
			if (i % 4)
				assert_null(model_following_look(following, program.ticks + 5, 5,
								 NULL));
			else
				tape_grow_whole(&program);
			if (i % 4)
				is_of_the_tape(following, &program);
		}
		assert_null(model_following_look(following, NOTHING_LATER, 0, NULL));
		is_of_the_tape(following, &program);
		program_end(&program);
	}
}

static void a_tape_that_is_long_already_is_followed_from_its_beginning(void **state)
{
	CLEAN(model_following_close) struct model_following *following = NULL;
	struct program program;

	(void)state;
	program_begin(&program, 31337);
	for (int i = 0; i < LOOKS; i++)
		steps(&program);
	tape_grow_whole(&program);
	following = followed(&program);
	assert_null(model_following_model(following));
	assert_null(model_following_look(following, program.ticks, 0, NULL));
	is_of_the_tape(following, &program);
	windows_are_right(model_following_model(following), program.path);
	program_end(&program);
}

static void a_chunk_that_is_not_there_as_a_whole_waits(void **state)
{
	CLEAN(model_following_close) struct model_following *following = NULL;
	struct program program;
	uint64_t events;
	size_t bytes;

	(void)state;
	program_begin(&program, 4711);
	following = followed(&program);
	steps(&program);
	tape_grow_whole(&program);
	assert_null(model_following_look(following, program.ticks, 0, NULL));
	events = model_totals(model_following_model(following))->event_count;
	event(&program, TAPE_FN_MALLOC, 0, BLOCKS + 7, 100);
	writer_seal(&program.writer, 1);
	bytes = chunk_pack(&program);
	file_add(program.path, program.packed, bytes / 2);
	assert_null(model_following_look(following, program.ticks, 0, NULL));
	assert_int_equal(model_totals(model_following_model(following))->event_count, events);
	file_add(program.path, program.packed + bytes / 2, bytes - bytes / 2);
	assert_null(model_following_look(following, NOTHING_LATER, 0, NULL));
	assert_int_equal(model_totals(model_following_model(following))->event_count, events + 1);
	is_of_the_tape(following, &program);
	program_end(&program);
}

static void fails(struct model_following *following, uint64_t now_ticks, enum err_code code)
{
	struct err *err = model_following_look(following, now_ticks, 0, NULL);

	assert_non_null(err);
	assert_int_equal(err_code_of(err), code);
	err_destroy(err);
}

static void an_event_that_comes_late_is_an_error(void **state)
{
	CLEAN(model_following_close) struct model_following *following = NULL;
	struct program program;

	(void)state;
	program_begin(&program, 815);
	following = followed(&program);
	steps(&program);
	writer_seal(&program.writer, 1);
	event(&program, TAPE_FN_MALLOC, 0, BLOCKS + 7, 100);
	for (unsigned stream = 2; stream <= THREADS; stream++)
		writer_seal(&program.writer, stream);
	event(&program, TAPE_FN_MALLOC, 1, BLOCKS + 8, 100);
	program.ticks++;
	tape_grow(&program);
	assert_null(model_following_look(following, program.ticks, 0, NULL));
	tape_grow_whole(&program);
	fails(following, program.ticks, ERR_STATE);
	program_end(&program);
}

static void another_file_of_that_name_is_an_error(void **state)
{
	CLEAN(model_following_close) struct model_following *following = NULL;
	struct program program, other;

	(void)state;
	program_begin(&program, 1);
	program_begin(&other, 2);
	following = followed(&program);
	steps(&program);
	tape_grow_whole(&program);
	assert_null(model_following_look(following, program.ticks, 0, NULL));
	assert_int_equal(rename(other.path, program.path), 0);
	fails(following, program.ticks, ERR_NOT_FOUND);
	program_end(&other);
	program_end(&program);
}

static void a_file_that_was_cut_is_an_error(void **state)
{
	CLEAN(model_following_close) struct model_following *following = NULL;
	struct program program;

	(void)state;
	program_begin(&program, 1);
	following = followed(&program);
	steps(&program);
	tape_grow_whole(&program);
	assert_null(model_following_look(following, program.ticks, 0, NULL));
	assert_int_equal(truncate(program.path, TAPE_HEADER_BYTES), 0);
	fails(following, program.ticks, ERR_NOT_FOUND);
	program_end(&program);
}

static void damage_is_an_error(void **state)
{
	CLEAN(model_following_close) struct model_following *following = NULL;
	struct program program;
	size_t bytes;

	(void)state;
	program_begin(&program, 12);
	following = followed(&program);
	event(&program, TAPE_FN_MALLOC, 0, 1, 100);
	writer_seal(&program.writer, 1);
	bytes = chunk_pack(&program);
	program.packed[bytes - 1] ^= 1;
	file_add(program.path, program.packed, bytes);
	fails(following, program.ticks + 1, ERR_FORMAT);
	program_end(&program);
}

static void more_memory_than_it_may_take_is_an_error(void **state)
{
	CLEAN(model_following_close) struct model_following *following = NULL;
	struct program program;

	(void)state;
	program_begin(&program, 5);
	for (size_t i = 0; i < 200000; i++) {
		program.ticks++;
		event(&program, TAPE_FN_MALLOC, i % THREADS, i, 10);
	}
	tape_grow_whole(&program);
	assert_null(model_following_open(program.path, 8 << 20, &following));
	fails(following, program.ticks, ERR_LIMIT);
	model_following_close(steal(following));
	following = followed(&program);
	assert_null(model_following_look(following, program.ticks, 0, NULL));
	assert_true(model_following_bytes(following) > 8 << 20);
	assert_true(model_following_bytes(following) < 64 << 20);
	program_end(&program);
}

static void it_can_be_cancelled(void **state)
{
	CLEAN(model_following_close) struct model_following *following = NULL;
	const bool cancel = true;
	struct program program;
	struct err *err;

	(void)state;
	program_begin(&program, 5);
	steps(&program);
	tape_grow_whole(&program);
	following = followed(&program);
	err = model_following_look(following, program.ticks, 0, &cancel);
	assert_non_null(err);
	assert_int_equal(err_code_of(err), ERR_STATE);
	err_destroy(err);
	program_end(&program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_look_finds_what_a_fresh_reading_does),
		cmocka_unit_test(what_may_not_be_whole_waits),
		cmocka_unit_test(a_tape_that_is_long_already_is_followed_from_its_beginning),
		cmocka_unit_test(a_chunk_that_is_not_there_as_a_whole_waits),
		cmocka_unit_test(an_event_that_comes_late_is_an_error),
		cmocka_unit_test(another_file_of_that_name_is_an_error),
		cmocka_unit_test(a_file_that_was_cut_is_an_error),
		cmocka_unit_test(damage_is_an_error),
		cmocka_unit_test(more_memory_than_it_may_take_is_an_error),
		cmocka_unit_test(it_can_be_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
