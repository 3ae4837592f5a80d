#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MODE = 0600 };

int file_create(const char *path)
{
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
}

struct err *file_create_temporary(const char *path, char **name_ret, int *fd_ret)
{
	CLEAN(str_deinit) struct str name = { 0 };
	int fd;

	str_printf(&name, "%s.XXXXXX", path);
	if (name.failed)
		return err_nomem();
	fd = mkostemp(name.ptr, O_CLOEXEC); /* with O_EXCL and 0600 */
	if (fd < 0)
		return err_errno("create %s", path);
	*name_ret = steal(name.ptr);
	*fd_ret = fd;
	return NULL;
}

static int create_and_unlink(const char *folder, const char *stem)
{
	CLEAN(str_deinit) struct str path = { 0 };
	int fd;

	str_printf(&path, "%s/%s-XXXXXX", folder, stem);
	if (path.failed) {
		errno = ENOMEM;
		return -1;
	}
	fd = mkostemp(path.ptr, O_CLOEXEC);
	if (fd >= 0)
		unlink(path.ptr);
	return fd;
}

/* A kernel or a file system without O_TMPFILE takes it for a folder to be written, or for a flag too many. */
int file_create_unnamed(const char *folder)
{
	const int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, MODE);

	if (fd >= 0 ||
	    (errno != EISDIR && errno != EOPNOTSUPP && errno != ENOENT && errno != EINVAL))
		return fd;
	return create_and_unlink(folder, ".memtape");
}

int file_create_in_memory(const char *name)
{
	static const char *const folders[] = { "/dev/shm", "/tmp", "/var/tmp" };
	CLEAN(str_deinit) struct str stem = { 0 };
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd >= 0 || errno != ENOSYS)
		return fd;
	str_printf(&stem, ".%s", name);
	for (size_t i = 0; fd < 0 && !stem.failed && i < array_size(folders); i++)
		fd = create_and_unlink(folders[i], stem.ptr);
	return fd;
}

int file_replace(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, MODE);
}

struct err *file_open_trusted(const char *path, const struct file_trust *trust, int *fd_ret,
			      uint64_t *bytes_ret)
{
	CLEAN(close)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	struct stat status;

	assert(trust->bytes_max > 0);
	if (fd < 0 || fstat(fd, &status) != 0)
		return err_errno("open %s", path);
	if (!S_ISREG(status.st_mode))
		return err_new(ERR_FORMAT, "%s is not a regular file", path);
	if (status.st_uid != geteuid() && status.st_uid != 0 && status.st_uid != trust->owner)
		return err_new(ERR_STATE, "%s belongs to another user", path);
	if ((uint64_t)status.st_mtim.tv_sec < trust->since_s)
		return err_new(ERR_STATE, "%s is older than the file it describes", path);
	if ((uint64_t)status.st_size > trust->bytes_max)
		return err_new(ERR_LIMIT, "%s has more than %llu MiB", path,
			       (unsigned long long)(trust->bytes_max >> 20));
	*bytes_ret = (uint64_t)status.st_size;
	*fd_ret = steal_fd(&fd);
	return NULL;
}

void *file_map(int fd, uint64_t bytes, int flags)
{
	assert(fd >= 0);
	assert(bytes > 0);
	if (bytes > SIZE_MAX) {
		errno = EFBIG;
		return MAP_FAILED;
	}
	return mmap(NULL, (size_t)bytes, PROT_READ, flags, fd, 0);
}

bool file_is_locked(int fd)
{
	assert(fd >= 0);
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
}

bool file_lock(int fd)
{
	enum { TRIES = 20 };
	const struct timespec pause = { .tv_nsec = 10 * 1000000 };

	assert(fd >= 0);
	for (int i = 0; i < TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return false;
		nanosleep(&pause, NULL);
	}
	return false;
}

ssize_t file_read_at(int fd, void *buf, size_t bytes, uint64_t offset)
{
	size_t done = 0;

	assert(fd >= 0);
	assert(buf || bytes == 0);
	while (done < bytes) {
		const ssize_t got =
			pread(fd, (char *)buf + done, bytes - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}
