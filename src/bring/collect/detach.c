#include "collect/detach.h"

#include <signal.h>
#include <time.h>

#include "collect/attach_check.h"
#include "scan/recording.h"

enum { WAIT_MS = 20, ROUNDS_MAX = 500 };

/*
 * The spool, by which its collector is found: ERR_STATE if the process has no recorder of memtape
 * attach. 0: it has one, and no spool, or one whose file is gone.
 */
static struct err *find(pid_t pid, uint64_t *inode_ret)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	CLEAN(recording_close) struct recording recording = { .fd = -1 };
	struct err *err = maps_read_briefly(pid, &maps);

	if (!err && !maps_find_file(&maps, TAPE_ATTACH_LIBRARY) &&
	    !maps_find_file(&maps, TAPE_ATTACH_LIBRARY_MUSL))
		err = err_new(ERR_STATE, "process %d is not attached to", (int)pid);
	if (err)
		return err;
	err = recording_find(pid, &maps, &recording);
	if (err && err_code_of(err) != ERR_NOT_FOUND)
		return err;
	*inode_ret = err ? 0 : recording.inode;
	err_destroy(err);
	return NULL;
}

/* Its collector may not have been able to, and has left what is mapped of the spool. */
static bool is_let_go(pid_t pid, uint64_t inode)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	CLEAN(err_destroy) struct err *err = maps_read_briefly(pid, &maps);

	for (size_t i = 0; !err && i < maps.entries.count; i++)
		if (maps.entries.items[i].is_shared && maps.entries.items[i].inode == inode)
			return false;
	return true;
}

/* Waits until its collector has ended. */
static struct err *ask_collector(pid_t collector, uint64_t inode)
{
	const struct timespec pause = { .tv_nsec = WAIT_MS * 1000 * 1000 };

	if (kill(collector, SIGTERM) < 0)
		return err_errno("memtape attach, process %d", (int)collector);
	for (int i = 0; i < ROUNDS_MAX; i++) {
		if (recording_collector(inode) != collector)
			return NULL;
		nanosleep(&pause, NULL);
	}
	return err_new(ERR_STATE, "memtape attach, process %d, does not answer", (int)collector);
}

struct err *detach(pid_t pid, struct detach_result *result)
{
	uint64_t inode;
	struct err *err = find(pid, &inode);

	*result = (struct detach_result) { 0 };
	if (!err) /* before its collector ends, which would leave it as it is */
		err = attach_check_stopped(pid, true);
	if (err)
		return err;
	result->collector = inode ? recording_collector(inode) : 0;
	if (!result->collector)
		return attach_end(pid, &result->report);
	err = ask_collector(result->collector, inode);
	if (err)
		return err;
	return is_let_go(pid, inode) ? NULL : attach_end(pid, &result->report);
}
