/*
 * listen: the sockets that clients come to.
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

/* 127.0.0.1 and, where there is one, ::1, on the same port; 0: one that is free. */
struct err *listen_loopback(unsigned port, struct listener *listener);

/* An address of the machine in digits. */
struct err *listen_address(const char *address, unsigned port, struct listener *listener);

/* A socket that only this user can open; one that a dead server left is replaced. */
struct err *listen_unix(const char *path, struct listener *listener);

void listener_close(struct listener *listener); /* all zeros is fine */
CLEAN_DEFINE_DEINIT(listener_close, struct listener);

/* "127.0.0.1", "::1" and such: nobody else can reach it. */
bool listen_is_loopback(const char *address);

#endif
