/*
 * rss-higher-than-the-heap.md: requests that are parsed into many small nodes, all at once in
 * memory, and of each a session is kept. The nodes are freed, the sessions lie between them. With
 * an argument sessions are taken from an array of their own.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REQUESTS = 2000, NODES = 200, NODE_BYTES = 150, SESSION_BYTES = 64 };

struct request {
	void *nodes[NODES];
	void *session;
};

static char *pool;

static void *session_create(size_t number)
{
	void *session = pool ? pool + number * SESSION_BYTES : malloc(SESSION_BYTES);

	return memset(session, 1, SESSION_BYTES);
}

static void request_parse(struct request *request, size_t number)
{
	for (size_t i = 0; i < NODES; i++) {
		request->nodes[i] = memset(malloc(NODE_BYTES), 1, NODE_BYTES);
		if (i == NODES / 2)
			request->session = session_create(number);
	}
}

static void request_finish(struct request *request)
{
	for (size_t i = 0; i < NODES; i++)
		free(request->nodes[i]);
}

int main(int argc, char **argv)
{
	static struct request requests[REQUESTS];

	(void)argv;
	if (argc > 1)
		pool = malloc((size_t)REQUESTS * SESSION_BYTES);
	for (size_t i = 0; i < REQUESTS; i++)
		request_parse(&requests[i], i);
	for (size_t i = 0; i < REQUESTS; i++)
		request_finish(&requests[i]);
	nanosleep(&(struct timespec) { .tv_nsec = 300000000 }, NULL);
	return 0;
}
