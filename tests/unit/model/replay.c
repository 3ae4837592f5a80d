#include "../test.h"

#include "written_tape.h"
#include "model/model.h"
#include "tape/tape_thread.h"

enum { CHUNK_BYTES = TAPE_CHUNK_BYTES_MIN };

static struct model *load_and_end(struct writer *writer)
{
	struct model *model = load(writer, MODEL_FULL);

	writer_deinit(writer);
	return model;
}

/* --- the property: what the model says is what a slow and simple replay says ------------------ */

enum { BLOCKS_MAX = 300, THREADS = 4, STACKS = 12 };

struct simple_block {
	uint64_t address; /* 0: none */
	uint64_t size;
	uint32_t stack; /* index of the test's stacks */
	unsigned stream;
	uint64_t number; /* of its allocation, from 1 */
};

struct simple {
	struct simple_block blocks[BLOCKS_MAX];
	struct model_sum allocated[STACKS], temporary[STACKS];
	struct model_sum peak, peak_of[STACKS];
	uint64_t peak_ns, live_count, live_bytes, freed, realloced, failed, unknown;
	uint64_t made_count;
	uint64_t latest[THREADS + 1]; /* number of the stream's last allocation */
};

static void simple_peak(struct simple *simple, uint64_t ticks)
{
	if (simple->live_bytes <= simple->peak.bytes)
		return;
	simple->peak = (struct model_sum) { simple->live_count, simple->live_bytes };
	simple->peak_ns = ticks - WRITER_START_TICKS;
	memset(simple->peak_of, 0, sizeof(simple->peak_of));
	for (size_t i = 0; i < BLOCKS_MAX; i++) {
		if (!simple->blocks[i].address)
			continue;
		simple->peak_of[simple->blocks[i].stack].count++;
		simple->peak_of[simple->blocks[i].stack].bytes += simple->blocks[i].size;
	}
}

static void simple_alloc(struct simple *simple, size_t at, uint64_t size, uint32_t stack,
			 unsigned stream, uint64_t ticks)
{
	simple->blocks[at] = (struct simple_block) { 0x10000 + at * 64, size, stack, stream,
						     ++simple->made_count };
	simple->latest[stream] = simple->made_count;
	simple->allocated[stack].count++;
	simple->allocated[stack].bytes += size;
	simple->live_count++;
	simple->live_bytes += size;
	simple_peak(simple, ticks);
}

static void simple_free(struct simple *simple, size_t at)
{
	struct simple_block *block = &simple->blocks[at];

	simple->live_count--;
	simple->live_bytes -= block->size;
	simple->freed++;
	if (simple->latest[block->stream] == block->number) {
		simple->temporary[block->stack].count++;
		simple->temporary[block->stack].bytes += block->size;
	}
	block->address = 0;
}

static const struct {
	enum tape_fn fn;
	enum tape_fn end;
} allocators[] = { { TAPE_FN_MALLOC, TAPE_FN_FREE },
		   { TAPE_FN_CALLOC, TAPE_FN_FREE },
		   { TAPE_FN_NEW, TAPE_FN_DELETE },
		   { TAPE_FN_POSIX_MEMALIGN, TAPE_FN_FREE } };

struct random_run {
	struct writer *writer;
	struct simple *simple;
	uint32_t nodes[THREADS + 1][STACKS];
	uint64_t ticks;
	uint64_t random;
};

static void one_realloc(struct random_run *run, unsigned stream, size_t from, size_t to,
			uint64_t size, uint32_t stack)
{
	uint64_t old = run->simple->blocks[from].address;
	uint32_t node = run->nodes[stream][stack];

	writer_event(run->writer, stream, TAPE_FN_REALLOC_OUT, run->ticks, old, 0, node);
	if (size % 11 == 0) {
		writer_event(run->writer, stream, TAPE_FN_REALLOC_FAIL, ++run->ticks, 0, size,
			     node);
		run->simple->failed++;
		return;
	}
	simple_free(run->simple, from);
	simple_alloc(run->simple, to, size, stack, stream, ++run->ticks);
	writer_event(run->writer, stream, TAPE_FN_REALLOC_IN, run->ticks, 0x10000 + to * 64, size,
		     node);
	run->simple->realloced++;
}

static void one_step(struct random_run *run)
{
	uint64_t r = random_next(&run->random);
	unsigned stream = 1 + r % THREADS;
	size_t at = (r >> 8) % BLOCKS_MAX, to = (r >> 20) % BLOCKS_MAX;
	uint32_t stack = (uint32_t)((r >> 32) % STACKS), node = run->nodes[stream][stack];
	uint64_t size = 1 + (r >> 40) % 5000;
	struct simple *simple = run->simple;

	run->ticks += 2 + r % 50;
	if (simple->blocks[at].address && r % 5 == 0 && (at == to || !simple->blocks[to].address)) {
		one_realloc(run, stream, at, to, size, stack);
		return;
	}
	if (simple->blocks[at].address) {
		simple_free(simple, at);
		writer_event(run->writer, stream, allocators[at % 4].end, run->ticks,
			     0x10000 + at * 64, 0, node);
	} else if (r % 97 == 0) {
		writer_event(run->writer, stream, TAPE_FN_FREE, run->ticks, 0x99990000 + r % 4096,
			     0, node);
		simple->unknown++;
	} else if (r % 89 == 0) {
		writer_event(run->writer, stream, allocators[at % 4].fn, run->ticks, 0, size, node);
		simple->failed++;
	} else {
		simple_alloc(simple, at, size, stack, stream, run->ticks);
		writer_event(run->writer, stream, allocators[at % 4].fn, run->ticks,
			     0x10000 + at * 64, size, node);
	}
}

