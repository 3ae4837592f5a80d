#include "collect/attach_check.h"

#include <assert.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "arch/native.h"
#include "scan/exports.h"
#include "scan/objects.h"
#include "scan/recording.h"
#include "scan/safe.h"
#include "scan/stop.h"
#include "tape/tape_attach.h"

const char *const attach_obstacle_words[] = {
	[ATTACH_PRIVILEGES] = "privileges",
	[ATTACH_MACHINE] = "machine",
	[ATTACH_TRACED] = "traced",
	[ATTACH_SECCOMP] = "seccomp",
	[ATTACH_SHADOW_STACK] = "shadow stack",
	[ATTACH_RECORDED] = "recorded",
	[ATTACH_ATTACHED] = "attached",
	[ATTACH_STOPPED] = "stopped",
	[ATTACH_LIBC] = "C library",
	[ATTACH_GONE] = "gone",
	[ATTACH_OBSTACLES] = NULL,
};

struct err *attach_already(pid_t pid)
{
	return err_new(ERR_STATE, "process %d is attached to already; see `memtape detach`",
		       (int)pid);
}

struct err *attach_stopped(pid_t pid, bool is_attached)
{
	if (is_attached)
		return err_new(ERR_STATE,
			       "process %d is stopped (SIGSTOP, Ctrl-Z), so it cannot be let go "
			       "now: `kill -CONT %d`, then `memtape detach %d`",
			       (int)pid, (int)pid, (int)pid);
	return err_new(ERR_STATE,
		       "process %d is stopped (SIGSTOP, Ctrl-Z), so it cannot be attached to "
		       "now: `kill -CONT %d`, then try again",
		       (int)pid, (int)pid);
}

struct err *attach_no_moment(pid_t pid, bool is_attached)
{
	if (is_attached)
		return err_new(ERR_STATE,
			       "no thread of process %d could be made to let memtape go: each has "
			       "a seccomp filter, or is about to end; `memtape detach %d` tries "
			       "again",
			       (int)pid, (int)pid);
	return err_new(ERR_STATE,
		       "the threads of process %d were never found where they hold none of the "
		       "locks that loading a library takes; it goes on as before, so try again",
		       (int)pid);
}

struct err *attach_check_stopped(pid_t pid, bool is_attached)
{
	char path[64];
	CLEAN(closedir)
	DIR *threads = opendir(str_format(path, sizeof(path), "/proc/%d/task", (int)pid));
	struct status status;

	for (struct dirent *entry; threads && (entry = readdir(threads));) {
		const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && status_read(&status, pid, tid) && status_is_stopped(&status))
			return attach_stopped(pid, is_attached);
	}
	return NULL;
}

/* --- what it runs ------------------------------------------------------------------------------ */

/* A file that cannot be read is another user's, or there is none any more. */
static struct err *check_machine(pid_t pid, enum attach_obstacle *obstacle_ret)
{
	char path[64];
	Elf64_Ehdr header;
	CLEAN(close)
	int fd = open(str_format(path, sizeof(path), "/proc/%d/exe", (int)pid),
		      O_RDONLY | O_CLOEXEC);

	*obstacle_ret = ATTACH_PRIVILEGES;
	if (fd < 0 && errno == ENOENT) {
		*obstacle_ret = ATTACH_GONE;
		return err_new(ERR_NOT_FOUND, "process %d has ended, or is the kernel's", (int)pid);
	}
	if (fd < 0)
		return stop_refusal(pid, errno == EACCES ? EPERM : errno);
	*obstacle_ret = ATTACH_MACHINE;
	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != ARCH_ELF_MACHINE)
		return err_new(ERR_UNSUPPORTED,
			       "process %d runs code of another machine, of 32 bits perhaps: the "
			       "recorder cannot be loaded there",
			       (int)pid);
	return NULL;
}

struct err *attach_check_status(pid_t pid, const struct status *status,
				enum attach_obstacle *obstacle_ret)
{
	struct err *err = stop_traced(pid, status);

	*obstacle_ret = ATTACH_TRACED;
	if (err)
		return err;
	*obstacle_ret = ATTACH_SECCOMP;
	if (status_number(status, "Seccomp", 10, 0) != 0)
		return err_new(ERR_STATE,
			       "process %d has a seccomp filter, which could end it for what "
			       "attaching makes it do; start it with `memtape record` instead",
			       (int)pid);
	*obstacle_ret = ATTACH_SHADOW_STACK;
	if (status_has_word(status, "x86_Thread_features", "shstk"))
		return err_new(ERR_STATE,
			       "process %d has a shadow stack (CET), which ends it when it returns "
			       "from what attaching makes it do; start it with `memtape record` "
			       "instead, or without (GLIBC_TUNABLES=glibc.cpu.x86_shstk=off)",
			       (int)pid);
	*obstacle_ret = ATTACH_OBSTACLES;
	return NULL;
}

