/*
 * rate: allocates and frees at a rate, and keeps one block in a hundred.
 *
 *	rate EVENTS_PER_SECOND SECONDS [EVENTS]
 *
 * EVENTS: as fast as it can before that.
 */
#include <stdlib.h>
#include <time.h>

#define FRAME __attribute__((noinline, noclone))

static void *volatile last;

FRAME static void keep(void)
{
	last = malloc(100);
}

FRAME static void use(int depth)
{
	if (depth > 0) {
		use(depth - 1);
		__asm__ volatile("");
		return;
	}
	last = malloc(64);
	free(last);
}

static void act(long count)
{
	use((int)(count / 2 % 8));
	if (count % 200 == 0)
		keep();
}

int main(int argc, char **argv)
{
	enum { STEPS = 100 };
	const long rate = argc > 1 ? atol(argv[1]) : 1000;
	const long seconds = argc > 2 ? atol(argv[2]) : 10;
	const long first = argc > 3 ? atol(argv[3]) : 0;
	long count = 0;

	for (; count < first; count += 2)
		act(count);
	count = 0;
	for (long step = 0; step < seconds * STEPS; step++) {
		for (; count * STEPS < (step + 1) * rate; count += 2)
			act(count);
		nanosleep(&(struct timespec) { .tv_nsec = 1000000000 / STEPS }, NULL);
	}
	return 0;
}
