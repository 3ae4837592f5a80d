/*
 * status: what the kernel says of a thread, /proc/PID/task/TID/status.
 */
#ifndef MEMTAPE_SCAN_STATUS_H
#define MEMTAPE_SCAN_STATUS_H

#include <sys/types.h>

#include "core/core.h"

struct status {
	char text[8192]; /* "" where it cannot be read: the thread is gone */
};

/* False: it cannot be read. The line of groups may lack its first ones. */
bool status_read(struct status *status, pid_t pid, pid_t tid);

/* The number behind a name such as "SigCgt"; missing if there is no such line. */
uint64_t status_number(const struct status *status, const char *name, int base, uint64_t missing);

/* Whether the line of that name has the word, as in a list with blanks. */
bool status_has_word(const struct status *status, const char *name, const char *word);

/* It is stopped, by SIGSTOP or from its terminal, and not by who traces it. */
bool status_is_stopped(const struct status *status);

/* It has ended and somebody is to see that: so, too, a first thread that the others outlive. */
bool status_is_dead(const struct status *status);

#endif
