#include "cli/top_recorder.h"

#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"

static struct err *show(pid_t pid, enum ctl_command command, struct ctl_reply *reply)
{
	const struct ctl_request request = { .magic = CTL_MAGIC,
					     .version = CTL_VERSION,
					     .command = command,
					     .heuristics = CTL_USUAL };

	return ctl_call(pid, &request, reply, NULL);
}

struct err *top_recorder_tape(pid_t pid, char **path_ret)
{
	struct ctl_reply reply;
	struct err *err = show(pid, CTL_STATUS, &reply);

	if (err && err_code_of(err) == ERR_NOT_FOUND) {
		err_destroy(err);
		return err_new(ERR_NOT_FOUND,
			       "process %d is not being recorded; `memtape attach %d` records it "
			       "from now on, `memtape attach --list` shows what can be recorded",
			       (int)pid, (int)pid);
	}
	if (err)
		return err;
	*path_ret = strdup(reply.tape_path);
	return *path_ret ? NULL : err_nomem();
}

bool top_recorder_shows(const char *tape_path, pid_t pid, struct ctl_reply *reply)
{
	CLEAN(free) char *path = realpath(tape_path, NULL);
	struct err *err = show(pid, CTL_SHOW, reply);
	const bool is_it =
		!err && reply->is_recording && path && strcmp(reply->tape_path, path) == 0;

	err_destroy(err);
	return is_it;
}

struct err *top_recorder_show_first(const char *path)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct ctl_reply reply;
	struct err *err = capture_open(path, &capture);

	if (!err)
		err_destroy(show((pid_t)capture_header(capture)->pid, CTL_SHOW, &reply));
	return err;
}
