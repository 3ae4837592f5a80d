/*
 * shells: forks while other threads run commands by system(), and so do its children. Prints how many of
 * these ended well; those that hang are ended by a signal.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

enum { THREADS = 6, CHILDREN = 80, SECONDS_MAX = 30 };

static atomic_bool is_over;

static void *runs_commands(void *unused)
{
	while (!atomic_load(&is_over))
		system("");
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];
	int good = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, runs_commands, NULL);
	for (int i = 0; i < CHILDREN; i++) {
		const pid_t pid = fork();
		int status = -1;

		if (pid == 0) {
			alarm(SECONDS_MAX);
			_exit(system("") != 0);
		}
		waitpid(pid, &status, 0);
		good += status == 0;
	}
	atomic_store(&is_over, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", good);
	return good != CHILDREN;
}
