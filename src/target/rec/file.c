#include "rec/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "rec/path.h"

#include "core/poison.h"

enum { PAGE_BYTES = 4096, FD_HIGH = 900 };

bool rec_fd_id(int fd, uint64_t id_ret[2])
{
	ARCH_STAT st;

	if (fd < 0 || sys_fstat(fd, &st) != 0)
		return false;
	id_ret[0] = st.st_dev;
	id_ret[1] = st.st_ino;
	return true;
}

bool rec_fd_is(int fd, const uint64_t id[2])
{
	uint64_t found[2];

	return rec_fd_id(fd, found) && found[0] == id[0] && found[1] == id[1];
}

bool rec_fd_has_room(int fd)
{
	const struct sys_timeout now = { 0 };
	struct pollfd poll = { .fd = fd, .events = POLLOUT };
	ARCH_STAT st;

	if (sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return true;
	return SYS_CALL5(SYS_ppoll, &poll, 1, &now, NULL, 0) == 1 && poll.revents == POLLOUT;
}

bool rec_fd_write(int fd, const char *text, size_t bytes)
{
	const struct sys_signals pipe = sys_signal(SIGPIPE), size = sys_signal(SIGXFSZ);
	struct sys_signals both = pipe, saved;
	long result;

	CHECK(text || bytes == 0);
	both.word[0] |= size.word[0];
	sys_signals_block(&both, &saved);
	do {
		result = sys_write(fd, text, bytes);
		text += result > 0 ? result : 0;
		bytes -= result > 0 ? (size_t)result : 0;
	} while ((result > 0 && bytes > 0) || result == -EINTR);
	if (result == -EPIPE || result == -EFBIG)
		sys_signals_swallow(result == -EPIPE ? &pipe : &size);
	sys_signals_restore(&saved);
	return bytes == 0;
}

static bool fd_is_ours(const struct rec_file *file)
{
	return rec_fd_is(file->fd, file->id);
}

int rec_fd_high(int fd)
{
	CHECK(fd >= 0);
	return (int)SYS_CALL3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FD_HIGH);
}

static void fd_move_high(struct rec_file *file)
{
	const int high = rec_fd_high(file->fd);

	if (high < 0)
		return;
	sys_close(file->fd);
	file->fd = high;
}

bool rec_file_check(struct rec_file *file)
{
	if (fd_is_ours(file))
		return true;
	file->fd = sys_open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd_is_ours(file)) {
		fd_move_high(file);
		return true;
	}
	if (file->fd >= 0)
		sys_close(file->fd);
	file->fd = -1;
	return false;
}

int rec_file_extend(struct rec_file *file, uint64_t begin, uint64_t bytes)
{
	const struct sys_signals xfsz = sys_signal(SIGXFSZ);
	struct sys_signals saved;
	long result;

	CHECK(bytes > 0);
	if (!rec_file_check(file))
		return -EBADF;
	sys_signals_block(&xfsz, &saved);
	result = sys_fallocate(file->fd, 0, begin, bytes);
	if (result == -EOPNOTSUPP || result == -ENOSYS) {
		static const uint8_t zeros[PAGE_BYTES];

		result = 0;
		for (uint64_t at = begin; at < begin + bytes && result >= 0; at += PAGE_BYTES)
			result = sys_pwrite(file->fd, zeros, PAGE_BYTES, at);
	}
	if (result == -EFBIG)
		sys_signals_swallow(&xfsz);
	sys_signals_restore(&saved);
	return result < 0 ? (int)result : 0;
}

/*
 * The name is needed again when the program has closed our descriptor, and it may have changed its
 * directory by then.
 */
static void path_make_absolute(char *path)
{
	static char cwd[REC_PATH_BYTES];
	const size_t bytes = strlen(path) + 1;
	const long cwd_bytes = SYS_CALL2(SYS_getcwd, cwd, sizeof(cwd)); /* with its NUL */

	if (path[0] == '/' || cwd_bytes <= 0 || cwd[0] != '/' ||
	    (size_t)cwd_bytes + bytes > REC_PATH_BYTES)
		return;
	memmove(path + cwd_bytes, path, bytes);
	memcpy(path, cwd, (size_t)cwd_bytes - 1);
	path[cwd_bytes - 1] = '/';
}

static int file_take(struct rec_file *file, int fd)
{
	if (fd < 0)
		return fd;
	path_make_absolute(file->path);
	file->fd = fd;
	fd_move_high(file);
	rec_fd_id(file->fd, file->id);
	return 0;
}

static int path_open(const char *path, unsigned mode)
{
	return sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

int rec_file_create(struct rec_file *file, const char *pattern, unsigned mode)
{
	int fd = -EEXIST;

	CHECK(pattern);
	file->fd = -1;
	for (unsigned attempt = 0; fd == -EEXIST && attempt < 1000; attempt++) {
		if (!rec_path_expand(pattern, attempt, file->path, sizeof(file->path)))
			return -ENAMETOOLONG;
		fd = path_open(file->path, mode);
	}
	return file_take(file, fd);
}

/* Not truncated: another process may have it mapped and would die of that. */
int rec_file_replace(struct rec_file *file, const char *pattern, unsigned mode)
{
	enum { ATTEMPTS = 10 };
	ARCH_STAT st;
	int fd = -EEXIST;

	CHECK(pattern);
	file->fd = -1;
	if (!rec_path_expand(pattern, 0, file->path, sizeof(file->path)))
		return -ENAMETOOLONG;
	for (unsigned attempt = 0; fd == -EEXIST && attempt < ATTEMPTS; attempt++) {
		fd = path_open(file->path, mode);
		if (fd != -EEXIST)
			break;
		if (sys_stat(file->path, &st, 0x100 /* AT_SYMLINK_NOFOLLOW */) == 0 &&
		    !S_ISREG(st.st_mode))
			return -EINVAL;
		SYS_CALL3(SYS_unlinkat, -100, file->path, 0);
	}
	return file_take(file, fd);
}

void rec_file_close(struct rec_file *file)
{
	if (fd_is_ours(file))
		sys_close(file->fd);
	file->fd = -1;
}

void rec_file_remove(struct rec_file *file)
{
	if (file->fd < 0)
		return;
	rec_file_close(file);
	SYS_CALL3(SYS_unlinkat, -100, file->path, 0);
}
