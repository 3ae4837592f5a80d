/*
 * Programs with one planted cause among memory that is as it should be. The cause is the line with
 * the words "the cause"; tests/e2e/planted.py reads it there. Beside it is what may not be named:
 * tables built at the start, caches that evict, buffers of stdio, what runtimes keep.
 *
 * They are compiled as users do, with -O2 -g. Those that grow run for two and a half seconds: a
 * shorter program only builds up what it works with.
 */
#ifndef TARGETS_CAUSES_PACE_H
#define TARGETS_CAUSES_PACE_H

#include <time.h>

enum { PACE_MS = 2500 };

/*
 * Rounds spread evenly over the run, by the clock: who has been kept waiting catches up. How late a
 * round was at most is printed at the end: on a busy machine a test runs the program once more.
 */
class Pace
{
      public:
	explicit Pace(long rounds) : step_ns(PACE_MS * 1000000L / rounds)
	{
		clock_gettime(CLOCK_MONOTONIC, &next);
	}

	void wait()
	{
		next.tv_nsec += step_ns;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
		note_lateness();
	}

	long late_ms() const
	{
		return late_ns / 1000000;
	}

      private:
	void note_lateness()
	{
		struct timespec now;
		long ns;

		clock_gettime(CLOCK_MONOTONIC, &now);
		ns = (now.tv_sec - next.tv_sec) * 1000000000 + now.tv_nsec - next.tv_nsec;
		late_ns = ns > late_ns ? ns : late_ns;
	}

	struct timespec next;
	long late_ns = 0;
	long step_ns;
};

#endif
