#include "sums/sweep.h"

#include "base/monotonic.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

struct sweep {
	struct err *(*work)(void *worker, uint64_t segment);
	uint64_t segment_count;
	uint64_t next;	 /* the next unclaimed segment; atomic */
	bool has_failed; /* atomic */
};

struct thread {
	struct sweep *sweep;
	const struct sweep_limits *limits;
	void *worker;
	struct err *err;
	pthread_t id;
};

struct err *sweep_check(const struct sweep_limits *limits)
{
	if (limits->cancel && __atomic_load_n(limits->cancel, __ATOMIC_RELAXED))
		return err_new(ERR_STATE, "cancelled");
	if (limits->is_interrupted && limits->is_interrupted(limits->context))
		return err_new(ERR_STATE, "interrupted");
	if (limits->deadline_ns == 0 || monotonic_ns() < limits->deadline_ns)
		return NULL;
	return err_new(ERR_LIMIT, "stopped: time limit reached");
}

static size_t processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	return (size_t)u64_max((uint64_t)CPU_COUNT(&set), 1);
}

size_t sweep_workers(const struct sweep_limits *limits, uint64_t segment_count)
{
	const size_t wanted = limits->thread_count ? limits->thread_count : processors();

	return u64_max(u64_min(u64_min(wanted, SWEEP_WORKERS_MAX), segment_count), 1);
}

static void *thread_main(void *context)
{
	struct thread *thread = context;
	struct sweep *sweep = thread->sweep;

	while (!__atomic_load_n(&sweep->has_failed, __ATOMIC_RELAXED)) {
		const uint64_t segment = __atomic_fetch_add(&sweep->next, 1, __ATOMIC_RELAXED);

		if (segment >= sweep->segment_count)
			break;
		thread->err = sweep_check(thread->limits);
		if (!thread->err)
			thread->err = sweep->work(thread->worker, segment);
		if (thread->err)
			__atomic_store_n(&sweep->has_failed, true, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Signals are left to the existing threads. */
static bool thread_start(struct thread *thread)
{
	sigset_t all, before;
	bool has_started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	has_started = pthread_create(&thread->id, NULL, thread_main, thread) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return has_started;
}

struct err *sweep_run(const struct sweep_limits *limits, uint64_t segment_count,
		      struct err *(*work)(void *worker, uint64_t segment), void *workers,
		      size_t worker_bytes, size_t worker_count)
{
	struct sweep sweep = { .work = work, .segment_count = segment_count };
	struct sweep_limits helpers = *limits; /* only this thread calls is_interrupted */
	struct thread threads[SWEEP_WORKERS_MAX];
	struct err *err = NULL;
	size_t started = 1;

	assert(work && workers);
	assert(worker_bytes > 0);
	helpers.is_interrupted = NULL;
	assert(worker_count >= 1);
	assert(worker_count <= SWEEP_WORKERS_MAX);
	for (size_t i = 0; i < worker_count; i++)
		threads[i] = (struct thread) { .sweep = &sweep,
					       .limits = i == 0 ? limits : &helpers,
					       .worker = (char *)workers + i * worker_bytes };
	while (started < worker_count && thread_start(&threads[started]))
		started++; /* fewer threads are fine */
	thread_main(&threads[0]);
	for (size_t i = 1; i < started; i++)
		pthread_join(threads[i].id, NULL);
	for (size_t i = 0; i < started; i++) {
		if (err)
			err_destroy(threads[i].err);
		else
			err = threads[i].err;
	}
	return err;
}