static void random_tape(struct random_run *run, uint64_t seed, size_t step_count)
{
	run->random = seed;
	run->ticks = WRITER_START_TICKS;
	writer_init(run->writer, CHUNK_BYTES);
	for (unsigned stream = 1; stream <= THREADS; stream++)
		for (uint32_t stack = 0; stack < STACKS; stack++)
			run->nodes[stream][stack] = writer_node(run->writer, stream, TAPE_NODE_ROOT,
								0x400000 + stack * 16, run->ticks);
	for (size_t i = 0; i < step_count; i++)
		one_step(run);
}

static const struct model_stack_sums *sums_of(const struct model *model, uint32_t stack)
{
	for (size_t id = CAPTURE_STACK_FIRST; id < model_stack_count(model); id++)
		if (model_stacks(model)[id].pc == 0x400000 + stack * 16)
			return model_stack_sums(model, id);
	return NULL;
}

static void assert_sum(struct model_sum sum, struct model_sum expected)
{
	assert_int_equal(sum.count, expected.count);
	assert_int_equal(sum.bytes, expected.bytes);
}

static void assert_as_simple(const struct model *model, const struct simple *simple)
{
	const struct model_totals *totals = model_totals(model);

	assert_int_equal(totals->leaked.count, simple->live_count);
	assert_int_equal(totals->leaked.bytes, simple->live_bytes);
	assert_int_equal(totals->freed.count, simple->freed);
	assert_int_equal(totals->realloc_count, simple->realloced);
	assert_int_equal(totals->failed_count, simple->failed);
	assert_int_equal(totals->unknown_free_count, simple->unknown);
	assert_int_equal(totals->lost_free_count, 0);
	assert_sum(totals->peak, simple->peak);
	assert_int_equal(totals->peak_ns, simple->peak_ns);
	for (uint32_t stack = 0; stack < STACKS; stack++) {
		const struct model_stack_sums *sums = sums_of(model, stack);
		struct model_sum leaked = { 0 };

		assert_non_null(sums);
		for (size_t i = 0; i < BLOCKS_MAX; i++) {
			const struct simple_block *block = &simple->blocks[i];

			leaked.count += block->address && block->stack == stack;
			leaked.bytes += block->address && block->stack == stack ? block->size : 0;
		}
		assert_sum(sums->allocated, simple->allocated[stack]);
		assert_sum(sums->peak, simple->peak_of[stack]);
		assert_sum(sums->leaked, leaked);
		assert_sum(sums->temporary, simple->temporary[stack]);
	}
}

/* The rows alone give the same peak again, and the sums of threads and sizes add up. */
static void assert_consistent(const struct model *model)
{
	const struct model_totals *totals = model_totals(model);
	struct model_sum peak = { 0 }, leaked = { 0 }, temporary = { 0 }, threads = { 0 },
			 sizes = { 0 }, spans = { 0 };

	assert_int_equal(model_row_count(model), totals->allocated.count);
	for (size_t i = 0; i < model_row_count(model); i++) {
		peak.count += (get(model, MODEL_FLAGS, i) & MODEL_ALLOCATION_PEAK) != 0;
		peak.bytes += get(model, MODEL_FLAGS, i) & MODEL_ALLOCATION_PEAK
				      ? get(model, MODEL_SIZE, i)
				      : 0;
		leaked.count += get(model, MODEL_FREE_NS, i) == MODEL_NEVER;
		leaked.bytes +=
			get(model, MODEL_FREE_NS, i) == MODEL_NEVER ? get(model, MODEL_SIZE, i) : 0;
		temporary.count += get(model, MODEL_FLAGS, i) & MODEL_ALLOCATION_TEMPORARY;
		temporary.bytes += get(model, MODEL_FLAGS, i) & MODEL_ALLOCATION_TEMPORARY
					   ? get(model, MODEL_SIZE, i)
					   : 0;
		assert_true(i == 0 ||
			    get(model, MODEL_ALLOC_NS, i) >= get(model, MODEL_ALLOC_NS, i - 1));
		assert_true(get(model, MODEL_FREE_NS, i) >= get(model, MODEL_ALLOC_NS, i));
		assert_true(get(model, MODEL_REALLOC_OF, i) == MODEL_NO_ROW ||
			    get(model, MODEL_REALLOC_OF, i) < i);
	}
	for (size_t i = 0; i < model_thread_count(model); i++) {
		threads.count += model_thread(model, i)->peak.count;
		threads.bytes += model_thread(model, i)->peak.bytes;
	}
	for (size_t i = 0; i < MODEL_SIZE_BUCKETS; i++) {
		sizes.count += model_size_buckets(model)[i].peak.count;
		sizes.bytes += model_size_buckets(model)[i].peak.bytes;
	}
	for (size_t i = 0; i < model_timeline_count(model); i++) {
		spans.count += model_timeline(model)[i].allocated.count;
		spans.bytes = u64_max(spans.bytes, model_timeline(model)[i].live_bytes_max);
	}
	assert_sum(peak, totals->peak);
	assert_sum(leaked, totals->leaked);
	assert_sum(temporary, totals->temporary);
	assert_sum(threads, totals->peak);
	assert_sum(sizes, totals->peak);
	assert_int_equal(spans.count, totals->allocated.count);
	assert_int_equal(spans.bytes, totals->peak.bytes);
}

