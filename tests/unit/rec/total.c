/* The peak of all threads together, whatever they do within it, is exactly what it was. */
#include "../test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "rec/calls.h"
#include "rec/moments.h"
#include "rec/total.h"

enum { THREADS = 4, ROUNDS = 60, STEPS = 3000, BYTES = 40 };

struct rec_process rec;

bool rec_board_forbids(void)
{
	return false;
}

static _Atomic uint64_t peak;
static pthread_barrier_t barrier;
static struct rec_lane lanes[THREADS];
static int64_t held_after[ROUNDS][THREADS];

bool rec_lock(_Atomic uint64_t *lock)
{
	uint64_t nobody = 0;

	while (!atomic_compare_exchange_strong(lock, &nobody, 1)) {
		nobody = 0;
		sched_yield();
	}
	return true;
}

void rec_unlock(_Atomic uint64_t *lock)
{
	atomic_store(lock, 0);
}

uint64_t rec_clock_raw(void)
{
	static _Atomic uint64_t ticks;

	return atomic_fetch_add(&ticks, 1 << 10);
}

void rec_calls_peak(struct rec_lane *lane, uint64_t bytes)
{
	uint64_t known = atomic_load(&peak);

	(void)lane;
	while (bytes > known && !atomic_compare_exchange_weak(&peak, &known, bytes))
		;
}

static uint64_t told, told_count;

void rec_moments_add(struct rec_lane *lane, uint64_t heap_bytes)
{
	(void)lane;
	told = heap_bytes;
	told_count++;
}

static void begin(size_t lane_count)
{
	memset(lanes, 0, sizeof(lanes));
	for (size_t i = 0; i < lane_count; i++)
		rec.lanes[i] = &lanes[i];
	rec.lane_count = (uint32_t)lane_count;
	atomic_store(&peak, 0);
	rec_total_init();
}

/* From `from` to `to` in steps, with drops in between: never above the larger of the two. */
static void ramp(struct rec_lane *lane, int64_t from, int64_t to, unsigned *seed)
{
	int64_t held = from;

	for (int i = 0; i < STEPS; i++) {
		const int64_t most = to > from ? to : from;
		const int64_t next = most - rand_r(seed) % (BYTES * 8) * (rand_r(seed) % 50);

		rec_total_move(lane, next - held);
		held = next;
	}
	rec_total_move(lane, to - held);
}

static void *work(void *argument)
{
	const size_t self = (size_t)argument;
	unsigned seed = (unsigned)self + 1;
	int64_t held = 0;

	for (size_t round = 0; round < ROUNDS; round++) {
		ramp(&lanes[self], held, held_after[round][self], &seed);
		held = held_after[round][self];
		pthread_barrier_wait(&barrier);
		if (self == 0 && round % 2 == 0) { /* all had gone up: this was the most */
			uint64_t most = 0;

			for (size_t i = 0; i <= round; i++) {
				uint64_t sum = 0;

				for (size_t t = 0; t < THREADS; t++)
					sum += (uint64_t)held_after[i][t];
				most = u64_max(most, sum);
			}
			assert_int_equal(atomic_load(&peak), most);
		}
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* Up together, down together, by other amounts each time; some threads only ever give back. */
static void the_peak_of_threads_is_exact(void **state)
{
	pthread_t threads[THREADS];
	unsigned seed = 42;

	(void)state;
	begin(THREADS);
	for (size_t round = 0; round < ROUNDS; round++)
		for (size_t t = 0; t < THREADS; t++)
			held_after[round][t] =
				round % 2 ? rand_r(&seed) % 100000
					  : 100000 + rand_r(&seed) % (round % 3 ? 300000 : 900000);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (size_t t = 0; t < THREADS; t++)
		pthread_create(&threads[t], NULL, work, (void *)t);
	for (size_t t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	pthread_barrier_destroy(&barrier);
}

static void one_thread_alone(void **state)
{
	(void)state;
	begin(1);
	for (int i = 0; i < 10000; i++) {
		rec_total_move(&lanes[0], 100);
		rec_total_move(&lanes[0], -100);
	}
	assert_int_equal(atomic_load(&peak), 100);
	rec_total_move(&lanes[0], 101);
	assert_int_equal(atomic_load(&peak), 101);
	for (int i = 0; i < 10000; i++)
		rec_total_move(&lanes[0], 7);
	assert_int_equal(atomic_load(&peak), 101 + 70000);
}

/* What one lane has got and another gives back. */
static void blocks_that_others_free(void **state)
{
	(void)state;
	begin(2);
	for (int i = 0; i < 100000; i++) {
		rec_total_move(&lanes[0], 64);
		if (i >= 1000)
			rec_total_move(&lanes[1], -64);
	}
	assert_int_equal(atomic_load(&peak), 64 * 1001);
	rec_total_move(&lanes[1], 65);
	assert_int_equal(atomic_load(&peak), 64 * 1000 + 65);
}

/* A lane whose thread has gone keeps its claim until it is asked for. */
static void a_claim_of_an_idle_lane_is_taken_back(void **state)
{
	(void)state;
	begin(2);
	rec_total_move(&lanes[0], 1 << 20);
	rec_total_move(&lanes[0], -(1 << 20));
	for (int i = 0; i < 10000; i++) {
		rec_total_move(&lanes[0], 10);
		rec_total_move(&lanes[0], -10);
	}
	assert_true(atomic_load(&lanes[0].total.is_claiming));
	rec_total_move(&lanes[1], 1 << 20);
	assert_int_equal(atomic_load(&peak), 1 << 20);
	assert_false(atomic_load(&lanes[0].total.is_claiming));
	rec_total_move(&lanes[0], 1);
	assert_int_equal(atomic_load(&peak), (1 << 20) + 1);
}

/* Where a file of all moments is wanted; also those that change nothing. */
static void every_move_is_told_where_moments_are_wanted(void **state)
{
	const int64_t moves[] = { 1 << 20, -(1 << 20), 10, 0, -10, 64, 0 };
	int64_t held = 0;
	size_t count = 0;

	(void)state;
	rec.options.moments = true;
	begin(2);
	for (size_t round = 0; round < 1000; round++) {
		for (size_t i = 0; i < array_size(moves); i++) {
			rec_total_move(&lanes[round % 2], moves[i]);
			held += moves[i];
			assert_int_equal(told_count, ++count);
			assert_int_equal(told, held);
		}
	}
	rec.options.moments = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_alone),
		cmocka_unit_test(blocks_that_others_free),
		cmocka_unit_test(a_claim_of_an_idle_lane_is_taken_back),
		cmocka_unit_test(every_move_is_told_where_moments_are_wanted),
		cmocka_unit_test(the_peak_of_threads_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
