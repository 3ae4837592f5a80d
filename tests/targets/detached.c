/*
 * detached: each thread frees the job that held its own pthread_t, as detached threads do. The job
 * is at the end of a page of its own, so that whoever looks at it afterwards dies; and the thread
 * must find its own name in it. Its creator is known all the same.
 *
 * Must be found:
 *	size 3501: 200 malloc in job_run, freed in job_run
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "target.h"

enum { JOBS = 200, PAGE_BYTES = 4096 };

struct job {
	pthread_t thread;
};

static _Atomic int done_count;

FRAME static void *job_run(void *argument)
{
	struct job *job = argument;

	NEED(pthread_equal(job->thread, pthread_self()));
	NEED(munmap((char *)(job + 1) - PAGE_BYTES, PAGE_BYTES) == 0);
	free(need_block(malloc(3501)));
	atomic_fetch_add(&done_count, 1);
	return NULL;
}

FRAME static void job_begin(const pthread_attr_t *detached)
{
	char *page =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct job *job = (struct job *)(void *)(page + PAGE_BYTES) - 1;

	NEED(page != MAP_FAILED);
	NEED(pthread_create(&job->thread, detached, job_run, job) == 0);
	no_tail_call();
}

int main(void)
{
	pthread_attr_t detached;

	NEED(pthread_attr_init(&detached) == 0);
	NEED(pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED) == 0);
	for (int i = 0; i < JOBS; i++) {
		job_begin(&detached);
		while (atomic_load(&done_count) <= i - 4)
			sched_yield();
	}
	while (atomic_load(&done_count) < JOBS)
		sched_yield();
	puts("detached");
	return 0;
}
