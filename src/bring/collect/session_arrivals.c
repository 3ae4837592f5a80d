/*
 * Processes of a session that say that they are there. A tape that is new is heard of as well, but its process
 * may be gone by then, and with its number nothing is to be had any more. A connection keeps its process:
 * the kernel makes a pidfd of it (Linux 6.5), from 6.16 on also of one that was waited for.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"
#include "collect/ctl_name.h"
#include "collect/session_members.h"
#include "core/hash.h"
#include "tape/tape_spool.h"

enum {
	PEER_PIDFD = 77, /* SO_PEERPIDFD of newer headers */
	NAME_BYTES = 256,
	WAITING_MAX = 4096
};

void session_members_listen(struct session_members *members, const char *folder)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	size_t bytes;

	if (fd < 0)
		return;
	str_format(name.sun_path + 1, sizeof(name.sun_path) - 1, TAPE_SESSION_SOCKET "%016" PRIx64,
		   hash_bytes(folder, strlen(folder), 0));
	bytes = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name.sun_path + 1);
	if (bind(fd, (const struct sockaddr *)&name, (socklen_t)bytes) < 0 ||
	    listen(fd, WAITING_MAX) < 0) {
		close(fd);
		return;
	}
	members->listening_fd = fd;
	members->is_listening = true;
}

static bool is_tape(const char *name, ssize_t bytes)
{
	static const char suffix[] = ".mtape";
	const size_t end = sizeof(suffix) - 1;

	return bytes > (ssize_t)end && strlen(name) == (size_t)bytes && !strchr(name, '/') &&
	       strcmp(name + (size_t)bytes - end, suffix) == 0;
}

static void arrival_take(struct session_members *members, int fd)
{
	char name[NAME_BYTES];
	struct ucred other = { .pid = 0 };
	socklen_t other_bytes = sizeof(other), bytes = sizeof(int);
	const ssize_t count = recv(fd, name, sizeof(name) - 1, MSG_DONTWAIT);
	int pidfd;

	name[count > 0 ? count : 0] = '\0';
	if (!is_tape(name, count) || !ctl_is_trusted(fd) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &other_bytes) < 0 || other.pid <= 0 ||
	    getsockopt(fd, SOL_SOCKET, PEER_PIDFD, &pidfd, &bytes) < 0)
		return;
	if (members->living.count >= members->limit)
		session_members_end(members);
	session_members_arrived(members, name, other.pid, pidfd);
}

static void listening_end(struct session_members *members)
{
	close(members->listening_fd);
	members->is_listening = false;
}

void session_members_take(struct session_members *members)
{
	while (members->is_listening) {
		CLEAN(close) int fd = accept4(members->listening_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0 && errno != EAGAIN && errno != EINTR)
			listening_end(members); /* else it would be found ready for ever */
		if (fd < 0)
			return;
		arrival_take(members, fd);
	}
}
