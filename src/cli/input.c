#include "cli/input.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "plot/canvas.h"
#include "tape/tape.h"

struct err *input_kind_of(const char *path, enum input_kind *kind_ret)
{
	CLEAN(close) int fd = -1;
	char magic[sizeof(TAPE_MAGIC) - 1];
	struct stat status;

	*kind_ret = INPUT_OTHER;
	if (strcmp(path, "-") == 0)
		return NULL;
	if (stat(path, &status) != 0)
		return err_errno("open %s", path);
	if (!S_ISREG(status.st_mode))
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno("open %s", path);
	if (pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	    memcmp(magic, TAPE_MAGIC, sizeof(magic)) == 0)
		*kind_ret = INPUT_TAPE;
	return NULL;
}

struct err *output_exists(const char *path)
{
	return err_new(ERR_USAGE, "%s exists; --force overwrites it", path);
}

bool output_is_special(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

struct err *output_check(const char *path, bool may_overwrite)
{
	struct stat status;

	if (!path || may_overwrite || lstat(path, &status) != 0)
		return NULL;
	return output_is_special(path) ? NULL : output_exists(path);
}

struct err *output_check_svg(const char *path)
{
	enum canvas_format format;

	if (!path || !canvas_format_of(path, &format) || format == CANVAS_SVG)
		return NULL;
	return err_new(ERR_USAGE, "%s: this picture is an SVG, and its name should say so", path);
}

struct err *output_check_file(const char *path, bool may_overwrite)
{
	if (path && output_is_special(path))
		return err_new(ERR_USAGE, "--output: expected a file");
	return output_check(path, may_overwrite);
}
