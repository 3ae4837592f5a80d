#include "scan/snapshot.h"

#include <assert.h>
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "scan/inject.h"

struct err *snapshot_take(struct stop *stop, const struct maps *maps, pid_t *copy_ret)
{
	struct inject_call call = { .number = SYS_clone, .arguments = { CLONE_PARENT | SIGCHLD } };
	struct err *err = inject_call(stop, maps, &call);

	assert(copy_ret);
	if (err)
		return err_wrap(err, "process %d cannot be copied", (int)stop->pid);
	if (call.made <= 0 && call.result == -EINVAL)
		return err_new(ERR_UNSUPPORTED,
			       "process %d is the first of its PID namespace, of which the kernel "
			       "makes no such copy",
			       (int)stop->pid);
	if (call.made <= 0)
		return err_new(ERR_STATE,
			       "process %d cannot be copied: too little memory, or too many "
			       "processes",
			       (int)stop->pid);
	*copy_ret = call.made;
	return NULL;
}

void snapshot_end(pid_t copy)
{
	assert(copy > 0);
	kill(copy, SIGKILL);
	while (waitpid(copy, NULL, __WALL) < 0 && errno == EINTR)
		;
}
