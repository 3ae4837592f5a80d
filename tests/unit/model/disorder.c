#include "../test.h"

#include "written_tape.h"
#include "model/disorder.h"
#include "model/model.h"

enum { CHUNK_BYTES = TAPE_CHUNK_BYTES_MIN, THREADS = 6, WINDOW = EARLY_WINDOW_NS, T = 100000 };

#define M(thread, at, address)                                                                     \
	{                                                                                          \
		thread, TAPE_FN_MALLOC, at, address                                                \
	}
#define F(thread, at, address)                                                                     \
	{                                                                                          \
		thread, TAPE_FN_FREE, at, address                                                  \
	}
#define OUT(thread, at, address)                                                                   \
	{                                                                                          \
		thread, TAPE_FN_REALLOC_OUT, at, address                                           \
	}
#define IN(thread, at, address)                                                                    \
	{                                                                                          \
		thread, TAPE_FN_REALLOC_IN, at, address                                            \
	}

/* Threads count from 0, as in the model. */
struct step {
	unsigned thread;
	enum tape_fn fn;
	uint64_t ticks;
	uint64_t address;
};

/* Rows, the list of ends, sums by function and by thread, and totals tell the same. */
static void assert_consistent(const struct model *model)
{
	const struct model_totals *totals = model_totals(model);
	const uint64_t lost = totals->lost_free_count, rows = model_row_count(model);
	struct model_sum leaked = { 0 };
	uint64_t ends = 0, foreign = 0, lost_rows = 0, bytes = 0, temporary = 0;

	for (uint64_t row = 0; row < rows; row++) {
		const uint64_t flags = get(model, MODEL_FLAGS, row);
		const uint64_t freer = get(model, MODEL_FREE_THREAD, row);
		const bool is_leaked = get(model, MODEL_FREE_NS, row) == MODEL_NEVER;

		assert_true(get(model, MODEL_FREE_NS, row) >= get(model, MODEL_ALLOC_NS, row));
		leaked.count += is_leaked;
		leaked.bytes += is_leaked ? get(model, MODEL_SIZE, row) : 0;
		ends += !is_leaked;
		lost_rows += (flags & MODEL_ALLOCATION_LOST_FREE) != 0;
		temporary += (flags & MODEL_ALLOCATION_TEMPORARY) != 0;
		foreign += freer != MODEL_NO_THREAD && freer != get(model, MODEL_THREAD, row);
		bytes += get(model, MODEL_FREE_FN, row) == TAPE_FN_FREE
				 ? get(model, MODEL_SIZE, row)
				 : 0;
	}
	assert_int_equal(model_free_count(model), ends);
	for (uint64_t i = 0; i < ends; i++) {
		uint64_t row, ns, size;

		model_frees_read(model, i, 1, &row);
		model_frees_read_events(model, i, 1, &ns, &size);
		assert_int_equal(get(model, MODEL_FREE_NS, row), ns);
		assert_int_equal(get(model, MODEL_SIZE, row), size);
	}
	for (size_t i = 0; i < model_thread_count(model); i++)
		foreign -= model_thread(model, i)->foreign_free_count;
	for (size_t i = 1; i < model_stray_free_count(model); i++)
		assert_true(model_stray_frees(model)[i].ns >= model_stray_frees(model)[i - 1].ns);
	assert_int_equal(foreign, 0);
	assert_int_equal(lost_rows, lost);
	assert_int_equal(leaked.count, totals->leaked.count);
	assert_int_equal(leaked.bytes, totals->leaked.bytes);
	assert_int_equal(temporary, totals->temporary.count);
	assert_int_equal(totals->freed.count + lost, ends);
	assert_int_equal(model_functions(model)[TAPE_FN_FREE].bytes, bytes);
	assert_int_equal(model_stray_free_count(model),
			 totals->unknown_free_count < MODEL_STRAY_FREES_MAX
				 ? totals->unknown_free_count
				 : MODEL_STRAY_FREES_MAX);
}

static void write_step(struct writer *writer, const struct step *step)
{
	static uint64_t size = 10; /* of each its own */

	writer_event(writer, step->thread + 1, step->fn, step->ticks, step->address,
		     tape_fn_sizeless(step->fn) ? 0 : ++size, 2);
}

