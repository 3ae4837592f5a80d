/*
 * wander: allocates and frees at random - sizes, lifetimes, functions, threads, realloc chains -
 * the same for the same seed but for the order of threads. What answers are compared about.
 *
 * Arguments: [SEED [STEPS [THREADS]]]
 *
 * Run: 1
 *	size 300001: 10 calloc in anchor, leaked
 *	size 300003: 10 malloc in passing, freed in passing
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "target.h"

enum { SHELF = 256, THREADS_MAX = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *shelf[SHELF]; /* blocks that anyone may free */
static unsigned steps = 4000;

static unsigned draw(uint64_t *state, unsigned below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (unsigned)(*state >> 33) % below;
}

static size_t draw_size(uint64_t *state)
{
	return draw(state, 1u << (4 + draw(state, 12)));
}

FRAME static void *parse_header(uint64_t *state)
{
	return keep(malloc(draw_size(state)));
}

FRAME static void *parse_body(uint64_t *state)
{
	if (draw(state, 3) == 0)
		return keep(parse_header(state));
	return keep(calloc(1 + draw(state, 4), draw_size(state)));
}

FRAME static void *http_get(uint64_t *state)
{
	void *block = draw(state, 2) ? parse_body(state) : parse_header(state);

	return keep(block);
}

FRAME static void *render(uint64_t *state, unsigned depth)
{
	void *block;

	if (depth > 0)
		return keep(render(state, depth - 1));
	if (posix_memalign(&block, 64, draw_size(state)) != 0)
		return NULL;
	return keep(block);
}

/* Realloc chains, some of them kept. */
FRAME static void *grow(uint64_t *state)
{
	unsigned times = draw(state, 6);
	char *block = keep(malloc(8));

	for (unsigned i = 0; i < times; i++)
		block = keep(realloc(block, 8 + draw_size(state)));
	return block;
}

FRAME static void put(uint64_t *state, void *block)
{
	void **place = &shelf[draw(state, SHELF)];
	void *old;

	pthread_mutex_lock(&lock);
	old = *place;
	*place = block;
	pthread_mutex_unlock(&lock);
	if (draw(state, 50) != 0) /* else it leaks */
		free(old);
	no_tail_call();
}

FRAME static void step(uint64_t *state)
{
	switch (draw(state, 8)) {
	case 0:
		free(http_get(state));
		break;
	case 1:
	case 2:
		put(state, http_get(state));
		break;
	case 3:
		put(state, render(state, draw(state, 5)));
		break;
	case 4:
		put(state, grow(state));
		break;
	case 5:
		free(grow(state));
		break;
	case 6:
		put(state, parse_body(state));
		break;
	default:
		if (draw(state, 16) == 0)
			usleep(draw(state, 500));
	}
	no_tail_call();
}

static void *walk(void *arg)
{
	uint64_t state = (uintptr_t)arg;

	for (unsigned i = 0; i < steps; i++)
		step(&state);
	return NULL;
}

FRAME static void anchor(void)
{
	for (int i = 0; i < 10; i++)
		keep(calloc(1, 300001));
}

FRAME static void passing(void)
{
	for (int i = 0; i < 10; i++)
		free(keep(malloc(300003)));
	no_tail_call();
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	unsigned count = argc > 3 ? (unsigned)atoi(argv[3]) : 3;
	pthread_t threads[THREADS_MAX];

	if (argc > 2)
		steps = (unsigned)atoi(argv[2]);
	NEED(count <= THREADS_MAX);
	anchor();
	for (unsigned i = 0; i < count; i++) {
		uintptr_t state = (seed * 1000003 + i) * 2654435761u + 88172645463325252u;
		char name[16];

		NEED(pthread_create(&threads[i], NULL, walk, (void *)state) == 0);
		snprintf(name, sizeof(name), "walker-%u", i);
		pthread_setname_np(threads[i], name);
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	passing();
	return 0;
}
