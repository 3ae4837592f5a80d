/*
 * events: N allocation events of 8 threads, the same every time but for their interleaving.
 *
 *	events N [THREADS [DEPTH [TURNS]]]
 *
 * What an analysis has to cope with: some fifteen thousand call stacks of very unequal use, sizes
 * from 1 byte to 256 KiB with most below 200, lifetimes from none to the whole run (most are short,
 * and a few blocks of each thread stay), growing reallocs, and blocks that another thread frees.
 *
 * TURNS, 1 if not given, is how many of 8 calls of the more frequent function are of the other one:
 * with 3 and a DEPTH of 18 the call tree of 10^8 events has two million nodes.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 64, KEPT = 1 << 15, SHARED = 1 << 10 };

static unsigned levels = 12, turns = 1;

struct worker {
	pthread_t thread;
	uint64_t state;
	uint64_t rest; /* events to go */
	void *kept[KEPT];
};

static struct worker workers[THREADS_MAX];
static _Atomic(void *) shared[SHARED];

static uint64_t next(struct worker *worker)
{
	worker->state ^= worker->state << 13;
	worker->state ^= worker->state >> 7;
	worker->state ^= worker->state << 17;
	return worker->state;
}

/* Of 64: 40 small, 16 up to 200 bytes, 7 up to 4 KiB, 1 up to 8 KiB, and rarely 256 KiB. */
static size_t some_size(uint64_t random)
{
	unsigned kind = random & 63;

	random >>= 6;
	if (kind < 40)
		return 1 + random % 64;
	if (kind < 56)
		return 1 + random % 200;
	if (kind < 63)
		return 1 + random % 4096;
	return 1 + random % (random >> 40 & 255 ? 1 << 13 : 1 << 18);
}

static void *checked(void *block)
{
	if (!block)
		abort();
	return block;
}

/* A place in kept: half of all choices fall on 64 places, so that most blocks end soon. */
static size_t some_place(uint64_t random)
{
	unsigned kind = random & 15;

	random >>= 4;
	if (kind < 8)
		return random % 64;
	if (kind < 14)
		return random % 2048;
	return random % KEPT;
}

static __attribute__((noinline)) void work(struct worker *worker, uint64_t random)
{
	void **place = &worker->kept[some_place(random)];
	size_t size = some_size(random >> 20);
	void *block;

	if ((random >> 56) < 60) { /* temporary */
		free(checked(malloc(size)));
		worker->rest -= 2;
	} else if ((random >> 56) < 80 && *place) {
		*place = checked(realloc(*place, size * 2));
		worker->rest -= 2;
	} else if ((random >> 56) < 90) { /* for somebody else to free */
		block = atomic_exchange(&shared[random % SHARED], checked(calloc(1, size)));
		worker->rest -= block ? 2 : 1;
		free(block);
	} else {
		worker->rest -= *place ? 2 : 1;
		free(*place);
		*place = checked(malloc(size));
	}
	__asm__ volatile(""); /* or the last call would become a jump */
}

/* Ways down: at each level one of two functions, by one of two call sites; the first are taken
 * more. */
static __attribute__((noinline)) void way_a(struct worker *worker, unsigned depth, uint64_t bits);

static __attribute__((noinline)) void way_b(struct worker *worker, unsigned depth, uint64_t bits)
{
	if (depth == 0)
		work(worker, next(worker));
	else if ((bits & 7) < 3)
		way_b(worker, depth - 1, bits >> 3);
	else
		way_a(worker, depth - 1, bits >> 3);
	__asm__ volatile("");
}

static __attribute__((noinline)) void way_a(struct worker *worker, unsigned depth, uint64_t bits)
{
	if (depth == 0)
		work(worker, next(worker));
	else if ((bits & 7) < turns)
		way_b(worker, depth - 1, bits >> 3);
	else
		way_a(worker, depth - 1, bits >> 3);
	__asm__ volatile("");
}

static void *run(void *context)
{
	struct worker *worker = context;

	/* a phase of many calls down one way, as loops make them, then another way */
	while ((int64_t)worker->rest > 0) {
		uint64_t bits = next(worker), calls = 1 + (bits >> 40) % 30;

		while (calls-- > 0 && (int64_t)worker->rest > 0)
			way_a(worker, levels, bits);
	}
	for (size_t i = 64; i < KEPT; i++) /* what is left in the first places leaks */
		free(worker->kept[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 8;

	if (argc > 3)
		levels = (unsigned)strtoul(argv[3], NULL, 10);
	if (argc > 4)
		turns = (unsigned)strtoul(argv[4], NULL, 10);
	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	for (unsigned i = 0; i < threads; i++) {
		workers[i].state = 88172645463325252u + i * 7919;
		workers[i].rest = events / threads;
		if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0)
			return 1;
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	return 0;
}
