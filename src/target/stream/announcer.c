#include "stream/announcer.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "core/sys.h"

#include "core/poison.h"

enum {
	EVERY_MS = 1000,
	PAUSE_MS = 200,
	PORTS = 101, /* from the one that was asked for on */
	BACKLOG = 8,
	INTERFACES_MAX = 64
};

union place {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t place_bytes(const union place *place)
{
	return place->any.sa_family == AF_INET6 ? sizeof(place->v6) : sizeof(place->v4);
}

/* --- listening ----------------------------------------------------------------------------- */

/* Of our own addresses: all, or the loopback. */
static union place own_place(const struct stream_target *target, uint16_t port)
{
	const bool is_loopback = stream_target_is_loopback(target);
	union place place = { .any.sa_family = AF_UNSPEC };

	if (target->is_v6) {
		place.v6.sin6_family = AF_INET6;
		place.v6.sin6_port = __builtin_bswap16(port);
		place.v6.sin6_addr.s6_addr[15] = is_loopback;
	} else {
		place.v4.sin_family = AF_INET;
		place.v4.sin_port = __builtin_bswap16(port);
		place.v4.sin_addr.s_addr =
			__builtin_bswap32(is_loopback ? INADDR_LOOPBACK : INADDR_ANY);
	}
	return place;
}

static bool listen_at(int fd, const struct stream_target *target, uint16_t port)
{
	const union place place = own_place(target, port);

	return SYS_CALL3(SYS_bind, fd, &place, place_bytes(&place)) == 0 &&
	       SYS_CALL2(SYS_listen, fd, BACKLOG) == 0;
}

/* 0: the kernel does not say. */
static uint16_t port_of(int fd)
{
	union place place = { .any.sa_family = AF_UNSPEC };
	socklen_t len = sizeof(place);

	if (SYS_CALL3(SYS_getsockname, fd, &place, &len) != 0)
		return 0;
	return __builtin_bswap16(place.any.sa_family == AF_INET6 ? place.v6.sin6_port
								 : place.v4.sin_port);
}

/* A socket a port: one that was bound in vain to be listened on cannot be bound again. */
static bool listen_on(struct announcer *announcer, const struct stream_target *target,
		      uint16_t port)
{
	const int on = 1;
	const int fd = (int)SYS_CALL3(SYS_socket, target->is_v6 ? AF_INET6 : AF_INET,
				      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	SYS_CALL5(SYS_setsockopt, fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (listen_at(fd, target, port)) {
		announcer->words.port = port_of(fd);
		announcer->listener = fd;
	}
	if (announcer->words.port && announcer->listener >= 0)
		return true;
	announcer->listener = -1;
	sys_close(fd);
	return false;
}

bool announcer_listen(struct announcer *announcer, const struct stream_target *target)
{
	const unsigned first = target->listen_port;

	if (announcer->listener >= 0 || listen_on(announcer, target, (uint16_t)first))
		return true;
	for (unsigned port = first + 1; first && port < first + PORTS && port <= UINT16_MAX; port++)
		if (listen_on(announcer, target, (uint16_t)port))
			return true;
	return false;
}

void announcer_close(struct announcer *announcer)
{
	if (announcer->listener >= 0)
		sys_close(announcer->listener);
	if (announcer->datagrams >= 0)
		sys_close(announcer->datagrams);
	announcer->listener = announcer->datagrams = -1;
}

/* --- announcing ---------------------------------------------------------------------------- */

/* Where it does not arrive, it may the next time. */
static void say_to(const struct announcer *announcer, const union place *place)
{
	sys_call6(SYS_sendto, announcer->datagrams, (long)&announcer->words,
		  sizeof(announcer->words), MSG_DONTWAIT | MSG_NOSIGNAL, (long)place,
		  place_bytes(place));
}

static void say_to_v4(const struct announcer *announcer, uint32_t address, uint16_t port)
{
	const union place place = { .v4 = { .sin_family = AF_INET,
					    .sin_port = __builtin_bswap16(port),
					    .sin_addr.s_addr = __builtin_bswap32(address) } };

	say_to(announcer, &place);
}

/* What is sent to 255.255.255.255 leaves by one interface: so each one's own address is said, too. */
static void say_everywhere(const struct announcer *announcer, uint16_t port)
{
	struct ifreq rows[INTERFACES_MAX];
	struct ifconf list = { .ifc_len = sizeof(rows), .ifc_req = rows };

	say_to_v4(announcer, INADDR_LOOPBACK | 0xffffff, port);
	say_to_v4(announcer, INADDR_BROADCAST, port);
	if (SYS_CALL3(SYS_ioctl, announcer->datagrams, SIOCGIFCONF, &list) != 0)
		return;
	for (size_t i = 0; i < (size_t)list.ifc_len / sizeof(rows[0]); i++) {
		union place place;
		uint32_t address;

		if (SYS_CALL3(SYS_ioctl, announcer->datagrams, SIOCGIFBRDADDR, &rows[i]) != 0)
			continue;
		memcpy(&place.v4, &rows[i].ifr_broadaddr, sizeof(place.v4));
		address = __builtin_bswap32(place.v4.sin_addr.s_addr);
		if (address != INADDR_ANY && address >> 24 != 127)
			say_to_v4(announcer, address, port);
	}
}

static void say(struct announcer *announcer, const struct stream_target *target)
{
	const int on = 1;
	union place place = own_place(target, target->port);

	if (announcer->datagrams < 0) {
		announcer->datagrams =
			(int)SYS_CALL3(SYS_socket, target->is_v6 ? AF_INET6 : AF_INET,
				       SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (announcer->datagrams < 0)
			return;
		SYS_CALL5(SYS_setsockopt, announcer->datagrams, SOL_SOCKET, SO_BROADCAST, &on,
			  sizeof(on));
	}
	if (target->is_everywhere) {
		say_everywhere(announcer, target->port);
		return;
	}
	if (target->is_v6)
		memcpy(&place.v6.sin6_addr, target->address, 16);
	else
		memcpy(&place.v4.sin_addr, target->address, 4);
	say_to(announcer, &place);
}

void announcer_init(struct announcer *announcer, const uint8_t *page, bool has_token)
{
	struct wire_announcement *words = &announcer->words;

	*announcer = (struct announcer) { .listener = -1, .datagrams = -1 };
	memcpy(words->magic, WIRE_ANNOUNCE_MAGIC, sizeof(words->magic));
	words->version = WIRE_VERSION;
	words->flags = has_token ? WIRE_HAS_TOKEN : 0;
	words->pid = load_u32(page + offsetof(struct tape_header, pid));
	memcpy(words->uuid, page + offsetof(struct tape_header, uuid), sizeof(words->uuid));
}

/* --- waiting ------------------------------------------------------------------------------- */

static uint64_t milliseconds(unsigned ms)
{
	return UINT64_C(1000000) * ms;
}

/* Somebody, or -1: nobody yet. *gives_up_ret: nobody waits for it any more. */
static int somebody(struct announcer *announcer, struct line *line, bool *gives_up_ret)
{
	const uint64_t now_ns = line_now_ns();
	long fd;

	line->fd = announcer->listener; /* what ends the pause */
	*gives_up_ret =
		!line_pause(line, announcer->next_ns > now_ns
					  ? (unsigned)((announcer->next_ns - now_ns) / 1000000 + 1)
					  : 1);
	line->fd = -1;
	if (*gives_up_ret)
		return -1;
	fd = SYS_CALL4(SYS_accept4, announcer->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		return (int)fd;
	/* Ready, and then in vain: at once would be ready again. */
	if (line_now_ns() < announcer->next_ns)
		*gives_up_ret = !line_pause(line, PAUSE_MS);
	return -1;
}

bool announcer_await(struct announcer *announcer, const struct stream_target *target,
		     struct line *line)
{
	bool gives_up = false;

	CHECK(announcer->listener >= 0 && line->fd < 0);
	while (!gives_up) {
		int fd;

		if (line_now_ns() >= announcer->next_ns) {
			say(announcer, target);
			announcer->next_ns = line_now_ns() + milliseconds(EVERY_MS);
		}
		fd = somebody(announcer, line, &gives_up);
		if (fd >= 0) {
			line_take(line, fd);
			return true;
		}
	}
	return false;
}
