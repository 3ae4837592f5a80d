/*
 * so_far: what has been recorded until a moment, as a tape of its own, while the recording goes on.
 */
#ifndef MEMTAPE_COLLECT_SO_FAR_H
#define MEMTAPE_COLLECT_SO_FAR_H

#include "capture/capture.h"
#include "collect/ctl.h"

/*
 * Writes what was recorded, which ends there with a program that runs. There is nothing of that name
 * yet. level: of the compression.
 */
struct err *so_far_write(const struct capture *capture, const char *output_path, int level);

/*
 * Asks who records process pid for it: the request is CTL_SNAPSHOT and has wants_copy. A file of the
 * name is replaced, if all goes well. Errors: as of ctl_call().
 */
struct err *so_far_snapshot(pid_t pid, const struct ctl_request *request, const char *output_path,
			    int level, struct ctl_reply *reply);

#endif
