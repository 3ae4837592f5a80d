/*
 * child: the recorded program as a process. It is forked first and released later, so that the
 * tape's name can contain its pid and nothing runs if the tape cannot be created.
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
	int gate;   /* closed without a byte written: the child exits without running anything */
	int status; /* pipe: an errno if exec failed, end of file if it succeeded */
	char name[CHILD_NAME_BYTES];	  /* /proc/PID/comm right after exec */
	char last_name[CHILD_NAME_BYTES]; /* /proc/PID/comm at exit: differs after another exec */
	bool is_adopted;		  /* it is not ours: how it ended is not known */
	int pidfd;			  /* of an adopted one: host/process_fd.h */
	uint64_t own_cpu_ticks;		  /* at exit, in units of 1/sysconf(_SC_CLK_TCK) s */
	uint64_t children_cpu_ticks;	  /* of children it has waited for, and of their children */
};

/* A variable to add to the program's environment; value replaces an inherited one. */
struct child_variable {
	const char *name;
	const char *value;
};

/* This process's environment with the variables set, in arena; NULL: out of memory. */
char **child_environment(const struct child_variable *variables, size_t count, struct arena *arena);

/* Forks; the child waits. Its signals are reset to `signals` before the program runs. */
struct err *child_fork(struct child *child, const struct program *program, char *const *environment,
		       const struct signals *signals);

/* Lets it run the program. Returns 0, or the errno of a failed exec; the child is then reaped. */
int child_go(struct child *child);

/* A process that runs already. Undone by child_let_go. */
struct err *child_adopt(struct child *child, pid_t pid);
void child_let_go(struct child *child);

/* After an exec: updates the name. */
void child_name_take(struct child *child);

/* Ends a child that was not released. */
void child_cancel(struct child *child);

enum child_event {
	CHILD_NOTHING,
	CHILD_STOPPED,
	CHILD_CONTINUED,
	CHILD_TRAPPED, /* stopped for its tracer, us; status: bits 8 to 15 and 16 on, ptrace(2) */
	CHILD_ENDED
};

/*
 * What happened since the last call; does not wait. On CHILD_ENDED usage is set; of an adopted
 * process both are zeros.
 */
enum child_event child_poll(struct child *child, int *wait_status_ret, struct rusage *usage_ret);

#endif
