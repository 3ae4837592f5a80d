/* ctl_name: what both ends of ctl.h's sockets agree on. */
#ifndef MEMTAPE_COLLECT_CTL_NAME_H
#define MEMTAPE_COLLECT_CTL_NAME_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

/* After the NUL byte of an abstract name; the number follows. */
#define CTL_NAME_PREFIX "memtape/"

/* The address for the recorded process of that number; returns its length. */
socklen_t ctl_name(pid_t pid, struct sockaddr_un *name);

/* Whether the process at the other end is of our user, or root's. */
bool ctl_is_trusted(int fd);

#endif