static void a_random_tape_is_what_a_simple_replay_says(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct writer writer;
		struct simple simple = { 0 };
		struct random_run run = { .writer = &writer, .simple = &simple };
		struct model *full, *summary;

		random_tape(&run, seed * 7919, seed * 150);
		full = load(&writer, MODEL_FULL);
		summary = load(&writer, MODEL_SUMMARY);
		assert_as_simple(full, &simple);
		assert_as_simple(summary, &simple);
		assert_consistent(full);
		assert_memory_equal(model_totals(full), model_totals(summary),
				    sizeof(struct model_totals));
		assert_memory_equal(model_functions(full), model_functions(summary),
				    TAPE_FN_COUNT * sizeof(struct model_function));
		assert_int_equal(model_row_count(summary), 0);
		model_destroy(full);
		model_destroy(summary);
		writer_deinit(&writer);
	}
}

/* --- single meanings ------------------------------------------------------------------------ */

static void a_realloc_continues_its_block(void **state)
{
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2000, 0x100, 10, 2);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2100, 0x200, 1, 2);
	writer_event(&writer, 1, TAPE_FN_REALLOC_OUT, 3000, 0x100, 0, 2);
	writer_event(&writer, 1, TAPE_FN_REALLOC_IN, 3010, 0x100, 30, 2);
	model = load_and_end(&writer);
	assert_int_equal(model_row_count(model), 3);
	assert_int_equal(get(model, MODEL_REALLOC_OF, 2), 0);
	assert_int_equal(get(model, MODEL_FREE_FN, 0), TAPE_FN_REALLOC_OUT);
	assert_int_equal(get(model, MODEL_FLAGS, 0), MODEL_ALLOCATION_REALLOCED);
	assert_int_equal(get(model, MODEL_FREE_NS, 0), 2010);
	assert_int_equal(get(model, MODEL_ALLOC_NS, 2), 2010);
	assert_int_equal(model_totals(model)->leaked.bytes, 31);
	assert_int_equal(model_totals(model)->peak.bytes, 31);
	assert_int_equal(model_functions(model)[TAPE_FN_REALLOC_IN].calls, 1);
	assert_int_equal(model_functions(model)[TAPE_FN_REALLOC_IN].bytes, 30);
	assert_int_equal(model_functions(model)[TAPE_FN_REALLOC_OUT].calls, 0);
	assert_int_equal(model_functions(model)[TAPE_FN_REALLOC_OUT].bytes, 0);
	model_destroy(model);
}

static void a_realloc_to_nothing_is_one_free(void **state)
{
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2000, 0x100, 10, 2);
	writer_event(&writer, 1, TAPE_FN_REALLOC_OUT, 3000, 0x100, 0, 2);
	writer_event(&writer, 1, TAPE_FN_REALLOC_FREE, 3010, 0x100, 0, 2);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 4000, 0x100, 5, 2);
	model = load_and_end(&writer);
	assert_int_equal(model_totals(model)->freed.count, 1);
	assert_int_equal(model_totals(model)->unknown_free_count, 0);
	assert_int_equal(model_totals(model)->lost_free_count, 0);
	assert_int_equal(model_totals(model)->realloc_count, 0);
	assert_int_equal(get(model, MODEL_FREE_FN, 0), TAPE_FN_REALLOC_FREE);
	assert_int_equal(model_totals(model)->leaked.bytes, 5);
	model_destroy(model);
}

static void a_realloc_that_failed_leaves_its_block_alone(void **state)
{
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2000, 0x100, 10, 2);
	writer_event(&writer, 1, TAPE_FN_REALLOC_OUT, 3000, 0x100, 0, 2);
	writer_event(&writer, 1, TAPE_FN_REALLOC_FAIL, 3010, 0, 1 << 30, 2);
	writer_event(&writer, 1, TAPE_FN_FREE, 4000, 0x100, 0, 2);
	model = load_and_end(&writer);
	assert_int_equal(model_totals(model)->freed.count, 1);
	assert_int_equal(model_totals(model)->failed_count, 1);
	assert_int_equal(model_totals(model)->unknown_free_count, 0);
	assert_int_equal(model_row_count(model), 1);
	assert_int_equal(get(model, MODEL_FREE_NS, 0), 3000);
	model_destroy(model);
}

static void a_realloc_in_progress_at_the_end_has_not_happened(void **state)
{
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2000, 0x100, 10, 2);
	writer_event(&writer, 1, TAPE_FN_REALLOC_OUT, 3000, 0x100, 0, 2);
	model = load_and_end(&writer);
	assert_int_equal(model_totals(model)->leaked.bytes, 10);
	model_destroy(model);
}

