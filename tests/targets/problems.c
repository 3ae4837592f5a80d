/*
 * problems: one problem for each of the things `memtape report findings` looks for, planted so that
 * its function and its bytes are known, and a program without any.
 *
 * Run: growth
 *	size 4001: 1000 malloc in grow, leaked
 * Run: churn
 *	size 801: 40000 malloc in churn, freed in churn
 * Run: realloc
 *	size 393281: 1 realloc in extend, freed in extend
 * Run: tiny
 *	size 5: 100000 malloc in make_nodes, freed in main
 * Run: huge
 *	size 40000001: 1 malloc in load_all, freed in main
 * Run: foreign
 *	size 301: 20000 malloc in produce, freed in consume
 * Run: spike
 *	size 524321: 64 malloc in burst, freed in burst
 * Run: untouched
 *	size 1048609: 32 calloc in reserve, leaked
 * Run: kept
 *	size 8001: 4000 malloc in work, freed in work
 * Run: swing
 *	size 8001: 80000 malloc in load_again, freed in load_again
 * Run: between
 *	size 49: 800 malloc in describe, leaked
 *	size 60001: 800 malloc in load_images, freed in load_images
 * Run: pinning
 *	size 41: 8000 malloc in remember, leaked
 * Run: mapped
 *	size 401: 100 malloc in map_arenas, leaked
 * Run: lost
 *	size 100001: 40 malloc in lose, leaked
 *	size 90001: 40 malloc in hold, leaked
 * Run: clean
 *	size 401: 3000 malloc in remember_some, freed
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

static void *blocks[100000];

static void wait_ms(long ms)
{
	nanosleep(&(struct timespec) { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

/* No function: who allocates is the one that says it. */
#define touched(bytes) memset(need_block(malloc(bytes)), 1, bytes)

static void free_all(size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(blocks[i]);
	no_tail_call();
}

/* --- one each ------------------------------------------------------------------------------ */

/* By the clock: who has been kept waiting catches up. */
FRAME static void grow(void)
{
	struct timespec when;

	clock_gettime(CLOCK_MONOTONIC, &when);
	for (int i = 0; i < 1000; i++) {
		keep(touched(4001));
		when.tv_nsec += 2200000;
		when.tv_sec += when.tv_nsec / 1000000000;
		when.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
	}
}

FRAME static void churn(void)
{
	for (int i = 0; i < 40000; i++)
		free(need_block(malloc(801)));
	no_tail_call();
}

/* Behind the block is always another one, and no gap is large enough: every step moves it. */
FRAME static void extend(void)
{
	char *block = need_block(malloc(65));

	for (size_t i = 1; i <= 96; i++) {
		blocks[i - 1] = touched(409601);
		block = need_block(realloc(block, 65 + i * 4096));
	}
	free(block);
	free_all(96);
	no_tail_call();
}

/* What is written over it leads nowhere. */
FRAME static void lose(void)
{
	for (size_t i = 0; i < 40; i++)
		blocks[1000] = touched(100001);
	blocks[1000] = NULL;
	no_tail_call();
}

FRAME static void hold(void)
{
	for (size_t i = 0; i < 40; i++)
		blocks[i] = touched(90001);
	no_tail_call();
}

FRAME static void make_nodes(void)
{
	for (size_t i = 0; i < 100000; i++)
		blocks[i] = need_block(malloc(5));
	no_tail_call();
}

FRAME static void load_all(void)
{
	for (size_t i = 1; i < 1000; i++)
		blocks[i] = touched(7001);
	blocks[0] = touched(40000001);
	no_tail_call();
}

FRAME static void *produce(void *unused)
{
	for (size_t i = 0; i < 20000; i++)
		blocks[i] = touched(301);
	return unused;
}

FRAME static void consume(void)
{
	pthread_t thread;

	NEED(pthread_create(&thread, NULL, produce, NULL) == 0);
	NEED(pthread_join(thread, NULL) == 0);
	free_all(20000);
	no_tail_call();
}

FRAME static void burst(void)
{
	wait_ms(600);
	for (size_t i = 0; i < 64; i++)
		blocks[i] = need_block(malloc(524321));
	free_all(64);
	wait_ms(600);
}

FRAME static void reserve(void)
{
	for (size_t i = 0; i < 32; i++)
		keep(need_block(calloc(1, 1048609)));
	wait_ms(900);
}

