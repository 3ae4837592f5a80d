/* A tree of processes for the app: a child that is killed with 2 MiB, one that ends with 3, and a grandchild. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void live(size_t bytes)
{
	const struct timespec little = { .tv_nsec = 20000000 };
	char *volatile block = malloc(bytes);

	memset(block, 1, bytes);
	for (int i = 0; i < 8; i++, nanosleep(&little, NULL))
		free(malloc(100)); /* the bars are long enough to be seen */
}

int main(void)
{
	pid_t killed;

	free(malloc(1));
	killed = fork();
	if (killed == 0) {
		live(2 << 20);
		pause();
	}
	if (fork() == 0) {
		if (fork() == 0) {
			live(512 << 10);
			_exit(0);
		}
		live(1 << 20);
		wait(NULL);
		_exit(3);
	}
	live(3 << 20);
	kill(killed, SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