/* Thread 2 moves its block away; thread 1 gets the address before the move is on the tape. */
static void an_address_given_out_during_a_realloc_is_no_loss(void **state)
{
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 2, TAPE_FN_MALLOC, 2000, 0x100, 10, 2);
	writer_event(&writer, 2, TAPE_FN_REALLOC_OUT, 3000, 0x100, 0, 2);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 3005, 0x100, 7, 2);
	writer_event(&writer, 1, TAPE_FN_FREE, 4000, 0x100, 0, 2);
	/* long after: the thread was interrupted on its way */
	writer_event(&writer, 2, TAPE_FN_REALLOC_IN, 90000000, 0x900, 20, 2);
	model = load_and_end(&writer);
	assert_int_equal(model_totals(model)->leaked.bytes, 20);
	assert_int_equal(model_totals(model)->lost_free_count, 0);
	assert_int_equal(model_totals(model)->unknown_free_count, 0);
	assert_int_equal(model_totals(model)->freed.count, 2);
	assert_int_equal(model_totals(model)->realloc_count, 1);
	assert_int_equal(get(model, MODEL_REALLOC_OF, 2), 0);
	assert_int_equal(get(model, MODEL_FREE_THREAD, 0), 0);
	assert_int_equal(get(model, MODEL_FREE_NS, 0), 2005);
	model_destroy(model);
}

static void a_free_that_comes_a_moment_late_ends_the_older_block(void **state)
{
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2000, 0x100, 10, 2);
	writer_event(&writer, 2, TAPE_FN_MALLOC, 3000, 0x100, 7, 2);
	writer_event(&writer, 1, TAPE_FN_FREE, 3002, 0x100, 0, 2);
	model = load_and_end(&writer);
	assert_int_equal(get(model, MODEL_FREE_NS, 0), 2000);
	assert_int_equal(get(model, MODEL_FREE_THREAD, 0), 0);
	assert_int_equal(get(model, MODEL_FLAGS, 0), MODEL_ALLOCATION_PEAK);
	assert_int_equal(get(model, MODEL_FREE_NS, 1), MODEL_NEVER);
	assert_int_equal(model_totals(model)->freed.count, 1);
	assert_int_equal(model_totals(model)->freed.bytes, 10);
	assert_int_equal(model_totals(model)->lost_free_count, 0);
	assert_int_equal(model_totals(model)->peak.bytes, 10);
	model_destroy(model);
}

static void a_free_that_never_came_is_counted(void **state)
{
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2000, 0x100, 10, 2);
	writer_event(&writer, 2, TAPE_FN_MALLOC, 3000, 0x100, 7, 2);
	writer_event(&writer, 1, TAPE_FN_FREE, 900000000, 0x100, 0, 2);
	model = load_and_end(&writer);
	assert_int_equal(model_totals(model)->lost_free_count, 1);
	assert_int_equal(model_totals(model)->freed.count, 1);
	assert_int_equal(model_totals(model)->leaked.count, 0);
	assert_int_equal(get(model, MODEL_FLAGS, 0),
			 MODEL_ALLOCATION_LOST_FREE | MODEL_ALLOCATION_PEAK);
	assert_int_equal(get(model, MODEL_FREE_FN, 1), TAPE_FN_FREE);
	model_destroy(model);
}

static void a_free_at_the_same_tick_as_its_allocation_is_matched(void **state)
{
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2000, 0x100, 10, 2);
	writer_event(&writer, 2, TAPE_FN_FREE, 2000, 0x100, 0, 2);
	model = load_and_end(&writer);
	assert_int_equal(model_totals(model)->leaked.count, 0);
	assert_int_equal(model_totals(model)->unknown_free_count, 0);
	assert_int_equal(model_totals(model)->freed.count, 1);
	model_destroy(model);
}

/* The record of a creation may come before or after the new thread's own first. */
static void threads_know_who_created_them(void **state)
{
	struct tape_thread thread = { .tid = 10, .handle = 0xa0 };
	struct tape_thread_create creation = { .handle = 0xb0 };
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_extended(&writer, 1, TAPE_EXT_THREAD, 2000, &thread, sizeof(thread), "main");
	creation.node = writer_node(&writer, 1, TAPE_NODE_ROOT, 0x1234, 2000);
	writer_extended(&writer, 1, TAPE_EXT_THREAD_CREATE, 2001, &creation, sizeof(creation),
			NULL);
	thread = (struct tape_thread) { .tid = 11, .handle = 0xb0 };
	writer_extended(&writer, 2, TAPE_EXT_THREAD, 2002, &thread, sizeof(thread), "b");
	thread = (struct tape_thread) { .tid = 12, .handle = 0xc0 };
	writer_extended(&writer, 3, TAPE_EXT_THREAD, 2003, &thread, sizeof(thread), "c");
	creation = (struct tape_thread_create) { .handle = 0xc0, .node = TAPE_NODE_NONE };
	writer_extended(&writer, 2, TAPE_EXT_THREAD_CREATE, 2004, &creation, sizeof(creation),
			NULL);
	model = load_and_end(&writer);
	assert_int_equal(model_thread(model, 0)->creator, MODEL_NO_THREAD);
	assert_int_equal(model_thread(model, 1)->creator, 0);
	assert_int_equal(model_stacks(model)[model_thread(model, 1)->create_stack].pc, 0x1234);
	assert_int_equal(model_thread(model, 2)->creator, 1);
	assert_int_equal(model_thread(model, 2)->create_stack, CAPTURE_STACK_NONE);
	model_destroy(model);
}