static void begin(struct writer *writer, uint32_t flags)
{
	writer_init(writer, CHUNK_BYTES);
	writer_header(writer)->flags |= flags;
	for (unsigned i = 0; i < THREADS; i++) {
		const struct tape_thread thread = { .tid = 100 + i };

		writer_extended(writer, i + 1, TAPE_EXT_THREAD, WRITER_START_TICKS + i, &thread,
				sizeof(thread), "");
	}
}

/* The model, which is the same without rows; ends the writer. */
static struct model *end(struct writer *writer)
{
	struct model *full = load(writer, MODEL_FULL), *summary = load(writer, MODEL_SUMMARY);

	writer_deinit(writer);
	assert_consistent(full);
	assert_memory_equal(model_totals(full), model_totals(summary), sizeof(struct model_totals));
	assert_memory_equal(model_functions(full), model_functions(summary),
			    TAPE_FN_COUNT * sizeof(struct model_function));
	model_destroy(summary);
	return full;
}

static struct model *play(const struct step *steps, size_t count, uint32_t flags)
{
	struct writer writer;

	begin(&writer, flags);
	for (size_t i = 0; i < count; i++)
		write_step(&writer, &steps[i]);
	return end(&writer);
}

#define PLAY(...)                                                                                  \
	play((const struct step[]) { __VA_ARGS__ },                                                \
	     array_size(((const struct step[]) { __VA_ARGS__ })), 0)

/* What the row's free was: the thread, the function and the time on the tape. */
static void assert_freed(const struct model *model, uint64_t row, unsigned thread, enum tape_fn fn,
			 uint64_t ticks)
{
	assert_int_equal(get(model, MODEL_FREE_THREAD, row), thread);
	assert_int_equal(get(model, MODEL_FREE_FN, row), fn);
	assert_int_equal(get(model, MODEL_FREE_NS, row), ticks - WRITER_START_TICKS);
}

static void assert_counts(const struct model *model, uint64_t freed, uint64_t leaked,
			  uint64_t unknown)
{
	assert_int_equal(model_totals(model)->freed.count, freed);
	assert_int_equal(model_totals(model)->leaked.count, leaked);
	assert_int_equal(model_totals(model)->unknown_free_count, unknown);
	assert_int_equal(model_totals(model)->lost_free_count, 0);
}

static void assert_stray(const struct model *model, size_t index, unsigned thread, uint64_t ticks,
			 uint64_t row_count)
{
	const struct model_stray_free *stray = &model_stray_frees(model)[index];

	assert_int_equal(stray->thread, thread);
	assert_int_equal(stray->ns, ticks - WRITER_START_TICKS);
	assert_int_equal(stray->row_count, row_count);
}

/* --- the free comes before the allocation ----------------------------------------------------- */

static void a_free_that_comes_a_moment_early_is_its_blocks(void **state)
{
	static const uint64_t ahead[] = { 0, 1, 300, WINDOW };

	(void)state;
	for (size_t i = 0; i < array_size(ahead); i++) {
		struct model *model = PLAY(F(1, T, 0x100), M(0, T + ahead[i], 0x100));

		assert_counts(model, 1, 0, 0);
		assert_freed(model, 0, 1, TAPE_FN_FREE, T + ahead[i]);
		assert_int_equal(model_thread(model, 1)->foreign_free_count, 1);
		assert_int_equal(model_totals(model)->peak.count, 1);
		model_destroy(model);
	}
}

static void a_free_long_before_is_of_no_block(void **state)
{
	struct model *model = PLAY(F(1, T, 0x100), M(0, T + WINDOW + 1, 0x100));

	(void)state;
	assert_counts(model, 0, 1, 1);
	assert_stray(model, 0, 1, T, 0);
	model_destroy(model);
}

static void a_thread_does_not_free_what_it_allocates_next(void **state)
{
	struct model *model = PLAY(F(0, T, 0x100), M(0, T + 1, 0x100));

	(void)state;
	assert_counts(model, 0, 1, 1);
	model_destroy(model);
	model = PLAY(M(0, T, 0x100), F(0, T + 1, 0x100), F(0, T + 2, 0x100), M(0, T + 3, 0x100));
	assert_counts(model, 1, 1, 1);
	assert_stray(model, 0, 0, T + 2, 1);
	model_destroy(model);
}

