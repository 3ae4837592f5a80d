/*
 * address: HOST:PORT, as text and as sockets.
 */
#ifndef MEMTAPE_GATHER_ADDRESS_H
#define MEMTAPE_GATHER_ADDRESS_H

#include "base/err.h"

enum { ADDRESS_HOST_BYTES = 256, ADDRESS_PORT_BYTES = 6 };

/* As the user wrote it; the host without the brackets of IPv6. */
struct address {
	char host[ADDRESS_HOST_BYTES];
	char port[ADDRESS_PORT_BYTES];
};

#define ADDRESS_PORT_DEFAULT  "8747"
#define ADDRESS_PORT_ANNOUNCE "43512" /* WIRE_ANNOUNCE_PORT, of UDP */

/* "host:port", "[::1]:port", or a host alone, whose port is that. ERR_USAGE: it is none. */
struct err *address_parse(const char *text, const char *port_usual, struct address *address);

/* A socket that listens there, not blocking, and its port if 0 was wanted. */
struct err *address_listen(const struct address *address, int *fd_ret, unsigned *port_ret);

/* The same for datagrams. */
struct err *address_listen_datagrams(const struct address *address, int *fd_ret,
				     unsigned *port_ret);

/*
 * Whether it stands for addresses of this machine alone. An error: no such name. Asks whoever knows
 * names, unless it is a number or `only_numbers`: then a name is taken for one that is.
 */
struct err *address_is_loopback(const struct address *address, bool only_numbers, bool *is_ret);

/*
 * Connects, no longer than until deadline_ns of the monotonic clock; gives_up is asked meanwhile.
 * only_loopback: to no other machine, whatever the name stands for now (ERR_STATE).
 */
struct err *address_connect(const struct address *address, bool only_loopback, uint64_t deadline_ns,
			    bool (*gives_up)(void *context), void *context, int *fd_ret);

#endif