/* A number is no handle, even where they are equal. */
static void threads_know_who_created_them_by_their_numbers(void **state)
{
	const struct tape_thread_birth births[] = { { 0xb0 }, { 7 } };
	struct tape_thread thread = { .tid = 10, .handle = 0xb0 };
	struct tape_thread_create creation = { .handle = 0xb0, .is_birth = 1 };
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_extended(&writer, 1, TAPE_EXT_THREAD, 2000, &thread, sizeof(thread), "main");
	creation.node = writer_node(&writer, 1, TAPE_NODE_ROOT, 0x1234, 2000);
	writer_extended(&writer, 1, TAPE_EXT_THREAD_CREATE, 2001, &creation, sizeof(creation),
			NULL);
	thread = (struct tape_thread) { .tid = 11, .handle = 0xe0 };
	writer_extended(&writer, 2, TAPE_EXT_THREAD, 2002, &thread, sizeof(thread), "b");
	writer_extended(&writer, 2, TAPE_EXT_THREAD_BIRTH, 2002, &births[0], sizeof(births[0]),
			NULL);
	thread = (struct tape_thread) { .tid = 12, .handle = 0xf0 };
	writer_extended(&writer, 3, TAPE_EXT_THREAD, 2003, &thread, sizeof(thread), "c");
	writer_extended(&writer, 3, TAPE_EXT_THREAD_BIRTH, 2003, &births[1], sizeof(births[1]),
			NULL);
	creation = (struct tape_thread_create) { .handle = 7, .is_birth = 1 };
	writer_extended(&writer, 2, TAPE_EXT_THREAD_CREATE, 2004, &creation, sizeof(creation),
			NULL);
	model = load_and_end(&writer);
	assert_int_equal(model_thread(model, 0)->creator, MODEL_NO_THREAD);
	assert_int_equal(model_thread(model, 1)->creator, 0);
	assert_int_equal(model_stacks(model)[model_thread(model, 1)->create_stack].pc, 0x1234);
	assert_int_equal(model_thread(model, 2)->creator, 1);
	model_destroy(model);
}

static void temporary_means_freed_before_the_thread_makes_another_block(void **state)
{
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2000, 0x100, 10, 2);
	writer_event(&writer, 2, TAPE_FN_MALLOC, 2001, 0x200, 1, 2); /* another's in between */
	writer_event(&writer, 1, TAPE_FN_FREE, 2002, 0x100, 0, 2);   /* temporary */
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2003, 0x300, 20, 2);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2004, 0x400, 30, 2);
	writer_event(&writer, 1, TAPE_FN_FREE, 2005, 0x300, 0, 2); /* not: one came between */
	writer_event(&writer, 1, TAPE_FN_FREE, 2006, 0x400, 0, 2); /* temporary */
	writer_event(&writer, 1, TAPE_FN_FREE, 2007, 0x200, 0, 2); /* so is another's block */
	model = load_and_end(&writer);
	assert_int_equal(model_totals(model)->temporary.count, 3);
	assert_int_equal(model_totals(model)->temporary.bytes, 41);
	assert_int_equal(model_thread(model, 0)->foreign_free_count, 1);
	model_destroy(model);
}

static void records_of_a_process_are_found(void **state)
{
	static const char texts[] = "/bin/prog\0/home/me\0prog\0-x";
	const struct tape_process process = { .pid = 42, .argc = 2, .page_bytes = 4096 };
	const struct tape_thread thread = { .tid = 77 }, handler = { .tid = 77, .lane = 1 };
	const struct tape_usage usage = { .rss_bytes = 123456 };
	const struct tape_lost lost = {
		.lost = { [TAPE_LOST_NO_SPACE] = 5, [TAPE_LOST_TRUNCATED] = 100 }
	};
	const struct tape_end end = { TAPE_END_SIGNAL, 9 };
	struct {
		struct tape_process process;
		char texts[sizeof(texts)];
	} payload;
	struct writer writer;
	struct model *model;

	(void)state;
	payload.process = process;
	memcpy(payload.texts, texts, sizeof(texts));
	writer_init(&writer, CHUNK_BYTES);
	writer_extended(&writer, 1, TAPE_EXT_PROCESS, 1000, &payload, sizeof(payload), NULL);
	writer_extended(&writer, 1, TAPE_EXT_THREAD, 1001, &thread, sizeof(thread), "main");
	writer_extended(&writer, 2, TAPE_EXT_THREAD, 1500, &handler, sizeof(handler), "");
	writer_event(&writer, 2, TAPE_FN_MALLOC, 2000, 0x100, 10, 2);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2001, 0x200, 10, 2);
	writer_extended(&writer, 1, TAPE_EXT_THREAD_NAME, 2001, &thread, sizeof(thread), "renamed");
	writer_extended(&writer, 0, TAPE_EXT_USAGE, 3000, &usage, sizeof(usage), NULL);
	writer_extended(&writer, 0, TAPE_EXT_LOST, 4000, &lost, sizeof(lost), NULL);
	writer_extended(&writer, 0, TAPE_EXT_END, 5000, &end, sizeof(end), NULL);
	model = load_and_end(&writer);
	assert_string_equal(model_process(model)->exe, "/bin/prog");
	assert_string_equal(model_process(model)->cwd, "/home/me");
	assert_int_equal(model_process(model)->argc, 2);
	assert_string_equal(model_process(model)->argv[1], "-x");
	assert_null(model_process(model)->argv[2]);
	assert_int_equal(model_process(model)->end_kind, TAPE_END_SIGNAL);
	assert_int_equal(model_process(model)->end_status, 9);
	assert_int_equal(model_process(model)->duration_ns, 4000);
	assert_int_equal(model_thread_count(model), 1);
	assert_int_equal(model_thread(model, 0)->tid, 77);
	assert_string_equal(model_thread(model, 0)->name, "renamed");
	assert_int_equal(model_thread(model, 0)->allocated.count, 2);
	assert_int_equal(model_usage_count(model), 1);
	assert_int_equal(model_usages(model)[0].ns, 2000);
	assert_int_equal(model_usages(model)[0].usage.rss_bytes, 123456);
	assert_int_equal(model_quality(model)->lost_events, 5);
	assert_int_equal(model_quality(model)->lost[TAPE_LOST_TRUNCATED], 100);
	model_destroy(model);
}

