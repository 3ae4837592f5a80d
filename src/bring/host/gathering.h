/* gathering: a look being made, and reading files for it. Internal to host. */
#ifndef MEMTAPE_HOST_GATHERING_H
#define MEMTAPE_HOST_GATHERING_H

#include "base/str.h"
#include "host/host.h"
#include "system/cgroup.h"

struct host {
	int root_fd;
	int log_fd; /* of the kernel's log; -1: not opened */
	pid_t subject;
	char *cgroup; /* what /proc/PID/cgroup said last: the process may end; NULL: nothing yet */
	bool is_own;  /* the root is that of this process */
};

/* A look being made. */
struct gathering {
	struct host *host;
	struct arena *arena;
	bool is_last;
	struct look_files files;
};

/* Below the host's root. A descriptor, or -1 and errno. */
int host_file_open(const struct host *host, const char *path, int flags);

/* A regular file's text, up to its first NUL. 0, or errno. */
int host_file_read(const struct host *host, const char *path, struct str *text);

/* One more file of the look: its text, or the error that it could not be read for. */
struct err *gathering_keep(struct gathering *gathering, const char *path, const char *text,
			   int error);

/* The files of a cgroup's directory. */
struct err *gathering_level(struct gathering *gathering, const char *directory, bool is_v1);

/* Of all cgroups below the mount point, those that are nearest to a limit, or where something was killed. */
struct err *gathering_limited(struct gathering *gathering, const struct cgroup_places *own);

#endif
