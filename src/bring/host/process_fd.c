#include "host/process_fd.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"

enum { STATE = 3, THREADS = 20 }; /* fields of /proc/PID/stat, proc(5) */

static int folder_open(pid_t pid)
{
	char path[32];
	const int fd = open(str_format(path, sizeof(path), "/proc/%d", (int)pid),
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		errno = ESRCH;
	return fd;
}

int process_fd_open(pid_t pid)
{
	const int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	assert(pid > 0);
	return fd < 0 && errno == ENOSYS ? folder_open(pid) : fd;
}

static bool is_folder(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Dead, and no thread but the first is left. */
static bool is_over(char *stat)
{
	char *at = strrchr(stat, ')'); /* the name before it may contain anything */
	char state;

	if (!at || !at[1])
		return false;
	at += 2;
	state = *at;
	for (int field = STATE; at && field < THREADS; field++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	return (state == 'Z' || state == 'X') && at && strtol(at, NULL, 10) <= 1;
}

static bool folder_has_ended(int fd)
{
	char text[1024];
	ssize_t count;
	CLEAN(close)
	int stat_fd = openat(fd, "stat", O_RDONLY | O_CLOEXEC);

	if (stat_fd < 0)
		return errno == ENOENT || errno == ESRCH;
	count = read(stat_fd, text, sizeof(text) - 1);
	if (count <= 0)
		return true;
	text[count] = '\0';
	return is_over(text);
}

bool process_fd_has_ended(int fd)
{
	struct pollfd end = { .fd = fd, .events = POLLIN };

	assert(fd >= 0);
	return is_folder(fd) ? folder_has_ended(fd) : poll(&end, 1, 0) > 0;
}

bool process_fd_has_number(int fd)
{
	assert(fd >= 0);
	return is_folder(fd) ? faccessat(fd, "stat", F_OK, 0) == 0
			     : syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) == 0;
}

int process_fd_polled(int fd)
{
	assert(fd >= 0);
	return is_folder(fd) ? -1 : fd;
}
