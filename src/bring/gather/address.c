#include "gather/address.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/monotonic.h"
#include "base/str.h"

enum { BACKLOG = 128, ASK_MS = 100 };

CLEAN_DEFINE(freeaddrinfo, struct addrinfo *);

struct err *address_parse(const char *text, const char *port_usual, struct address *address)
{
	const bool is_bracketed = text[0] == '[';
	const char *host = text + is_bracketed;
	const char *end = is_bracketed ? strchr(host, ']') : strrchr(host, ':');
	const char *rest = end ? end + is_bracketed : host + strlen(host);
	const size_t host_len = (size_t)((end ? end : rest) - host);
	uint64_t port;

	if ((is_bracketed && !end) || (*rest && *rest != ':') ||
	    !str_parse_u64(*rest ? rest + 1 : port_usual, &port) || port > UINT16_MAX)
		return err_new(ERR_USAGE, "%s is not HOST:PORT", text);
	if (host_len == 0 || host_len >= sizeof(address->host))
		return err_new(ERR_USAGE, "%s is not HOST:PORT", text);
	if (!is_bracketed && memchr(host, ':', host_len))
		return err_new(ERR_USAGE, "%s: an address of IPv6 is written [::1]:PORT", text);
	memcpy(address->host, host, host_len);
	address->host[host_len] = '\0';
	str_format(address->port, sizeof(address->port), "%u", (unsigned)port);
	return NULL;
}

static struct err *address_find(const struct address *address, int flags, struct addrinfo **found)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_family = AF_UNSPEC,
					.ai_flags = AI_NUMERICSERV | flags };
	const int rc = getaddrinfo(address->host, address->port, &hints, found);

	return rc ? err_new(ERR_NOT_FOUND, "%s: %s", address->host, gai_strerror(rc)) : NULL;
}

static bool is_loopback(const struct sockaddr *any)
{
	if (any->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)any)->sin_addr.s_addr) >>
			       24 ==
		       127;
	return any->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)any)->sin6_addr);
}

struct err *address_is_loopback(const struct address *address, bool only_numbers, bool *is_ret)
{
	CLEAN(freeaddrinfo) struct addrinfo *found = NULL;
	struct err *err = address_find(address, only_numbers ? AI_NUMERICHOST : 0, &found);
	bool is = true;

	if (err && only_numbers) {
		err_destroy(err);
		err = NULL;
	}
	for (const struct addrinfo *at = found; at; at = at->ai_next)
		is &= is_loopback(at->ai_addr);
	if (!err)
		*is_ret = is;
	return err;
}

static struct err *listen_as(int type, const struct address *address, int *fd_ret,
			     unsigned *port_ret)
{
	CLEAN(freeaddrinfo) struct addrinfo *found = NULL;
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} own;
	socklen_t len = sizeof(own);
	const int on = 1;
	CLEAN(close) int fd = -1;
	struct err *err = address_find(address, AI_PASSIVE, &found);

	if (err)
		return err;
	fd = socket(found->ai_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_errno("socket");
	if (type == SOCK_STREAM)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, found->ai_addr, found->ai_addrlen) != 0 ||
	    (type == SOCK_STREAM && listen(fd, BACKLOG) != 0) ||
	    getsockname(fd, &own.any, &len) != 0)
		return err_errno("listen on %s port %s", address->host, address->port);
	*port_ret = ntohs(own.any.sa_family == AF_INET ? own.v4.sin_port : own.v6.sin6_port);
	*fd_ret = steal_fd(&fd);
	return NULL;
}

struct err *address_listen(const struct address *address, int *fd_ret, unsigned *port_ret)
{
	return listen_as(SOCK_STREAM, address, fd_ret, port_ret);
}

struct err *address_listen_datagrams(const struct address *address, int *fd_ret, unsigned *port_ret)
{
	return listen_as(SOCK_DGRAM, address, fd_ret, port_ret);
}

/* Waits until fd is connected, or not. */
static int connect_wait(int fd, uint64_t deadline_ns, bool (*gives_up)(void *context),
			void *context)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error = 0;

	while (poll(&poll_fd, 1, ASK_MS) <= 0) {
		if (gives_up(context))
			return ECANCELED;
		if (monotonic_ns() >= deadline_ns)
			return ETIMEDOUT;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
		return errno;
	return error;
}

struct err *address_connect(const struct address *address, bool only_loopback, uint64_t deadline_ns,
			    bool (*gives_up)(void *context), void *context, int *fd_ret)
{
	CLEAN(freeaddrinfo) struct addrinfo *found = NULL;
	struct err *err = address_find(address, AI_ADDRCONFIG, &found);
	int error = 0;

	assert(gives_up);
	if (err)
		return err;
	for (const struct addrinfo *at = found; at; at = at->ai_next) {
		CLEAN(close) int fd = -1;

		if (only_loopback && !is_loopback(at->ai_addr))
			return err_new(ERR_STATE, "%s is another machine, and there is no token",
				       address->host);
		fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			return err_errno("socket");
		error = connect(fd, at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
		if (error == EINPROGRESS)
			error = connect_wait(fd, deadline_ns, gives_up, context);
		if (error == 0) {
			*fd_ret = steal_fd(&fd);
			return NULL;
		}
	}
	return err_errno_new(error, "connect to %s port %s", address->host, address->port);
}
