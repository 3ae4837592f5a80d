#include "http/source_text.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Suffixes of source files. */
static bool is_source_name(const char *path)
{
	static const char *const ends[] = {
		"c",	"h",   "cc",  "hh",  "cpp", "hpp", "cxx",  "hxx",   "c++", "h++",
		"inc",	"ipp", "tcc", "tpp", "def", "rs",  "go",   "d",	    "f",   "f90",
		"f95",	"m",   "mm",  "s",   "S",   "y",   "l",	   "py",    "pyx", "js",
		"mjs",	"ts",  "jl",  "nim", "zig", "ml",  "hs",   "swift", "cu",  "cuh",
		"java", "kt",  "ada", "adb", "ads", "pas", "vala",
	};
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && !strchr(dot, '/') && i < array_size(ends); i++) {
		if (strcmp(dot + 1, ends[i]) == 0)
			return true;
	}
	/* C++ headers without a suffix: /usr/include/c++/12/vector */
	return strstr(path, "/include/c++/") != NULL;
}

static bool is_kernel_folder(const char *path)
{
	static const char *const folders[] = { "/proc/", "/sys/", "/dev/" };

	for (size_t i = 0; i < array_size(folders); i++) {
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return true;
	}
	return false;
}

/* Opens a regular file by a path without symbolic links; -1: not allowed or not found. */
static int open_plain(const char *real, struct stat *status)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, real, &how, sizeof(how));

	if (fd < 0 && errno == ENOSYS)
		fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd >= 0 && (fstat(fd, status) != 0 || !S_ISREG(status->st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

static char *read_all(int fd, size_t bytes, struct arena *arena)
{
	char *text = arena_alloc(arena, bytes + 1);
	size_t done = 0;
	ssize_t n;

	while (text && done < bytes && (n = read(fd, text + done, bytes - done)) > 0)
		done += (size_t)n;
	for (size_t i = 0; text && i < done; i++) /* a text ends at its first NUL */
		text[i] = text[i] ? text[i] : '?';
	return text;
}

/* Splits the text into lines and keeps the requested ones. */
static struct err *lines_keep(char *text, uint64_t first, struct arena *arena,
			      struct source_text *source)
{
	size_t bytes = 0;

	source->lines = arena_array(arena, SOURCE_TEXT_LINES, sizeof(*source->lines));
	if (!source->lines)
		return err_nomem();
	for (char *line = text; *line;) {
		const size_t len = strcspn(line, "\n");
		char *next = line + len + (line[len] == '\n');

		source->line_count++;
		if (source->line_count >= first && source->count < SOURCE_TEXT_LINES &&
		    bytes + len < SOURCE_TEXT_ANSWER_MAX) {
			line[len] = '\0';
			if (len > 0 && line[len - 1] == '\r')
				line[len - 1] = '\0';
			source->lines[source->count++] = line;
			bytes += len;
		}
		line = next;
	}
	return NULL;
}

/* Opens the file, or returns the reason why not. */
static int open_source(const struct source_roots *roots, const char *path, struct stat *status,
		       const char **reason_ret)
{
	CLEAN(free) char *real = realpath(path, NULL);
	int fd = -1;

	if (!real)
		*reason_ret = "it is not on this machine";
	else if (!is_source_name(path) || !is_source_name(real) || is_kernel_folder(real))
		*reason_ret = "its name is not that of a source file";
	else if (!source_roots_allow(roots, real))
		*reason_ret = "it is in none of the folders of --source-root";
	else if ((fd = open_plain(real, status)) < 0)
		*reason_ret = "it cannot be read";
	else if (status->st_size > SOURCE_TEXT_FILE_MAX)
		*reason_ret = "it is larger than 8 MiB";
	if (!*reason_ret || fd < 0)
		return fd;
	close(fd);
	return -1;
}

int source_text_open(const void *context, const char *path, struct stat *status_ret)
{
	const char *reason = NULL;

	return open_source(context, path, status_ret, &reason);
}

struct err *source_text_read(const struct source_roots *roots, const char *path, uint64_t first,
			     struct arena *arena, struct source_text *text_ret)
{
	struct source_text source = { .first = first };
	struct stat status;
	CLEAN(close) int fd = open_source(roots, path, &status, &source.reason);
	struct err *err = NULL;
	char *text;

	assert(path);
	assert(first >= 1);
	if (!source.reason) {
		text = read_all(fd, (size_t)status.st_size, arena);
		err = text ? lines_keep(text, first, arena, &source) : err_nomem();
		source.modified_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000 +
				     (uint64_t)status.st_mtim.tv_nsec;
	}
	*text_ret = source;
	return err;
}
