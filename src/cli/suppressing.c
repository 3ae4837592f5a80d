#include "cli/suppressing.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

static const char FOLDER[] = ".memtape";

/* Whether the file exists below the folder, readable or not. */
static bool has_file(const char *folder, struct str *path)
{
	struct stat status;

	str_clear(path);
	str_printf(path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, FOLDER);
	if (path->failed || stat(path->ptr, &status) != 0 || !S_ISDIR(status.st_mode))
		return false;
	str_add(path, "/suppressions");
	return !path->failed && (stat(path->ptr, &status) == 0 || errno == EACCES);
}

/* The nearest folder that has one; false: none has, or the working directory is unknown. */
static bool project_find(struct str *path)
{
	CLEAN(free) char *folder = getcwd(NULL, 0);
	char *end;

	while (folder && *folder == '/') {
		if (has_file(folder, path))
			return true;
		end = strrchr(folder, '/');
		if (end == folder && end[1] == '\0')
			return false;
		end[end == folder] = '\0';
	}
	return false;
}

struct err *suppressing_load(struct suppressing *suppressing,
			     const struct suppressing_options *options)
{
	const char *file = options ? options->file : NULL;
	CLEAN(str_deinit) struct str path = { 0 };

	if (options && options->none)
		return file ? err_new(ERR_USAGE,
				      "--suppressions and --no-suppressions exclude each other")
			    : NULL;
	if (!file && project_find(&path))
		file = str_text(&path);
	return suppressions_load(file, &suppressing->arena, &suppressing->rules);
}

void suppressing_deinit(struct suppressing *suppressing)
{
	arena_deinit(&suppressing->arena);
	*suppressing = (struct suppressing) { 0 };
}
