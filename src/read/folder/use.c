#include "folder/use.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/file.h"
#include "base/str.h"
#include "tape/tape_spool.h"

static bool process_lives(uint32_t pid)
{
	return pid > 0 && pid <= INT32_MAX && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* keeps: as long as fd is open. */
static bool is_open_for_writing(int fd, const struct tape_header *header, bool keeps)
{
	fcntl(fd, F_SETSIG, SIGURG); /* that it is wanted back must not end us */
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		if (!keeps)
			fcntl(fd, F_SETLEASE, F_UNLCK);
		return false;
	}
	if (errno == EAGAIN)
		return true;
	return header && header->kind == TAPE_KIND_RAW && process_lives(header->pid);
}

bool use_is_written(int fd, const struct tape_header *header, const char *path)
{
	CLEAN(str_deinit) struct str name = { 0 };
	CLEAN(close) int spool = -1;

	if (header->kind == TAPE_KIND_RAW)
		return is_open_for_writing(fd, header, false);
	if (!(header->flags & TAPE_FLAG_RECORDING))
		return false;
	if (file_is_locked(fd))
		return true;
	str_printf(&name, "%s" TAPE_SPOOL_SUFFIX, path);
	if (!name.failed)
		spool = open(name.ptr, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return spool >= 0 && (file_is_locked(spool) || is_open_for_writing(spool, NULL, false));
}

struct err *use_take(int fd, const struct tape_header *header)
{
	if (!file_lock(fd))
		return err_new(ERR_STATE, "it is locked: it is being written or received");
	if (is_open_for_writing(fd, header, true))
		return err_new(ERR_STATE, "it is being written");
	return NULL;
}