static void a_stream_serves_one_thread_after_another(void **state)
{
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	for (uint32_t i = 0; i < 1000; i++) {
		const struct tape_thread thread = { .tid = 100 + i, .handle = 0x7000 };
		uint64_t ticks = 2000 + i * 100;

		writer_extended(&writer, 1, TAPE_EXT_THREAD, ticks, &thread, sizeof(thread), "t");
		writer_event(&writer, 1, TAPE_FN_MALLOC, ticks, 0x100 + i * 16, 10, 2);
		writer_extended(&writer, 1, TAPE_EXT_THREAD_END, ticks + 9, &thread, sizeof(thread),
				NULL);
	}
	model = load_and_end(&writer);
	assert_int_equal(model_thread_count(model), 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(model_thread(model, i)->tid, 100 + i);
		assert_int_equal(model_thread(model, i)->allocated.count, 1);
		assert_int_equal(model_thread(model, i)->end_ns, 1009 + i * 100);
		assert_int_equal(get(model, MODEL_THREAD, i), i);
	}
	model_destroy(model);
}

static void a_thread_goes_on_in_another_stream_after_its_end(void **state)
{
	const struct tape_thread a = { .tid = 5, .handle = 0x7000 };
	const struct tape_thread b = { .tid = 6, .handle = 0x8000 };
	const struct tape_thread again = { .tid = 5, .handle = 0x9000 };
	const struct tape_thread named = { .handle = 0x8000 };
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_extended(&writer, 1, TAPE_EXT_THREAD, 2000, &a, sizeof(a), "a");
	writer_extended(&writer, 1, TAPE_EXT_THREAD_END, 3000, &a, sizeof(a), NULL);
	writer_extended(&writer, 2, TAPE_EXT_THREAD, 3001, &b, sizeof(b), "b");
	writer_extended(&writer, 3, TAPE_EXT_THREAD, 3001, &a, sizeof(a), "");
	writer_event(&writer, 3, TAPE_FN_MALLOC, 3002, 0x100, 10, 2);
	writer_extended(&writer, 3, TAPE_EXT_THREAD_NAME, 3003, &named, sizeof(named), "worker");
	writer_extended(&writer, 3, TAPE_EXT_THREAD_END, 3004, &a, sizeof(a), NULL);
	writer_extended(&writer, 1, TAPE_EXT_THREAD, 9000, &again, sizeof(again), "new");
	model = load_and_end(&writer);
	assert_int_equal(model_thread_count(model), 3);
	assert_string_equal(model_thread(model, 0)->name, "a");
	assert_int_equal(model_thread(model, 0)->allocated.count, 1);
	assert_string_equal(model_thread(model, 1)->name, "worker");
	assert_string_equal(model_thread(model, 2)->name, "new");
	model_destroy(model);
}

/* Thread 7 of stream 1, and what was told of its stack, one record after the other. */
static struct model_stack_use told_of_stack(const struct tape_stack_use *records, size_t count)
{
	const struct tape_thread thread = { .tid = 7 };
	struct writer writer;
	struct model_stack_use use;
	struct model *model;

	writer_init(&writer, CHUNK_BYTES);
	writer_extended(&writer, 1, TAPE_EXT_THREAD, 2000, &thread, sizeof(thread), "a");
	for (size_t i = 0; i < count; i++)
		writer_extended(&writer, 2, TAPE_EXT_STACK_USE, 2001 + i, &records[i],
				sizeof(records[i]), NULL);
	model = load_and_end(&writer);
	assert_int_equal(model_thread_count(model), 1);
	use = model_thread(model, 0)->stack_use;
	model_destroy(model);
	return use;
}

static void pages_tell_how_far_down_a_stack_was_used(void **state)
{
	const uint64_t no = UINT64_MAX;
	const struct tape_stack_use records[] = {
		{ 7, 0, 0x7f0000000000, 8 << 20, 500, no, 8192 },
		{ 7, 0, 0x7f0000000000, 8 << 20, 40000, 90112, 8192 },
		{ 7, TAPE_STACK_USE_FINAL, 0x7f0000000000, 8 << 20, 40000, 90112, 8192 },
		{ 7, 0, 0x7f0000000000, 8 << 20, 40000, no,
		  8192 }, /* at its end nobody could look */
	};
	struct model_stack_use use = told_of_stack(records, 1);

	(void)state;
	assert_int_equal(use.known, MODEL_STACK_EVENTS);
	assert_int_equal(use.used_bytes, 500);
	use = told_of_stack(records, 2); /* it may have gone further since */
	assert_int_equal(use.known, MODEL_STACK_EVENTS);
	assert_int_equal(use.used_bytes, 90112);
	use = told_of_stack(records, array_size(records));
	assert_int_equal(use.known, MODEL_STACK_PAGES);
	assert_int_equal(use.used_bytes, 90112);
	assert_int_equal(use.reserved_bytes, 8 << 20);
	assert_string_equal(model_stack_known_word(&use), "pages");
}

