#include "collect/attach_view.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/str.h"

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

struct err *attach_view(pid_t pid, const char *library, const char *spool, struct attach_view *view)
{
	*view = (struct attach_view) { 0 };
	if (sees(pid, library) && sees(pid, spool))
		return NULL;
	view->is_apart = true;
	str_format(view->root, sizeof(view->root), "/proc/%d/root", (int)pid);
	return has_proc(view) ? NULL
			      : err_new(ERR_STATE,
					"process %d has another root, in which /proc is not "
					"mounted: memtape's library cannot be loaded there",
					(int)pid);
}