static void every_early_free_has_a_block_of_its_own(void **state)
{
	struct model *model = PLAY(F(1, T, 0x100), M(0, T + 1, 0x100), F(2, T + 2, 0x100),
				   M(0, T + 3, 0x100), F(3, T + 4, 0x200), M(2, T + 5, 0x200));

	(void)state;
	assert_counts(model, 3, 0, 0);
	assert_freed(model, 0, 1, TAPE_FN_FREE, T + 1);
	assert_freed(model, 1, 2, TAPE_FN_FREE, T + 3);
	assert_freed(model, 2, 3, TAPE_FN_FREE, T + 5);
	model_destroy(model);
	/* two for one block: one of them was of none */
	model = PLAY(F(1, T, 0x100), F(2, T + 1, 0x100), M(0, T + 2, 0x100));
	assert_counts(model, 1, 0, 1);
	assert_freed(model, 0, 2, TAPE_FN_FREE, T + 2);
	assert_stray(model, 0, 1, T, 0);
	model_destroy(model);
}

static void an_early_free_and_the_next_block_may_both_come_before(void **state)
{
	struct model *model = PLAY(F(1, T, 0x100), M(1, T + 5, 0x100), M(0, T + 9, 0x100),
				   F(2, T + 900000, 0x100));

	(void)state;
	assert_counts(model, 2, 0, 0);
	assert_freed(model, 0, 2, TAPE_FN_FREE, T + 900000);
	assert_freed(model, 1, 1, TAPE_FN_FREE, T + 9);
	model_destroy(model);
}

/* The second block's free, by thread 2, comes even before the first block's. */
static void an_early_free_may_come_before_the_one_before_it(void **state)
{
	struct model *model = PLAY(M(0, T, 0x100), F(2, T + 500, 0x100), F(1, T + 503, 0x100),
				   M(1, T + 509, 0x100));

	(void)state;
	assert_counts(model, 2, 0, 0);
	assert_freed(model, 0, 1, TAPE_FN_FREE, T + 500);
	assert_freed(model, 1, 2, TAPE_FN_FREE, T + 509);
	assert_int_equal(get(model, MODEL_FLAGS, 0) & MODEL_ALLOCATION_TEMPORARY,
			 MODEL_ALLOCATION_TEMPORARY);
	model_destroy(model);
}

static void other_events_between_do_not_hide_the_one_before(void **state)
{
	const struct tape_usage usage = { 0 };
	struct writer writer;
	struct model *model;

	(void)state;
	begin(&writer, 0);
	write_step(&writer, &(struct step)M(0, T, 0x100));
	write_step(&writer, &(struct step)F(2, T + 1, 0x100));
	for (unsigned i = 0; i < 10; i++)
		write_step(&writer, &(struct step)M(3, T + 2 + i, 0x1000 + i * 16));
	writer_extended(&writer, 4, TAPE_EXT_USAGE, T + 15, &usage, sizeof(usage), NULL);
	write_step(&writer, &(struct step)F(1, T + 20, 0x100));
	write_step(&writer, &(struct step)M(1, T + 21, 0x100));
	model = end(&writer);
	assert_counts(model, 2, 10, 0);
	assert_freed(model, 0, 1, TAPE_FN_FREE, T + 1);
	assert_freed(model, 11, 2, TAPE_FN_FREE, T + 21);
	model_destroy(model);
}

/* --- a block that is freed twice --------------------------------------------------------------- */

static void a_free_of_an_old_block_stays_one_though_its_address_is_given_out_at_once(void **state)
{
	struct model *model = PLAY(M(1, T, 0x100), F(1, T + 50000, 0x100), F(1, T + 100000, 0x100),
				   M(0, T + 100005, 0x100), F(2, T + 900000, 0x100));

	(void)state;
	assert_counts(model, 2, 0, 1);
	assert_stray(model, 0, 1, T + 100000, 1);
	assert_freed(model, 0, 1, TAPE_FN_FREE, T + 50000);
	/* by whom, but when it was told first */
	assert_freed(model, 1, 2, TAPE_FN_FREE, T + 100005);
	model_destroy(model);
}