static void pages_that_others_touched_tell_nothing(void **state)
{
	const struct tape_stack_use records[] = {
		{ 7, 0, 0x7f0000000000, UINT64_MAX, 700, 24576, 24576 },
		{ 7, TAPE_STACK_USE_FINAL, 0x7f0000000000, UINT64_MAX, 600, 24576, 24576 },
		{ 8, 0, 0x7f0000000000, 4096, 900, 1 << 20, 0 }, /* of nobody that is known */
	};
	/* pages that went away: the deepest call is further down than the rest of them */
	const struct tape_stack_use swapped = {
		7, TAPE_STACK_USE_FINAL, 0x7f0000000000, 8 << 20, 9000, 8192, 4096
	};
	struct model_stack_use use = told_of_stack(records, array_size(records));

	(void)state;
	assert_int_equal(use.known, MODEL_STACK_EVENTS);
	assert_int_equal(use.used_bytes, 700);
	assert_int_equal(use.reserved_bytes, MODEL_BYTES_UNKNOWN);
	use = told_of_stack(&swapped, 1);
	assert_int_equal(use.known, MODEL_STACK_EVENTS);
	assert_int_equal(use.used_bytes, 9000);
}

static void nothing_is_known_of_stacks_nobody_told_of(void **state)
{
	const uint64_t no = UINT64_MAX;
	const struct tape_stack_use empty = { 7, 0, 0x7f0000000000, 65536, no, no, 0 };
	struct model_stack_use use = told_of_stack(NULL, 0);

	(void)state;
	assert_int_equal(use.known, MODEL_STACK_UNKNOWN);
	assert_int_equal(use.used_bytes, MODEL_BYTES_UNKNOWN);
	assert_int_equal(use.reserved_bytes, MODEL_BYTES_UNKNOWN);
	assert_null(model_stack_known_word(&use));
	use = told_of_stack(&empty, 1);
	assert_int_equal(use.known, MODEL_STACK_UNKNOWN);
	assert_int_equal(use.reserved_bytes, 65536);
}

static void short_records_are_passed_over(void **state)
{
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	for (unsigned type = 0; type < 40; type++)
		for (size_t bytes = 0; bytes < 8; bytes++)
			writer_extended(&writer, 1, (enum tape_extended)type, 2000,
					"\xff\xff\xff\xff\xff\xff\xff\xff", bytes, NULL);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2000, 0x100, 10, 2);
	model = load_and_end(&writer);
	assert_int_equal(model_totals(model)->allocated.count, 1);
	assert_int_equal(model_module_count(model), 0);
	model_destroy(model);
}

/* --- how long calls took --------------------------------------------------------------------- */

static void write_timed_calls(struct writer *writer)
{
	const uint32_t node = writer_node(writer, 1, TAPE_NODE_ROOT, 0x1000, 2000);
	const uint32_t other = writer_node(writer, 1, TAPE_NODE_ROOT, 0x2000, 2000);

	writer_latency(writer, 1, 99); /* of nothing */
	writer_event(writer, 1, TAPE_FN_MALLOC, 2000, 0x100, 10, node);
	writer_latency(writer, 1, 40);
	writer_latency(writer, 1, 98); /* a second time of the same */
	writer_event(writer, 1, TAPE_FN_MALLOC, 2001, 0x200, 10, node); /* never returned */
	writer_event(writer, 1, TAPE_FN_FREE, 2002, 0x100, 0, other);
	writer_event(writer, 2, TAPE_FN_MALLOC, 2003, 0x100, 10, TAPE_NODE_NONE); /* meanwhile */
	writer_latency(writer, 1, 50);
	writer_latency(writer, 2, 60);
	writer_event(writer, 1, TAPE_FN_REALLOC_OUT, 2004, 0x200, 0, node);
	writer_event(writer, 1, TAPE_FN_REALLOC_IN, 2005, 0x300, 20, node);
	writer_latency(writer, 1, 70);
	writer_event(writer, 1, TAPE_FN_REALLOC_OUT, 2006, 0x300, 0, node);
	writer_event(writer, 1, TAPE_FN_REALLOC_FAIL, 2007, 0x300, 1 << 30, node);
	writer_latency(writer, 1, 80);
	writer_event(writer, 1, TAPE_FN_FREE, 2008, 0x999, 0, other); /* of nobody's block */
	writer_latency(writer, 1, 90);
	writer_event(writer, 1, TAPE_FN_CALLOC, 2009, 0x400, 10, node);
	writer_latency(writer, 1, UINT64_C(10000000000)); /* ten seconds */
}