/* Of all of its threads: a filter or a shadow stack may be one's alone. */
static struct err *check_threads(pid_t pid, enum attach_obstacle *obstacle_ret)
{
	char path[64];
	CLEAN(closedir)
	DIR *threads = opendir(str_format(path, sizeof(path), "/proc/%d/task", (int)pid));
	struct status status;
	struct err *err = NULL;

	*obstacle_ret = ATTACH_GONE;
	if (!threads || !status_read(&status, pid, pid))
		return err_new(ERR_NOT_FOUND, "there is no process %d", (int)pid);
	for (struct dirent *entry; !err && (entry = readdir(threads));) {
		const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && status_read(&status, pid, tid))
			err = attach_check_status(pid, &status, obstacle_ret);
	}
	return err;
}

/* --- what it has loaded ------------------------------------------------------------------------ */

static struct err *check_recording(pid_t pid, const struct maps *maps,
				   enum attach_obstacle *obstacle_ret)
{
	CLEAN(recording_close) struct recording recording = { .fd = -1 };
	struct err *err;

	*obstacle_ret = ATTACH_RECORDED;
	if (maps_find_file(maps, "libmemtape.so") || maps_find_file(maps, "libmemusage.so"))
		return err_new(ERR_STATE,
			       "process %d has memtape's recorder since its start: `memtape leaks "
			       "%d` looks at it now; what it records is on its tape",
			       (int)pid, (int)pid);
	*obstacle_ret = ATTACH_ATTACHED;
	if (!maps_find_file(maps, TAPE_ATTACH_LIBRARY) &&
	    !maps_find_file(maps, TAPE_ATTACH_LIBRARY_MUSL))
		return NULL;
	err = recording_find(pid, maps, &recording);
	/* The library stays when it was let go, and what is left of a collector that was killed. */
	if (!err && recording_collector(recording.inode))
		return attach_already(pid);
	err_destroy(err);
	return NULL;
}

static bool libc_is_usable(const char *path, bool is_musl)
{
	CLEAN(exports_deinit) struct exports exports = { 0 };

	return exports_read(path, &exports) && safe_has_dlopen(&exports, is_musl);
}

/* The same file is read once. */
static bool libc_look(const char *path, bool is_musl, struct attach_libcs *libcs)
{
	struct stat file;
	bool is_usable;

	if (stat(path, &file) < 0)
		return false;
	for (size_t i = 0; i < libcs->count; i++)
		if (libcs->items[i].device == file.st_dev && libcs->items[i].inode == file.st_ino)
			return libcs->items[i].is_usable;
	is_usable = libc_is_usable(path, is_musl);
	if (libcs->count < array_size(libcs->items)) {
		libcs->items[libcs->count].device = file.st_dev;
		libcs->items[libcs->count].inode = file.st_ino;
		libcs->items[libcs->count++].is_usable = is_usable;
	}
	return is_usable;
}

static struct err *check_libc(pid_t pid, const struct maps *maps, struct attach_libcs *libcs,
			      enum attach_obstacle *obstacle_ret)
{
	for (size_t i = 0; i < maps->entries.count; i++) {
		const struct maps_entry *entry = &maps->entries.items[i];
		const char *name = maps_name(maps, entry);
		CLEAN(str_deinit) struct str path = { 0 };

		if (!entry->is_file || !entry->is_executable || !objects_is_libc(name))
			continue;
		str_printf(&path, "/proc/%d/root%s", (int)pid, name);
		if (path.failed)
			return err_nomem();
		/* The kernel's name of a file may be of a mount that only we have. */
		if (libc_look(path.ptr, objects_is_musl(name), libcs) ||
		    libc_look(name, objects_is_musl(name), libcs))
			return NULL;
	}
	*obstacle_ret = ATTACH_LIBC;
	return safe_no_libc(pid);
}

struct err *attach_check(pid_t pid, const struct maps *maps, struct attach_libcs *libcs,
			 enum attach_obstacle *obstacle_ret)
{
	struct err *err = check_machine(pid, obstacle_ret);

	assert(pid > 0);
	if (!err)
		err = check_threads(pid, obstacle_ret);
	if (!err)
		err = check_recording(pid, maps, obstacle_ret);
	if (!err)
		err = check_libc(pid, maps, libcs, obstacle_ret);
	if (!err) {
		*obstacle_ret = ATTACH_STOPPED;
		err = attach_check_stopped(pid, false);
	}
	if (!err)
		*obstacle_ret = ATTACH_OBSTACLES;
	return err;
}
