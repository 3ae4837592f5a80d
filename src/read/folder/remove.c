#include "folder/remove.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/str.h"
#include "base/vec.h"
#include "folder/use.h"
#include "tape/tape_import.h"

/* A file that nobody else writes as long as fd is open. */
struct taken {
	char *name;
	int fd;
};

VEC_DEFINE(taken_vec, struct taken);

static void taken_end(struct taken_vec *taken)
{
	for (size_t i = 0; i < taken->count; i++) {
		close(taken->items[i].fd);
		free(taken->items[i].name);
	}
	taken_vec_deinit(taken);
}
CLEAN_DEFINE_DEINIT(taken_end, struct taken_vec);

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* ERR_NOT_FOUND: there is no such file. Links and whatever else is no file are left alone. */
static struct err *take(int dir, const char *name, bool is_tape, struct taken_vec *taken)
{
	CLEAN(close)
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct tape_header header = { .pid = 0 };
	struct stat status, named;
	struct err *err;

	if (fd < 0)
		return errno == ENOENT	? err_new(ERR_NOT_FOUND, "%s is gone", name)
		       : errno == ELOOP ? err_new(ERR_STATE, "%s is a symbolic link", name)
					: err_errno("%s", name);
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return err_new(ERR_STATE, "%s is not a file", name);
	if (is_tape && (pread(fd, &header, sizeof(header), 0) < (ssize_t)sizeof(header.magic) ||
			memcmp(header.magic, TAPE_MAGIC, sizeof(header.magic)) != 0))
		return err_new(ERR_STATE, "%s is not a tape", name);
	err = use_take(fd, is_tape ? &header : NULL);
	if (err)
		return err;
	if (fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) != 0 || !is_same(&status, &named))
		return err_new(ERR_STATE, "%s was replaced meanwhile", name);
	if (!taken_vec_push(taken, (struct taken) { strdup(name), fd }))
		return err_nomem();
	steal_fd(&fd);
	return taken->items[taken->count - 1].name ? NULL : err_nomem();
}

static struct err *sides_take(int dir, const char *name, struct taken_vec *taken)
{
	struct err *err = NULL;

	for (const char *const *suffix = folder_side_suffixes; *suffix && !err; suffix++) {
		CLEAN(str_deinit) struct str side = { 0 };

		str_printf(&side, "%s%s", name, *suffix);
		err = side.failed ? err_nomem() : take(dir, side.ptr, false, taken);
		if (err && err_code_of(err) == ERR_NOT_FOUND) {
			err_destroy(err);
			err = NULL;
		}
		err = err_wrap(err, "%s", str_text(&side));
	}
	return err;
}

/* The first one that cannot be removed ends it. */
static struct err *taken_unlink(int dir, const struct taken_vec *taken)
{
	for (size_t i = 0; i < taken->count; i++)
		if (unlinkat(dir, taken->items[i].name, 0) != 0)
			return err_errno("%s", taken->items[i].name);
	return NULL;
}

static struct err *tape_remove(const struct folder_tape *tape, int dir, bool only_looks)
{
	CLEAN(taken_end) struct taken_vec taken = { 0 };
	struct err *err = take(dir, tape->file, true, &taken);
	struct stat status;

	if (err)
		return err;
	if (fstat(taken.items[0].fd, &status) != 0 || status.st_dev != tape->device ||
	    status.st_ino != tape->inode)
		return err_new(ERR_STATE, "another file has its name now");
	err = sides_take(dir, tape->file, &taken);
	return err || only_looks ? err : taken_unlink(dir, &taken);
}

/* --- a session -------------------------------------------------------------------------------- */

static bool ends_in(const char *name, const char *suffix)
{
	const size_t len = strlen(name), suffix_len = strlen(suffix);

	return len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

/* What record --follow puts there, and what is made of it. The manifest is the last to go. */
static bool is_part(const char *name)
{
	if (strcmp(name, TAPE_SESSION_MANIFEST) == 0)
		return false;
	return ends_in(name, ".mtape") || ends_in(name, ".mtape.index") ||
	       ends_in(name, ".mtape.spool") ||
	       strncmp(name, TAPE_SESSION_MERGED, strlen(TAPE_SESSION_MERGED)) == 0;
}

static struct err *members_take(DIR *entries, struct taken_vec *taken)
{
	struct err *err = NULL;

	for (struct dirent *entry; !err && (entry = readdir(entries));) {
		struct stat status;

		if (!is_part(entry->d_name) ||
		    fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(status.st_mode))
			continue;
		err = err_wrap(take(dirfd(entries), entry->d_name, false, taken), "%s",
			       entry->d_name);
	}
	return err ? err : take(dirfd(entries), TAPE_SESSION_MANIFEST, false, taken);
}

/* One descriptor for each of its files. */
static void descriptors_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Files that are none of the session's stay, and the folder with them. */
static struct err *session_remove(const struct folder_tape *tape, int parent, bool only_looks)
{
	CLEAN(taken_end) struct taken_vec taken = { 0 };
	CLEAN(closedir) DIR *entries = NULL;
	CLEAN(close)
	int fd = openat(parent, tape->file, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;
	struct err *err;

	if (fd < 0 || fstat(fd, &status) != 0)
		return err_errno("%s", tape->file);
	if (status.st_dev != tape->device || status.st_ino != tape->inode)
		return err_new(ERR_STATE, "another folder has its name now");
	entries = fdopendir(fd);
	if (!entries)
		return err_errno("%s", tape->file);
	steal_fd(&fd);
	descriptors_allow();
	err = members_take(entries, &taken);
	if (!err && !only_looks)
		err = taken_unlink(dirfd(entries), &taken);
	if (!err && !only_looks && unlinkat(parent, tape->file, AT_REMOVEDIR) != 0 &&
	    errno != ENOTEMPTY && errno != EEXIST)
		err = err_errno("%s", tape->file);
	return err;
}

/* Of what can be known before: whether names can be removed from the folder at all. */
static struct err *folder_check(int dir)
{
	return faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) == 0 ? NULL : err_errno("its folder");
}

struct err *folder_tape_remove(const struct folder_tape *tape, bool only_looks)
{
	CLEAN(close) int dir = -1;
	char *folder = strndup(tape->path, (size_t)(tape->file - tape->path));
	struct err *err;

	assert(tape->file > tape->path);
	if (!folder)
		return err_nomem();
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = dir < 0 ? err_errno("%s", folder) : NULL;
	free(folder);
	if (err)
		return err;
	if (tape->is_link)
		return err_new(ERR_STATE, "it is a symbolic link");
	err = folder_check(dir);
	if (err)
		return err;
	return tape->kind == FOLDER_SESSION ? session_remove(tape, dir, only_looks)
					    : tape_remove(tape, dir, only_looks);
}