static void assert_timed_sums(const struct model *model)
{
	const struct model_latency *latencies = model_latencies(model);
	const struct model_stack_latency *stacks = model_stack_latencies(model);
	uint64_t stack_total = 0;

	assert_int_equal(latencies[TAPE_FN_MALLOC].count, 2);
	assert_int_equal(latencies[TAPE_FN_MALLOC].total_ns, 100);
	assert_int_equal(latencies[TAPE_FN_MALLOC].max_ns, 60);
	assert_int_equal(latencies[TAPE_FN_REALLOC_IN].count, 2); /* one of them failed */
	assert_int_equal(latencies[TAPE_FN_REALLOC_IN].total_ns, 150);
	assert_int_equal(latencies[TAPE_FN_FREE].count, 2);
	assert_int_equal(latencies[TAPE_FN_FREE].total_ns, 140);
	assert_int_equal(latencies[TAPE_FN_REALLOC_OUT].count, 0);
	assert_int_equal(latencies[TAPE_FN_CALLOC].max_ns, 10000000000);
	for (size_t i = 0; i < model_stack_count(model); i++)
		stack_total += stacks[i].total_ns;
	assert_int_equal(stack_total, 10000000000 + 100 + 150 + 140);
	assert_int_equal(stacks[CAPTURE_STACK_NONE].total_ns, 60);
}

static void a_latency_belongs_to_the_event_before_it_in_its_stream(void **state)
{
	static const uint64_t of_rows[][2] = { { 40, 50 },
					       { MODEL_NEVER, MODEL_NEVER }, /* moved */
					       { 60, MODEL_NEVER },
					       { 70, MODEL_NEVER } };

	(void)state;
	for (int depth = MODEL_SUMMARY; depth <= MODEL_FULL; depth++) {
		struct writer writer;
		struct model *model;
		uint64_t long_ns;

		writer_init(&writer, CHUNK_BYTES);
		writer_header(&writer)->flags |= TAPE_FLAG_LATENCY;
		write_timed_calls(&writer);
		model = load(&writer, (enum model_depth)depth);
		assert_timed_sums(model);
		assert_int_equal(model_row_count(model), depth == MODEL_FULL ? 5 : 0);
		for (uint64_t row = 0; row < model_row_count(model) && row < 4; row++) {
			assert_int_equal(get(model, MODEL_LATENCY, row), of_rows[row][0]);
			assert_int_equal(get(model, MODEL_FREE_LATENCY, row), of_rows[row][1]);
		}
		if (depth == MODEL_FULL) { /* to some microseconds */
			long_ns = get(model, MODEL_LATENCY, 4);
			assert_in_range(long_ns, 10000000000 - 4096, 10000000000);
		}
		model_destroy(model);
		writer_deinit(&writer);
	}
}

static void without_latencies_there_are_none(void **state)
{
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2000, 0x100, 10, 2);
	writer_event(&writer, 1, TAPE_FN_FREE, 2001, 0x100, 0, 2);
	model = load_and_end(&writer);
	assert_null(model_latencies(model));
	assert_null(model_stack_latencies(model));
	assert_true(get(model, MODEL_LATENCY, 0) == MODEL_NEVER);
	assert_true(get(model, MODEL_FREE_LATENCY, 0) == MODEL_NEVER);
	model_destroy(model);
}

static void an_empty_tape_is_a_model_of_nothing(void **state)
{
	struct writer writer;
	struct model *model;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	model = load_and_end(&writer);
	assert_int_equal(model_totals(model)->allocated.count, 0);
	assert_int_equal(model_totals(model)->peak.bytes, 0);
	assert_int_equal(model_process(model)->duration_ns, 0);
	assert_int_equal(model_stack_count(model), CAPTURE_STACK_FIRST);
	assert_string_equal(model_process(model)->exe, "");
	model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_random_tape_is_what_a_simple_replay_says),
		cmocka_unit_test(a_realloc_continues_its_block),
		cmocka_unit_test(a_realloc_to_nothing_is_one_free),
		cmocka_unit_test(a_realloc_that_failed_leaves_its_block_alone),
		cmocka_unit_test(a_realloc_in_progress_at_the_end_has_not_happened),
		cmocka_unit_test(an_address_given_out_during_a_realloc_is_no_loss),
		cmocka_unit_test(a_free_that_comes_a_moment_late_ends_the_older_block),
		cmocka_unit_test(a_free_that_never_came_is_counted),
		cmocka_unit_test(a_free_at_the_same_tick_as_its_allocation_is_matched),
		cmocka_unit_test(threads_know_who_created_them),
		cmocka_unit_test(threads_know_who_created_them_by_their_numbers),
		cmocka_unit_test(temporary_means_freed_before_the_thread_makes_another_block),
		cmocka_unit_test(records_of_a_process_are_found),
		cmocka_unit_test(a_stream_serves_one_thread_after_another),
		cmocka_unit_test(a_thread_goes_on_in_another_stream_after_its_end),
		cmocka_unit_test(short_records_are_passed_over),
		cmocka_unit_test(pages_tell_how_far_down_a_stack_was_used),
		cmocka_unit_test(pages_that_others_touched_tell_nothing),
		cmocka_unit_test(nothing_is_known_of_stacks_nobody_told_of),
		cmocka_unit_test(a_latency_belongs_to_the_event_before_it_in_its_stream),
		cmocka_unit_test(without_latencies_there_are_none),
		cmocka_unit_test(an_empty_tape_is_a_model_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
