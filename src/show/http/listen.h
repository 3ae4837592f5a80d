/*
 * listen: the server's listening sockets.
 */
#ifndef MEMTAPE_HTTP_LISTEN_H
#define MEMTAPE_HTTP_LISTEN_H

#include "base/err.h"

enum { LISTEN_FDS_MAX = 2 };

struct listener {
	int fds[LISTEN_FDS_MAX];
	size_t count;
	unsigned port;	 /* 0: a unix socket */
	char *unix_path; /* NULL: TCP; removed by listener_close */
};

/* 127.0.0.1 and, if available, ::1, on the same port; 0: any free port. */
struct err *listen_loopback(unsigned port, struct listener *listener);

/* A numeric address of the machine. */
struct err *listen_address(const char *address, unsigned port, struct listener *listener);

/* A socket accessible to this user only; one left by a dead server is replaced. */
struct err *listen_unix(const char *path, struct listener *listener);

void listener_close(struct listener *listener); /* all zeros is fine */
CLEAN_DEFINE_DEINIT(listener_close, struct listener);

/* "127.0.0.1", "::1" etc.: unreachable from other machines. */
bool listen_is_loopback(const char *address);

#endif
