/*
 * A recording that is paused and resumed: what must be on the tape is said at each step. Without
 * arguments the program pauses; "storm SECONDS THREADS [US BETWEEN CALLS]" allocates and frees in threads, and frees all
 * at its end (0 seconds: until its input ends); "zero" looks at the bytes of new and freed blocks; "wait" allocates between lines of its
 * input; "fork" pauses and forks.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <memtape/memtape.h>

#define NOINLINE __attribute__((noipa))
enum { COUNT = 100 };

NOINLINE static void *before(size_t bytes)
{
	void *volatile block = malloc(bytes);
	return block;
}
NOINLINE static void *during(size_t bytes)
{
	void *volatile block = malloc(bytes);
	return block;
}
NOINLINE static void *after(size_t bytes)
{
	void *volatile block = malloc(bytes);
	return block;
}
NOINLINE static void *reused(size_t bytes)
{
	void *volatile block = malloc(bytes);
	return block;
}
NOINLINE static void *grown(void *block, size_t bytes)
{
	void *volatile other = realloc(block, bytes);

	return other;
}

/*
 * On the tape: 100 of 1001 bytes, of which 40 stay, 50 are freed and 10 become 1501 bytes; nothing of
 * the pause; 100 of 3001 bytes, of which 50 stay; one of 1401 bytes, whose address the pause
 * reuses.
 */
static int pauses(void)
{
	static void *early[COUNT], *hidden[COUNT], *late[COUNT];

	for (int i = 0; i < COUNT; i++)
		early[i] = before(1001);
	free(reused(1401));
	memtape_pause();
	memtape_pause();
	free(reused(1401)); /* the same address */
	for (int i = 0; i < COUNT; i++)
		hidden[i] = during(2001), free(calloc(3, 667));
	for (int i = 0; i < 50; i++)
		free(early[i]);
	for (int i = 50; i < 60; i++)
		early[i] = grown(early[i], 1501);
	for (int i = 0; i < 10; i++)
		hidden[i] = grown(hidden[i], 2501);
	free(realloc(realloc(NULL, 10), 4000));
	memtape_resume();
	memtape_resume();
	for (int i = 0; i < COUNT; i++)
		late[i] = after(3001);
	for (int i = 0; i < 50; i++)
		free(late[i]), free(hidden[i]);
	return 0;
}

static volatile int is_over;
static unsigned storm_pause_us;

static void *storm_thread(void *seed_)
{
	unsigned seed = (unsigned)(size_t)seed_;
	void *blocks[512] = { NULL };

	while (!is_over) {
		if (storm_pause_us)
			usleep(storm_pause_us);
		void **block = &blocks[(seed = seed * 1103515245 + 12345) >> 16 & 511];

		if (*block && (seed & 8))
			*block = grown(*block, (seed >> 8 & 1023) + 1);
		else if (*block)
			free(*block), *block = NULL;
		else
			*block = before((seed >> 8 & 1023) + 1);
	}
	for (int i = 0; i < 512; i++)
		free(blocks[i]);
	return NULL;
}

static int storm(double seconds, int count)
{
	const struct timespec time = { (time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9) };
	pthread_t threads[16];
	char byte;

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, storm_thread, (void *)(size_t)(i + 1));
	puts("begun"), fflush(stdout);
	if (seconds > 0)
		nanosleep(&time, NULL);
	else
		while (read(STDIN_FILENO, &byte, 1) > 0)
			;
	is_over = 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	puts("over");
	return 0;
}

static int nonzero(const unsigned char *bytes, size_t count)
{
	int found = 0;

	for (size_t i = 0; i < count; i++)
		found += bytes[i] != 0;
	return found;
}

/* "fresh 0 grown 0 freed 0": with --zero-memory all of it is zero. */
static int zero(void)
{
	unsigned char *block, *kept[64];
	int fresh = 0, more = 0, freed;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 64; i++) {
			kept[i] = before(500);
			fresh += nonzero(kept[i], 500);
			memset(kept[i], 0xab, 500);
		}
		for (int i = 0; i < 64; i++)
			free(kept[i]);
	}
	block = before(1000);
	memset(block, 0xab, 1000);
	block = grown(block, 100);
	block = grown(block, 3000);
	more = nonzero(block + 104, 2896);
	memset(block, 0xab, 3000);
	free(block);
	freed = nonzero(block + 32, 2000); /* but for the links of the allocator's list */
	printf("fresh %d grown %d freed %d\n", fresh, more, freed > 0);
	return 0;
}

static int wait_for_lines(void)
{
	char line[64];

	puts("ready"), fflush(stdout);
	for (size_t bytes = 1000; fgets(line, sizeof(line), stdin); bytes += 1000) {
		before(bytes);
		puts("done"), fflush(stdout);
	}
	return 0;
}

static int forks(void)
{
	int status = 0;
	pid_t pid;

	before(1001);
	memtape_pause();
	pid = fork();
	if (pid == 0) {
		during(2001);
		memtape_resume();
		after(3001);
		exit(3);
	}
	during(2002);
	waitpid(pid, &status, 0);
	memtape_resume();
	after(3002);
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return pauses();
	if (argc > 4)
		storm_pause_us = (unsigned)atoi(argv[4]);
	if (strcmp(argv[1], "storm") == 0)
		return storm(atof(argv[2]), atoi(argv[3]));
	if (strcmp(argv[1], "zero") == 0)
		return zero();
	return strcmp(argv[1], "wait") == 0 ? wait_for_lines() : forks();
}
