/*
 * top_recorder: who records a tape that memtape top shows, and is asked to bring it up to date
 * (collect/ctl.h).
 */
#ifndef MEMTAPE_CLI_TOP_RECORDER_H
#define MEMTAPE_CLI_TOP_RECORDER_H

#include <sys/types.h>

#include "collect/ctl.h"

/* The tape of process pid. ERR_NOT_FOUND: it is not recorded. *path_ret is the caller's (free). */
struct err *top_recorder_tape(pid_t pid, char **path_ret);

/*
 * Everything recorded is on the tape from now on. False: nobody records the process, or on another tape;
 * then the reply has no meaning.
 */
bool top_recorder_shows(const char *tape_path, pid_t pid, struct ctl_reply *reply);

/* The same before a tape is read for the first time. Errors: those of capture_open. */
struct err *top_recorder_show_first(const char *path);

#endif
