#include "cli/reading.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "cli/command.h"

bool reading_wants_colour(FILE *out)
{
	const char *off = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if ((off && *off) || (term && strcmp(term, "dumb") == 0))
		return false;
	return isatty(fileno(out));
}

unsigned reading_width(FILE *out)
{
	return isatty(fileno(out)) ? command_terminal_width() : 0;
}

struct err *reading_format(bool json, bool csv, enum emit_format *format_ret)
{
	if (json && csv)
		return err_new(ERR_USAGE, "--json and --csv exclude each other");
	*format_ret = json ? EMIT_JSON : csv ? EMIT_CSV : EMIT_TEXT;
	return NULL;
}

struct err *reading_symbols(bool wants_debuginfod, struct symbol_options *symbols,
			    struct debuginfod **debuginfod_ret)
{
	struct err *err = NULL;

	*symbols = (struct symbol_options) { 0 };
	*debuginfod_ret = NULL;
	if (wants_debuginfod)
		err = debuginfod_create(debuginfod_ret);
	symbols->debuginfod = *debuginfod_ret;
	return err_wrap(err, "--debuginfod");
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat left, right;

	return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

/* Devices and pipes cannot be replaced by a file; they are written to. */
static bool is_special(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

struct err *reading_output_open(struct reading_output *output, const char *path,
				const char *tape_path)
{
	CLEAN(str_deinit) struct str name = { 0 };
	CLEAN(close) int fd = -1;

	*output = (struct reading_output) { .file = stdout };
	if (!path || strcmp(path, "-") == 0)
		return NULL;
	if (is_same_file(path, tape_path))
		return err_new(ERR_USAGE, "%s is the tape itself", path);
	output->path = path;
	if (is_special(path)) {
		output->file = fopen(path, "we");
		return output->file ? NULL : err_errno("open %s", path);
	}
	str_printf(&name, "%s.XXXXXX", path);
	if (name.failed)
		return err_nomem();
	fd = mkostemp(name.ptr, O_CLOEXEC);
	if (fd < 0)
		return err_errno("create %s", path);
	output->file = fdopen(fd, "w");
	if (!output->file) {
		unlink(name.ptr);
		return err_errno("open %s", path);
	}
	fd = -1; /* the stream's now */
	output->temporary = steal(name.ptr);
	return NULL;
}

/* A file made by mkstemp is private; a result is as open as the user's umask says. */
static void give_usual_mode(int fd)
{
	const mode_t mask = umask(0);

	umask(mask);
	fchmod(fd, 0666 & ~mask);
}

struct err *reading_output_close(struct reading_output *output, struct err *err)
{
	CLEAN(free) char *temporary = steal(output->temporary);

	if (!output->path)
		return err;
	if (temporary)
		give_usual_mode(fileno(output->file));
	if (fclose(output->file) != 0 && !err)
		err = err_errno("write %s", output->path);
	if (temporary && !err && rename(temporary, output->path) != 0)
		err = err_errno("write %s", output->path);
	if (temporary && err)
		unlink(temporary);
	return err;
}
