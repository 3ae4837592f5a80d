/*
 * child: the recorded program as a process. It is forked first and let go later, so that its pid
 * can be in the tape's name and nothing runs when the tape cannot be made.
 */
#ifndef MEMTAPE_COLLECT_CHILD_H
#define MEMTAPE_COLLECT_CHILD_H

#include <sys/resource.h>

#include "base/arena.h"
#include "collect/program.h"
#include "collect/signals.h"

enum { CHILD_NAME_BYTES = 16 }; /* the kernel's TASK_COMM_LEN */

struct child {
	pid_t pid;
	int gate;   /* closed without a byte: the child ends without running anything */
	int status; /* pipe: an errno when exec failed, end of file when it did not */
	char name[CHILD_NAME_BYTES];	  /* what /proc/PID/comm says from the exec on */
	char last_name[CHILD_NAME_BYTES]; /* what it said at the end: differs after an exec */
	uint64_t own_cpu_ticks;		  /* at the end, of sysconf(_SC_CLK_TCK) a second */
	uint64_t children_cpu_ticks;	  /* of children it has waited for, and theirs */
};

/* One more variable for the program's environment; value replaces an inherited one. */
struct child_variable {
	const char *name;
	const char *value;
};

/* The environment of this process with variables set, in arena; NULL: out of memory. */
char **child_environment(const struct child_variable *variables, size_t count, struct arena *arena);

/* Forks; the child waits. Signals are put back to `signals` in it before the program runs. */
struct err *child_fork(struct child *child, const struct program *program, char *const *environment,
		       const struct signals *signals);

/* Lets it run the program. 0, or the errno of a failed exec; the child is reaped then. */
int child_go(struct child *child);

/* After an exec: what it is called now. */
void child_name_take(struct child *child);

/* Ends a child that was not let go. */
void child_cancel(struct child *child);

enum child_event { CHILD_NOTHING, CHILD_STOPPED, CHILD_CONTINUED, CHILD_ENDED };

/* What happened since the last call, without waiting. usage is set with CHILD_ENDED. */
enum child_event child_poll(struct child *child, int *wait_status_ret, struct rusage *usage_ret);

#endif
