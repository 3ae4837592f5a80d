/*
 * goes_on: what a program has to be able to do when its recording ends in the middle.
 *
 * Four threads allocate, with an argument less often, sizes counting 1 .. 997 over and over, and
 * check their blocks' bytes. It prints a line every 50 ms; "fork" and "thread" on its input make a
 * child and a thread that allocate; at the end of its input it says "done: N", N being the sum of
 * all rounds, and exits with 7; with 99 if a block was not as it was left.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, KEPT = 64, SIZES = 997 };

static atomic_bool is_over, is_bad;
static atomic_ulong rounds;

static bool holds(const unsigned char *block, size_t bytes, unsigned char byte)
{
	for (size_t i = 0; block && i < bytes; i++)
		if (block[i] != byte)
			return false;
	return true;
}

static void *work(void *pause)
{
	unsigned char *kept[KEPT] = { 0 };
	size_t bytes[KEPT] = { 0 };

	for (unsigned long i = 0; !is_over; i++) {
		const size_t at = i % KEPT;

		if (!holds(kept[at], bytes[at], (unsigned char)(i - KEPT)))
			is_bad = true;
		free(kept[at]);
		bytes[at] = i % SIZES + 1;
		kept[at] = malloc(bytes[at]);
		memset(kept[at], (unsigned char)i, bytes[at]);
		rounds++;
		if (i % (pause ? 10 : 100) == 0)
			usleep(1000);
	}
	return NULL;
}

static void fork_one(void)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		for (int i = 0; i < 50000; i++)
			free(malloc(4000));
		_exit(5);
	}
	waitpid(pid, &status, 0);
	printf(WIFEXITED(status) ? "child %d\n" : "killed %d\n",
	       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static void *once(void *unused)
{
	for (int i = 0; i < 50000; i++)
		free(malloc(5000));
	return unused;
}

static bool obey(void)
{
	pthread_t thread;
	char word[32];
	const ssize_t n = read(0, word, sizeof(word) - 1);

	if (n <= 0)
		return false;
	word[n] = '\0';
	if (strcmp(word, "fork\n") == 0)
		fork_one();
	if (strcmp(word, "thread\n") == 0) {
		pthread_create(&thread, NULL, once, NULL);
		pthread_join(thread, NULL);
		printf("thread\n");
	}
	return true;
}

int main(int argc, char **argv)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, argc > 1 ? argv[1] : NULL);
	for (bool goes_on = true; goes_on;) {
		if (poll(&in, 1, 50) > 0)
			goes_on = obey();
		printf("tick\n");
		fflush(stdout);
	}
	is_over = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("done: %lu\n", rounds);
	return is_bad ? 99 : 7;
}