static void two_threads_that_free_one_block_are_told_when_the_next_is_freed(void **state)
{
	struct model *model = PLAY(M(0, T, 0x100), F(1, T + 50, 0x100), F(2, T + 52, 0x100),
				   M(2, T + 60, 0x100), F(0, T + 700000, 0x100));

	(void)state;
	assert_counts(model, 2, 0, 1);
	assert_freed(model, 1, 0, TAPE_FN_FREE, T + 60);
	assert_true(model_stray_frees(model)[0].row_count == 1);
	model_destroy(model);
}

static void of_three_frees_of_two_blocks_one_is_of_none(void **state)
{
	struct model *model = PLAY(F(1, T, 0x100), M(0, T + 1, 0x100), F(2, T + 2, 0x100),
				   M(3, T + 3, 0x100), F(0, T + 500000, 0x100));

	(void)state;
	assert_counts(model, 2, 0, 1);
	assert_freed(model, 0, 1, TAPE_FN_FREE, T + 1);
	assert_freed(model, 1, 0, TAPE_FN_FREE, T + 3);
	assert_stray(model, 0, 2, T + 2, 1);
	model_destroy(model);
}

static void a_stray_that_is_told_late_stands_where_it_happened(void **state)
{
	struct model *model = PLAY(F(1, T, 0x100), M(0, T + 1, 0x100), F(2, T + 100000, 0x900),
				   F(3, T + 200000, 0x100));

	(void)state;
	assert_counts(model, 1, 0, 2);
	assert_stray(model, 0, 1, T, 0);
	assert_stray(model, 1, 2, T + 100000, 1);
	model_destroy(model);
}

static void an_address_that_was_given_out_again_ends_the_doubt(void **state)
{
	struct model *model = PLAY(F(1, T, 0x100), M(0, T + 1, 0x100), M(0, T + 100000, 0x100),
				   F(0, T + 200000, 0x100), F(0, T + 300000, 0x100));

	(void)state;
	assert_counts(model, 2, 0, 1);
	assert_freed(model, 0, 1, TAPE_FN_FREE, T + 1);
	assert_freed(model, 1, 0, TAPE_FN_FREE, T + 200000);
	assert_stray(model, 0, 0, T + 300000, 2);
	model_destroy(model);
}

/* --- realloc ----------------------------------------------------------------------------------- */

static void a_realloc_that_comes_early_ends_its_block(void **state)
{
	struct model *model = PLAY(OUT(1, T, 0x100), IN(1, T + 2, 0x900), M(0, T + 5, 0x100));

	(void)state;
	assert_counts(model, 1, 1, 0);
	assert_freed(model, 1, 1, TAPE_FN_REALLOC_OUT, T + 5);
	assert_int_equal(get(model, MODEL_FREE_NS, 0), MODEL_NEVER);
	model_destroy(model);
	/* in place: the new block has the address when the old one comes */
	model = PLAY(OUT(1, T, 0x100), IN(1, T + 2, 0x100), M(0, T + 5, 0x100));
	assert_counts(model, 1, 1, 0);
	assert_freed(model, 1, 1, TAPE_FN_REALLOC_OUT, T + 5);
	model_destroy(model);
}

static void the_first_half_of_a_realloc_may_be_early_alone(void **state)
{
	struct model *model = PLAY(OUT(1, T, 0x100), M(0, T + 5, 0x100), IN(1, T + 9, 0x900));

	(void)state;
	assert_counts(model, 1, 1, 0);
	assert_int_equal(get(model, MODEL_REALLOC_OF, 1), 0);
	model_destroy(model);
}

static void a_block_that_is_moved_was_not_freed_before(void **state)
{
	struct model *model =
		PLAY(M(1, T, 0x100), F(1, T + 100, 0x100), F(1, T + 50000, 0x100),
		     M(0, T + 50002, 0x100), OUT(0, T + 800000, 0x100), IN(0, T + 800009, 0x900));

	(void)state;
	assert_counts(model, 2, 1, 1);
	assert_stray(model, 0, 1, T + 50000, 1);
	assert_freed(model, 1, 0, TAPE_FN_REALLOC_OUT, T + 50002);
	assert_int_equal(get(model, MODEL_REALLOC_OF, 2), 1);
	assert_int_equal(get(model, MODEL_FLAGS, 1) & MODEL_ALLOCATION_REALLOCED,
			 MODEL_ALLOCATION_REALLOCED);
	model_destroy(model);
}

