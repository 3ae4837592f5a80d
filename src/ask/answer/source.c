#include "answer/source.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

static int open_any(const char *path, struct stat *status)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || (fstat(fd, status) == 0 && S_ISREG(status->st_mode) &&
		       status->st_size <= SOURCE_BYTES_MAX))
		return fd;
	close(fd);
	return -1;
}

static FILE *open_regular(const char *path, const struct source_opener *opener, struct stat *status,
			  struct str *tried)
{
	FILE *file;
	int fd;

	str_printf(tried, "%s%s", tried->len ? ", " : "", path);
	fd = opener->open ? opener->open(opener->context, path, status) : open_any(path, status);
	file = fd < 0 ? NULL : fdopen(fd, "re");
	if (fd >= 0 && !file)
		close(fd);
	return file;
}

/* A line for display: without its line end, with tabs expanded. */
static char *line_copy(struct arena *arena, const char *text, size_t len)
{
	CLEAN(str_deinit) struct str line = { 0 };

	for (size_t i = 0; i < len && text[i] != '\n' && text[i] != '\r'; i++) {
		const size_t column = text[i] == '\t' ? str_width(str_text(&line)) : 0;

		if (text[i] == '\t')
			str_add_repeated(&line, ' ',
					 SOURCE_TAB_COLUMNS - column % SOURCE_TAB_COLUMNS);
		else
			str_add_char(&line, text[i] ? text[i] : '?');
	}
	return line.failed ? NULL : arena_strdup(arena, str_text(&line));
}

static struct err *lines_read(FILE *file, struct arena *arena, struct source *source)
{
	CLEAN(free) char *text = NULL;
	CLEAN(free) char **lines = NULL;
	size_t room = 0, text_bytes = 0;
	ssize_t len;

	while ((len = getline(&text, &text_bytes, file)) >= 0) {
		if (source->count == room) {
			char **grown;

			room = room ? 2 * room : 1024;
			grown = realloc(lines, room * sizeof(*lines));
			if (!grown)
				return err_nomem();
			lines = grown;
		}
		lines[source->count] = line_copy(arena, text, (size_t)len);
		if (!lines[source->count++])
			return err_nomem();
	}
	source->lines = arena_array(arena, source->count + 1, sizeof(*source->lines));
	if (!source->lines)
		return err_nomem();
	if (source->count)
		memcpy(source->lines, lines, source->count * sizeof(*lines));
	return NULL;
}

static struct err *try_path(const struct model *model, const char *path,
			    const struct source_opener *opener, struct arena *arena,
			    struct str *tried, struct source *source)
{
	struct stat status;
	FILE *file = open_regular(path, opener, &status, tried);
	struct err *err;

	if (!file)
		return NULL;
	err = lines_read(file, arena, source);
	fclose(file);
	source->is_newer = (uint64_t)status.st_mtim.tv_sec >
			   model_process(model)->start_realtime_ns / NS_PER_S;
	source->path = arena_strdup(arena, path);
	return err ? err : source->path ? NULL : err_nomem();
}

struct err *source_read(const struct model *model, const char *file, const char *wanted,
			const struct source_opener *opener, struct arena *arena, struct str *tried,
			struct source *source_ret)
{
	CLEAN(str_deinit) struct str joined = { 0 };
	struct source source = { 0 };
	struct err *err;

	assert(file && *file);
	if (file[0] != '/' && model_process(model)->cwd[0] == '/')
		str_printf(&joined, "%s/%s", model_process(model)->cwd, file);
	else
		str_add(&joined, file);
	err = try_path(model, str_text(&joined), opener, arena, tried, &source);
	if (!err && !source.path && strcmp(wanted, str_text(&joined)) != 0)
		err = try_path(model, wanted, opener, arena, tried, &source);
	if (err)
		return err;
	*source_ret = source;
	return NULL;
}
