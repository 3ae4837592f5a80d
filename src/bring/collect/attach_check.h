/*
 * attach_check: whether a process can be attached to, of which nothing is changed and no thread is
 * stopped. `memtape attach` and the list of processes ask the same.
 */
#ifndef MEMTAPE_COLLECT_ATTACH_CHECK_H
#define MEMTAPE_COLLECT_ATTACH_CHECK_H

#include "scan/maps.h"
#include "scan/status.h"

/* Why it cannot be, in a word (attach_obstacle_words). */
enum attach_obstacle {
	ATTACH_PRIVILEGES, /* it is another user's, has more privileges, or is not dumpable */
	ATTACH_MACHINE,	   /* its code is another machine's */
	ATTACH_TRACED,
	ATTACH_SECCOMP,
	ATTACH_SHADOW_STACK,
	ATTACH_RECORDED, /* by memtape, since its start */
	ATTACH_ATTACHED, /* to it is already */
	ATTACH_STOPPED,	 /* by SIGSTOP or the like */
	ATTACH_LIBC,	 /* it is statically linked, or its C library is not known */
	ATTACH_GONE,
	ATTACH_OBSTACLES /* none */
};

extern const char *const attach_obstacle_words[]; /* by enum attach_obstacle, NULL at the end */

/* What is known of C libraries, for who looks at many processes; all zeros: nothing yet. */
struct attach_libcs {
	struct {
		uint64_t device, inode;
		bool is_usable;
	} items[8];
	size_t count;
};

/*
 * maps are the process's. ERR_NOT_FOUND, ERR_STATE, ERR_UNSUPPORTED: it cannot be attached to, and
 * why, in words for its user and in *obstacle_ret.
 */
struct err *attach_check(pid_t pid, const struct maps *maps, struct attach_libcs *libcs,
			 enum attach_obstacle *obstacle_ret);

/* The part of it that a thread's status tells. */
struct err *attach_check_status(pid_t pid, const struct status *status,
				enum attach_obstacle *obstacle_ret);

/* The error of a process that is attached to. */
struct err *attach_already(pid_t pid);

/*
 * Nothing can be done in a process that is stopped, by SIGSTOP or the like: the error of one that was
 * to be attached to, or to be let go. NULL from the second: it is not stopped, or is gone.
 */
struct err *attach_stopped(pid_t pid, bool is_attached);
struct err *attach_check_stopped(pid_t pid, bool is_attached);

/* The error if no thread was found, for long, that could do it. */
struct err *attach_no_moment(pid_t pid, bool is_attached);

#endif