/* --- bounds ------------------------------------------------------------------------------------ */

/* Each address: an early free and its block; then, if told so, a second free of each. */
static struct model *play_pairs(size_t count, bool frees_again)
{
	struct writer writer;
	uint64_t ticks = T;

	begin(&writer, 0);
	for (size_t i = 0; i < count; i++) {
		write_step(&writer, &(struct step)F(1, ticks++, 0x10000 + i * 16));
		write_step(&writer, &(struct step)M(0, ticks++, 0x10000 + i * 16));
	}
	for (size_t i = 0; i < 20000; i++) { /* dead blocks by the thousand */
		write_step(&writer, &(struct step)M(0, ticks++, 0x10000000 + i * 16));
		write_step(&writer, &(struct step)F(0, ticks++, 0x10000000 + i * 16));
	}
	for (size_t i = 0; i < count && frees_again; i++)
		write_step(&writer, &(struct step)F(2, ticks++, 0x10000 + i * 16));
	return end(&writer);
}

static void early_frees_are_remembered_when_much_has_happened_since(void **state)
{
	struct model *model = play_pairs(PAIRS_MAX, true);

	(void)state;
	assert_counts(model, PAIRS_MAX + 20000, 0, PAIRS_MAX);
	for (size_t i = 0; i < PAIRS_MAX; i++) {
		assert_int_equal(model_stray_frees(model)[i].thread, 1);
		assert_int_equal(get(model, MODEL_FREE_THREAD, i), 2);
	}
	model_destroy(model);
}

static void of_more_than_can_be_remembered_the_second_free_is_of_no_block(void **state)
{
	struct model *model = play_pairs(PAIRS_MAX + 50, false);

	(void)state;
	assert_counts(model, PAIRS_MAX + 50 + 20000, 0, 0);
	model_destroy(model);
	model = play_pairs(PAIRS_MAX + 50, true);
	assert_counts(model, PAIRS_MAX + 50 + 20000, 0, PAIRS_MAX + 50);
	assert_int_equal(get(model, MODEL_FREE_THREAD, 0), 1);
	assert_int_equal(get(model, MODEL_FREE_THREAD, 50), 2);
	model_destroy(model);
}

static void frees_of_what_was_before_the_tape_are_not_early(void **state)
{
	static const struct step fresh[] = { F(1, T, 0x100), M(0, T + 1, 0x100) };
	static const struct step known[] = { M(2, T, 0x100), F(2, T + 50000, 0x100),
					     F(1, T + 100000, 0x100), M(0, T + 100001, 0x100) };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const uint32_t flag = i ? TAPE_FLAG_FORKED : TAPE_FLAG_ATTACHED;
		struct model *model = play(fresh, array_size(fresh), flag);

		assert_counts(model, 0, 1, 1);
		model_destroy(model);
		model = play(known, array_size(known), flag);
		assert_counts(model, 2, 0, 0);
		model_destroy(model);
	}
}

static void the_window_is_of_time_and_not_of_ticks(void **state)
{
	(void)state;
	for (unsigned ghz = 1; ghz <= 4; ghz += 3) {
		const uint64_t ahead = (uint64_t)WINDOW * ghz / 2;

		for (unsigned is_near = 0; is_near < 2; is_near++) {
			const struct tape_clock_pair pair = { .raw_ticks = T,
							      .monotonic_ns =
								      1000 + (T - 1000) / ghz };
			struct writer writer;
			struct model *model;

			begin(&writer, 0);
			writer_header(&writer)->clock = TAPE_CLOCK_TSC;
			writer_extended(&writer, 1, TAPE_EXT_CLOCK, T, &pair, sizeof(pair), NULL);
			write_step(&writer, &(struct step)F(1, 2 * T, 0x100));
			write_step(&writer,
				   &(struct step)M(0, 2 * T + (is_near ? 1 : 3) * ahead, 0x100));
			model = load(&writer, MODEL_SUMMARY);
			writer_deinit(&writer);
			assert_int_equal(model_totals(model)->freed.count, is_near);
			model_destroy(model);
		}
	}
}

/* --- the property: of threads that hand blocks over, nothing is told that did not happen -------- */

enum { ADDRESSES = 6, STEPS = 3000 };

