/*
 * session_members: the processes of a session that live, each held by a descriptor (host/process_fd.h), so
 * that nobody else with their number is taken for them. When one ends the kernel says how: by the pidfd
 * itself (Linux 6.15), else while it is a zombie. It goes to the manifest; what the kernel did not say is never guessed.
 *
 * As many descriptors as recorded processes live, up to a limit; those beyond it end unknown.
 * Internal to collect; of one thread.
 */
#ifndef MEMTAPE_COLLECT_SESSION_MEMBERS_H
#define MEMTAPE_COLLECT_SESSION_MEMBERS_H

#include <sys/types.h>

#include "base/vec.h"

/* Of one tape: a process that becomes another program has several. */
struct session_process {
	char *name; /* of its tape */
	pid_t pid;
	int pidfd;
	uint32_t parent_pid;	     /* when it was seen first, */
	uint64_t start_monotonic_ns; /* as this is its own, not its program's */
	bool is_sure;		     /* it has the tape mapped */
	bool was_looked_at;
	bool is_over; /* its program has ended, or was replaced */
};

VEC_DEFINE(session_processes, struct session_process);

struct session_members {
	struct session_processes living;
	int folder_fd, manifest_fd; /* borrowed */
	bool is_listening;
	int listening_fd; /* session_arrivals.c */
	pid_t first_pid;  /* whose tapes the collector writes itself */
	size_t limit;
	uint64_t usage_due_ns, usage_period_ns; /* session_usage.c */
	uint32_t usage_count;			/* since the period was set */
};

/* The descriptors stay the caller's and outlive it. Undone by session_members_deinit. */
void session_members_init(struct session_members *members, int folder_fd, int manifest_fd,
			  pid_t first_pid);
void session_members_deinit(struct session_members *members); /* all zeros is fine */

/* There is a tape of this name, and so a process. The name's number is the process's. */
void session_members_add(struct session_members *members, const char *tape);

/*
 * session_arrivals.c: processes connect when they begin (rec_follow_tell), and what has connected is
 * found however long after it has ended. From Linux 6.16 on no end is missed that way. Where nobody
 * can connect, those are known that are seen while they are there.
 */
void session_members_listen(struct session_members *members, const char *folder);

/* Those that have connected since. */
void session_members_take(struct session_members *members);

/* A process that has said that the tape is its own. The pidfd is taken. */
void session_members_arrived(struct session_members *members, const char *tape, pid_t pid,
			     int pidfd);

/*
 * Waits until one of two descriptors can be read, or a process has ended, for at most timeout_ms.
 * Either may be -1. stop_ret: that one can.
 */
void session_members_wait(const struct session_members *members, int stop_fd, int inotify_fd,
			  int timeout_ms, bool *stop_ret);

/* Writes how those ended that have. */
void session_members_end(struct session_members *members);

/* The program that wrote the tape has ended, or was replaced by another. */
void session_members_over(struct session_members *members, const char *tape);

/*
 * session_usage.c: writes to the manifest what memory those have whose tape is known to be theirs,
 * if it is time: ten times a second, half as often after each 256 times, and for at most a
 * hundredth of the time.
 */
void session_members_measure(struct session_members *members);

/* Looks whether those are the tapes' own of which that is not sure yet: once each. */
void session_members_check(struct session_members *members);

#endif
