#include "collect/attach_view.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/str.h"
#include "scan/status.h"

static struct err *check_status(pid_t pid)
{
	struct status status;

	if (!status_read(&status, pid, pid))
		return err_new(ERR_NOT_FOUND, "there is no process %d", (int)pid);
	if (status_number(&status, "Seccomp", 10, 0) != 0)
		return err_new(ERR_STATE,
			       "process %d has a seccomp filter, which could end it for what "
			       "attaching makes it do; start it with `memtape record` instead",
			       (int)pid);
	return NULL;
}

static struct err *check_maps(pid_t pid, const struct maps *maps)
{
	if (maps_find_file(maps, "libmemtape.so") || maps_find_file(maps, "libmemusage.so"))
		return err_new(ERR_STATE,
			       "process %d has memtape's recorder since its start: `memtape leaks "
			       "%d` looks at it now; what it records is on its tape",
			       (int)pid, (int)pid);
	return NULL;
}

/* Whether the process has the same file at that path. */
static bool sees(pid_t pid, const char *path)
{
	CLEAN(str_deinit) struct str theirs = { 0 };
	struct stat here, there;

	str_printf(&theirs, "/proc/%d/root%s", (int)pid, path);
	return !theirs.failed && stat(path, &here) == 0 && stat(str_text(&theirs), &there) == 0 &&
	       here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* What is loaded by a descriptor has its name there. */
static bool has_proc(const struct attach_view *view)
{
	char path[ATTACH_ROOT_BYTES + 8];
	struct statfs fs;

	return statfs(str_format(path, sizeof(path), "%s/proc", view->root), &fs) == 0 &&
	       (uint32_t)fs.f_type == PROC_SUPER_MAGIC;
}

struct err *attach_view(pid_t pid, const char *library, const char *spool, const struct maps *maps,
			struct attach_view *view)
{
	struct err *err = check_status(pid);

	*view = (struct attach_view) { 0 };
	if (!err)
		err = check_maps(pid, maps);
	if (err || (sees(pid, library) && sees(pid, spool)))
		return err;
	view->is_apart = true;
	str_format(view->root, sizeof(view->root), "/proc/%d/root", (int)pid);
	return has_proc(view) ? NULL
			      : err_new(ERR_STATE,
					"process %d has another root, in which /proc is not "
					"mounted: memtape's library cannot be loaded there",
					(int)pid);
}