struct world {
	bool is_live[ADDRESSES];
	unsigned owner[ADDRESSES];
	uint64_t made[ADDRESSES];  /* when */
	uint64_t ended[ADDRESSES]; /* when, and by whom: nobody else gets the address at once */
	unsigned freer[ADDRESSES];
	uint64_t last[THREADS]; /* ticks on the tape */
	uint64_t freed;
};

/* When a thread's event of now is stamped: up to `skew` too early, but after its last one. */
static uint64_t stamp(struct world *world, unsigned thread, uint64_t now, uint64_t skew)
{
	uint64_t ticks = now - skew;

	if (ticks <= world->last[thread])
		ticks = world->last[thread] + 1;
	world->last[thread] = ticks;
	return ticks;
}

static void random_handovers(uint64_t seed, uint64_t skew_max)
{
	struct world world = { 0 };
	uint64_t random = seed * 7919, now = T, live = 0;
	struct writer writer;
	struct model *model;

	begin(&writer, 0);
	for (unsigned i = 0; i < STEPS; i++) {
		const uint64_t r = random_next(&random);
		const unsigned thread = (unsigned)(r % THREADS);
		const unsigned at = (unsigned)((r >> 8) % ADDRESSES);
		const uint64_t skew = (r >> 20) % 4 ? 0 : (r >> 32) % (skew_max + 1);
		struct step step = { thread, TAPE_FN_FREE, 0, 0x1000 + at * 64 };

		now += 20 + (r >> 48) % 60; /* what a call takes at least */
		if (world.is_live[at]) {    /* it is handed over, and freed at once */
			step.ticks =
				stamp(&world, thread, now, world.owner[at] == thread ? 0 : skew);
			world.freed++;
			world.freer[at] = thread;
		} else { /* from a thread's cache to the thread */
			step.thread = world.ended[at] ? world.freer[at] : thread;
			step.fn = TAPE_FN_MALLOC;
			step.ticks = stamp(&world, step.thread, now, 0);
			world.owner[at] = step.thread;
			world.ended[at] = now;
		}
		world.is_live[at] = !world.is_live[at];
		write_step(&writer, &step);
	}
	for (unsigned i = 0; i < ADDRESSES; i++)
		live += world.is_live[i];
	model = end(&writer);
	assert_counts(model, world.freed, live, 0);
	model_destroy(model);
}

static void blocks_that_are_handed_over_are_freed_once_and_never_lost(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 150; seed++)
		random_handovers(seed, (seed % 2 ? 30 : 400) * (seed % 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_free_that_comes_a_moment_early_is_its_blocks),
		cmocka_unit_test(a_free_long_before_is_of_no_block),
		cmocka_unit_test(a_thread_does_not_free_what_it_allocates_next),
		cmocka_unit_test(every_early_free_has_a_block_of_its_own),
		cmocka_unit_test(an_early_free_and_the_next_block_may_both_come_before),
		cmocka_unit_test(an_early_free_may_come_before_the_one_before_it),
		cmocka_unit_test(other_events_between_do_not_hide_the_one_before),
		cmocka_unit_test(
			a_free_of_an_old_block_stays_one_though_its_address_is_given_out_at_once),
		cmocka_unit_test(two_threads_that_free_one_block_are_told_when_the_next_is_freed),
		cmocka_unit_test(of_three_frees_of_two_blocks_one_is_of_none),
		cmocka_unit_test(a_stray_that_is_told_late_stands_where_it_happened),
		cmocka_unit_test(an_address_that_was_given_out_again_ends_the_doubt),
		cmocka_unit_test(a_realloc_that_comes_early_ends_its_block),
		cmocka_unit_test(the_first_half_of_a_realloc_may_be_early_alone),
		cmocka_unit_test(a_block_that_is_moved_was_not_freed_before),
		cmocka_unit_test(early_frees_are_remembered_when_much_has_happened_since),
		cmocka_unit_test(of_more_than_can_be_remembered_the_second_free_is_of_no_block),
		cmocka_unit_test(frees_of_what_was_before_the_tape_are_not_early),
		cmocka_unit_test(the_window_is_of_time_and_not_of_ticks),
		cmocka_unit_test(blocks_that_are_handed_over_are_freed_once_and_never_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
