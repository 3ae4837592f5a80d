#include "../test.h"

#include <pthread.h>
#include <unistd.h>

#include "sums/sweep.h"

enum { SEGMENTS = 2000, WORKERS = 4 };

struct worker {
	uint64_t done;
	uint64_t last;
};

static struct err *work(void *context, uint64_t segment)
{
	struct worker *worker = context;

	assert_true(worker->done == 0 || segment > worker->last);
	worker->last = segment;
	worker->done++;
	usleep(100);
	return NULL;
}

struct asked {
	pthread_t thread;
	unsigned count;
	unsigned yes_from;
	bool is_by_other;
};

static bool is_interrupted(void *context)
{
	struct asked *asked = context;

	asked->is_by_other |= !pthread_equal(pthread_self(), asked->thread);
	return ++asked->count >= asked->yes_from;
}

static uint64_t done_by(const struct worker *workers)
{
	uint64_t done = 0;

	for (size_t i = 0; i < WORKERS; i++)
		done += workers[i].done;
	return done;
}

static void every_segment_is_swept_once(void **state)
{
	const struct sweep_limits limits = { .thread_count = WORKERS };
	struct worker workers[WORKERS] = { 0 };

	(void)state;
	assert_int_equal(sweep_workers(&limits, SEGMENTS), WORKERS);
	assert_int_equal(sweep_workers(&limits, 2), 2);
	assert_null(sweep_run(&limits, SEGMENTS, work, workers, sizeof(*workers), WORKERS));
	assert_int_equal(done_by(workers), SEGMENTS);
}

static void only_who_sweeps_is_asked_and_all_give_up(void **state)
{
	struct asked asked = { .thread = pthread_self(), .yes_from = 5 };
	const struct sweep_limits limits = { .thread_count = WORKERS,
					     .is_interrupted = is_interrupted,
					     .context = &asked };
	struct worker workers[WORKERS] = { 0 };
	struct err *err = sweep_run(&limits, SEGMENTS, work, workers, sizeof(*workers), WORKERS);

	(void)state;
	assert_non_null(err);
	assert_int_equal(err_code_of(err), ERR_STATE);
	assert_string_equal(err_message(err), "interrupted");
	assert_false(asked.is_by_other);
	assert_int_equal(asked.count, 5);
	assert_int_equal(workers[0].done, 4);
	assert_true(done_by(workers) < SEGMENTS);
	err_destroy(err);
}

static void who_is_cancelled_or_late_gives_up(void **state)
{
	const bool cancel = true;
	const struct sweep_limits cancelled = { .cancel = &cancel };
	const struct sweep_limits late = { .deadline_ns = 1 };
	struct worker workers[1] = { 0 };
	struct err *err = sweep_run(&cancelled, SEGMENTS, work, workers, sizeof(*workers), 1);

	(void)state;
	assert_int_equal(err_code_of(err), ERR_STATE);
	err_destroy(err);
	err = sweep_run(&late, SEGMENTS, work, workers, sizeof(*workers), 1);
	assert_int_equal(err_code_of(err), ERR_LIMIT);
	err_destroy(err);
	assert_int_equal(workers[0].done, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_segment_is_swept_once),
		cmocka_unit_test(only_who_sweeps_is_asked_and_all_give_up),
		cmocka_unit_test(who_is_cancelled_or_late_gives_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