/* The last block keeps what is before it from being given back. */
FRAME static void work(void)
{
	for (size_t i = 0; i < 4000; i++)
		blocks[i] = touched(8001);
	keep(touched(61));
	wait_ms(400);
	free_all(4000);
	wait_ms(600);
}

FRAME static void load_again(void)
{
	for (size_t i = 0; i < 4000; i++)
		blocks[i] = touched(8001);
	if (!blocks[4000])
		blocks[4000] = touched(61);
	free_all(4000);
}

/* The process of memtape, if that has started this; else none. */
static pid_t memtape_find(void)
{
	char path[64], name[16] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", getppid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read(fd, name, sizeof(name) - 1) < 0)
		name[0] = '\0';
	close(fd);
	return strncmp(name, "memtape", 7) == 0 ? getppid() : 0;
}

/* What is free is needed again soon, but never while memtape looks. */
FRAME static void swing(void)
{
	const pid_t memtape = memtape_find();

	for (int i = 0; i < 20; i++) {
		NEED(!memtape || kill(memtape, SIGSTOP) == 0);
		load_again();
		NEED(!memtape || kill(memtape, SIGCONT) == 0);
		wait_ms(60);
	}
}

FRAME static void describe(void)
{
	keep(touched(49));
	no_tail_call();
}

/* What is kept of each image lies behind it. */
FRAME static void load_images(void)
{
	for (size_t i = 0; i < 800; i++) {
		blocks[i] = touched(60001);
		describe();
	}
	wait_ms(300);
	free_all(800);
	wait_ms(700);
}

FRAME static void remember(size_t at)
{
	keep(touched(41));
	blocks[at] = touched(4001);
}

FRAME static void forget(void)
{
	for (size_t i = 0; i < 8000; i++)
		remember(i);
	wait_ms(500);
	free_all(8000);
	wait_ms(700);
}

/* --- mapped -------------------------------------------------------------------------------- */

FRAME static void map_arenas(void)
{
	const size_t bytes = 1 << 20;

	for (size_t i = 0; i < 40; i++) {
		void *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

		if (arena == MAP_FAILED)
			abort();
		memset(arena, 1, bytes);
	}
	for (size_t i = 0; i < 100; i++)
		keep(touched(401));
	wait_ms(1000);
}

/* --- none ---------------------------------------------------------------------------------- */

FRAME static void remember_some(size_t i)
{
	free(blocks[i % 1000]);
	blocks[i % 1000] = touched(401);
}

/* A table, a vector that doubles, a cache that is full, and work in between. */
static void live_well(void)
{
	size_t capacity = 64, count = 0;
	char *vector = need_block(malloc(capacity));
	void *table = touched(1 << 20);

	for (size_t i = 0; i < 3000; i++) {
		remember_some(i);
		for (; count < i * 40; count++) {
			if (count == capacity)
				vector = need_block(realloc(vector, capacity *= 2));
			vector[count] = 1;
		}
		if (i % 3 == 0)
			wait_ms(1);
	}
	free_all(1000);
	free(vector);
	free(table);
}

int main(int argc, char **argv)
{
	const char *problem = argc > 1 ? argv[1] : "";

	mallopt(M_MMAP_THRESHOLD, strcmp(problem, "realloc") == 0 ? 1 << 26 : 1 << 19);
	if (strcmp(problem, "growth") == 0)
		grow();
	else if (strcmp(problem, "churn") == 0)
		churn();
	else if (strcmp(problem, "realloc") == 0)
		extend();
	else if (strcmp(problem, "tiny") == 0)
		make_nodes(), free_all(100000);
	else if (strcmp(problem, "huge") == 0)
		load_all(), free_all(1000);
	else if (strcmp(problem, "foreign") == 0)
		consume();
	else if (strcmp(problem, "spike") == 0)
		burst();
	else if (strcmp(problem, "untouched") == 0)
		reserve();
	else if (strcmp(problem, "kept") == 0)
		work();
	else if (strcmp(problem, "swing") == 0)
		swing();
	else if (strcmp(problem, "between") == 0)
		load_images();
	else if (strcmp(problem, "mapped") == 0)
		map_arenas();
	else if (strcmp(problem, "pinning") == 0)
		forget();
	else if (strcmp(problem, "lost") == 0)
		lose(), hold();
	else if (strcmp(problem, "clean") == 0)
		live_well();
	else
		return 2;
	no_tail_call();
	return 0;
}
