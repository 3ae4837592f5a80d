#include "host/watch.h"

#include <assert.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

enum {
	TEXT_BYTES = 16 << 10, /* of a file: what is longer is cut; only what is used is touched */
	CGROUP_BYTES = 4096,
	MACHINE_FILES = 3,
	CGROUP_FILES = 9, /* at most (system/cgroup.c) */
	FILES = MACHINE_FILES + CGROUP_FILES,
	MOUNTS_BYTES_MAX = 4 << 20
};

static const char *const machine_paths[MACHINE_FILES] = { "/proc/meminfo", "/proc/vmstat",
							  "/proc/pressure/memory" };

struct host_watch {
	int cgroup_fd, statm_fd;   /* of the process */
	char cgroup[CGROUP_BYTES]; /* what the first one said when the places were found */
	struct arena arena;	   /* of the places, and of paths */
	struct cgroup_places places;
	const char *paths[FILES]; /* NULL: there is no such file */
	int fds[FILES];		  /* -1: not open */
	char texts[FILES][TEXT_BYTES];
	struct look_file rows[FILES];
	struct look look;
};

static int open_format(const char *fmt, ...) PRINTF_LIKE(1, 2);

static int open_format(const char *fmt, ...)
{
	char path[STR_SHORT_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Into text, with a NUL. False: nothing could be read. */
static bool read_again(int fd, char *text, size_t bytes)
{
	const ssize_t got = fd < 0 ? -1 : pread(fd, text, bytes - 1, 0);

	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* The process's memory is gone: it is ending, and the kernel says that its cgroup is the top. */
static bool is_ending(const struct host_watch *watch)
{
	char text[STR_SHORT_BYTES];

	return !read_again(watch->statm_fd, text, sizeof(text)) || strncmp(text, "0 ", 2) == 0;
}

/* --- the cgroup ------------------------------------------------------------------------------- */

static void cgroup_leave(struct host_watch *watch)
{
	for (size_t i = MACHINE_FILES; i < FILES; i++) {
		if (watch->fds[i] >= 0)
			close(watch->fds[i]);
		watch->fds[i] = -1;
		watch->paths[i] = NULL;
	}
	arena_deinit(&watch->arena);
	watch->places = (struct cgroup_places) { 0 };
}

/* Of this process, with all that is mounted. */
static bool mounts_read(struct str *text)
{
	CLEAN(close) const int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	char part[CGROUP_BYTES];
	ssize_t got = 0;

	while (fd >= 0 && text->len < MOUNTS_BYTES_MAX && (got = read(fd, part, sizeof(part))) > 0)
		str_add_bytes(text, part, (size_t)got);
	return got == 0 && !text->failed;
}

/* The process may have been moved. What cannot be found, or kept, is not there. */
static void cgroup_enter(struct host_watch *watch)
{
	CLEAN(str_deinit) struct str mounts = { 0 };
	const char *const *names;
	struct err *err;

	cgroup_leave(watch);
	if (!mounts_read(&mounts))
		return;
	err = cgroup_places_find(watch->cgroup, str_text(&mounts), &watch->arena, &watch->places);
	if (err) {
		err_destroy(err);
		watch->places.count = 0;
	}
	if (watch->places.count == 0)
		return;
	names = cgroup_files(watch->places.is_v1);
	for (size_t i = MACHINE_FILES; i < FILES && *names; i++, names++) {
		watch->paths[i] = arena_printf(&watch->arena, "%s/%s",
					       watch->places.items[0].directory, *names);
		if (watch->paths[i])
			watch->fds[i] = open(watch->paths[i], O_RDONLY | O_CLOEXEC);
	}
}

static void cgroup_follow(struct host_watch *watch)
{
	char text[CGROUP_BYTES];

	if (!read_again(watch->cgroup_fd, text, sizeof(text)) || strcmp(text, watch->cgroup) == 0 ||
	    is_ending(watch))
		return;
	memcpy(watch->cgroup, text, sizeof(text));
	cgroup_enter(watch);
}

/* --- opening and looking ---------------------------------------------------------------------- */

struct host_watch *host_watch_open(pid_t pid)
{
	struct host_watch *watch = calloc(1, sizeof(*watch));

	assert(pid > 0);
	if (!watch)
		return NULL;
	watch->cgroup_fd = open_format("/proc/%d/cgroup", (int)pid);
	watch->statm_fd = open_format("/proc/%d/statm", (int)pid);
	for (size_t i = 0; i < FILES; i++)
		watch->fds[i] = -1;
	for (size_t i = 0; i < MACHINE_FILES; i++) {
		watch->paths[i] = machine_paths[i];
		watch->fds[i] = open(machine_paths[i], O_RDONLY | O_CLOEXEC);
	}
	return watch;
}

void host_watch_close(struct host_watch *watch)
{
	if (!watch)
		return;
	cgroup_leave(watch);
	for (size_t i = 0; i < MACHINE_FILES; i++)
		if (watch->fds[i] >= 0)
			close(watch->fds[i]);
	if (watch->cgroup_fd >= 0)
		close(watch->cgroup_fd);
	if (watch->statm_fd >= 0)
		close(watch->statm_fd);
	free(watch);
}

const struct look *host_watch_look(struct host_watch *watch)
{
	size_t count = 0;

	cgroup_follow(watch);
	for (size_t i = 0; i < FILES; i++)
		if (read_again(watch->fds[i], watch->texts[i], TEXT_BYTES))
			watch->rows[count++] =
				(struct look_file) { watch->paths[i], watch->texts[i], 0 };
	watch->look = (struct look) { .process_count = SYSTEM_UNKNOWN,
				      .files = watch->rows,
				      .file_count = count };
	return &watch->look;
}

const struct cgroup_places *host_watch_places(const struct host_watch *watch)
{
	return &watch->places;
}
