/*
 * process_fd: a descriptor of a process that is no child of ours. While it is open the process's number may
 * become somebody else's, but what is asked here is asked of this process: it is a pidfd, or before Linux 5.3 the
 * process's folder of /proc, of which nobody is told when the process ends. Closed by close(). Thread-safe.
 */
#ifndef MEMTAPE_HOST_PROCESS_FD_H
#define MEMTAPE_HOST_PROCESS_FD_H

#include <stdbool.h>
#include <sys/types.h>

/* -1: errno; ESRCH: there is no such process. */
int process_fd_open(pid_t pid);

/* Whether it has ended, with all its threads; also one that nobody has waited for yet. */
bool process_fd_has_ended(int fd);

/* Whether its number is its own still: it lives, or has not been waited for. */
bool process_fd_has_number(int fd);

/* What to give to poll(), which then returns when it ends; -1: there is nothing that would. */
int process_fd_polled(int fd);

#endif
