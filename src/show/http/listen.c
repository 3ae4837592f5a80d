#include "http/listen.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/str.h"

enum { BACKLOG = 64, PORT_TRIES = 16 };

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool address_parse(const char *text, unsigned port, union address *address)
{
	memset(address, 0, sizeof(*address));
	if (inet_pton(AF_INET, text, &address->v4.sin_addr) == 1) {
		address->v4.sin_family = AF_INET;
		address->v4.sin_port = htons((uint16_t)port);
		return true;
	}
	if (inet_pton(AF_INET6, text, &address->v6.sin6_addr) == 1) {
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_port = htons((uint16_t)port);
		return true;
	}
	return false;
}

bool listen_is_loopback(const char *address)
{
	union address parsed;

	if (!address_parse(address, 0, &parsed))
		return false;
	if (parsed.any.sa_family == AF_INET)
		return ntohl(parsed.v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&parsed.v6.sin6_addr);
}

void listener_close(struct listener *listener)
{
	for (size_t i = 0; i < listener->count; i++)
		close(listener->fds[i]);
	if (listener->unix_path)
		unlink(listener->unix_path);
	free(listener->unix_path);
	*listener = (struct listener) { 0 };
}

/* Adds a socket bound to the address; *port_ret is its port. */
static struct err *tcp_add(struct listener *listener, const char *text, unsigned port)
{
	const int on = 1;
	union address address;
	socklen_t len;
	CLEAN(close) int fd = -1;

	if (!address_parse(text, port, &address))
		return err_new(ERR_USAGE, "'%s' is not a numeric address", text);
	len = address.any.sa_family == AF_INET ? sizeof(address.v4) : sizeof(address.v6);
	fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_errno("socket for %s", text);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address.any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, &address.any, len) != 0 || listen(fd, BACKLOG) != 0)
		return err_errno("listen on %s port %u", text, port);
	if (getsockname(fd, &address.any, &len) != 0)
		return err_errno("listen on %s port %u", text, port);
	listener->port = ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port
								: address.v6.sin6_port);
	listener->fds[listener->count++] = steal_fd(&fd);
	return NULL;
}

struct err *listen_address(const char *address, unsigned port, struct listener *listener)
{
	assert(port <= 65535);
	*listener = (struct listener) { 0 };
	return tcp_add(listener, address, port);
}

static struct err *loopback_try(unsigned port, struct listener *listener)
{
	struct err *err = listen_address("127.0.0.1", port, listener);

	if (err)
		return err;
	err = tcp_add(listener, "::1", listener->port);
	if (err && err_errno_of(err) != EADDRINUSE) { /* no IPv6 on this machine */
		err_destroy(err);
		err = NULL;
	}
	if (err)
		listener_close(listener);
	return err;
}

struct err *listen_loopback(unsigned port, struct listener *listener)
{
	struct err *err = loopback_try(port, listener);

	assert(port <= 65535);
	/* A port that is free for IPv4 may be in use for IPv6. */
	for (int i = 0; err && port == 0 && i < PORT_TRIES; i++) {
		err_destroy(err);
		err = loopback_try(port, listener);
	}
	return err;
}

/* Whether it is a socket without a listener. */
static bool is_dead_socket(const struct sockaddr_un *address)
{
	CLEAN(close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat status;

	return fd >= 0 && lstat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode) &&
	       connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
	       errno == ECONNREFUSED;
}

struct err *listen_unix(const char *path, struct listener *listener)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	CLEAN(close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CLEAN(free) char *kept = strdup(path);
	mode_t mask;
	int rc;

	assert(path && *path);
	*listener = (struct listener) { 0 };
	if (fd < 0 || !kept)
		return err_errno("socket");
	if (strlen(path) == 0 || strlen(path) >= sizeof(address.sun_path))
		return err_new(ERR_USAGE, "the path of a socket has 1 to %zu bytes",
			       sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path));
	if (is_dead_socket(&address))
		unlink(path);
	mask = umask(0177); /* never accessible to others, not even briefly */
	rc = bind(fd, (struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (rc != 0)
		return err_errno("listen on %s", path);
	if (listen(fd, BACKLOG) != 0) {
		unlink(path);
		return err_errno("listen on %s", path);
	}
	listener->fds[listener->count++] = steal_fd(&fd);
	listener->unix_path = steal(kept);
	return NULL;
}
