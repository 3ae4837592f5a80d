/* record-a-daemon.md: allocates ten times a second until SIGTERM. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void *request_serve(void)
{
	void *session = malloc(2000);

	memset(session, 1, 2000);
	return session;
}

int main(void)
{
	void *sessions[100];

	signal(SIGTERM, stop);
	for (int i = 0; !stopped; i = (i + 1) % 100) {
		sessions[i] = request_serve();
		usleep(10000);
	}
	return sessions[0] == NULL;
}
