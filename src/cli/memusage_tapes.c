#include "cli/memusage_tapes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sort.h"
#include "export/memusage_file.h"

struct err *memusage_folder_make(const char *directory, struct arena *arena,
				 const char **folder_ret)
{
	const char *temporary = getenv("TMPDIR");
	char *folder;

	if (!directory)
		directory = temporary && *temporary ? temporary : "/tmp";
	folder = arena_printf(arena, "%s/.memusage.XXXXXX", directory);
	if (!folder)
		return err_nomem();
	if (!mkdtemp(folder))
		return err_errno("make a folder in %s", directory);
	*folder_ret = folder;
	return NULL;
}

void memusage_folder_remove(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(folder);
}

/* A forked child that has become another program: it was there for that only. */
static bool is_passage(const struct calls *calls)
{
	return calls->is_forked && calls->was_replaced;
}

static struct err *data_count(struct memusage_tape *tape, bool has_mappings)
{
	CLEAN(close) int fd = file_create(tape->data);
	CLEAN(fclose) FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (out)
		fd = -1; /* the stream's now */
	else
		return err_errno("%s", tape->data);
	return memusage_file_count(tape->path, has_mappings, &tape->calls, out);
}

static struct err *tape_count(const char *path, const char *data, bool has_mappings,
			      struct memusage_tapes *tapes)
{
	const struct calls_settings settings = { .has_mappings = has_mappings };
	struct memusage_tape *tape = memusage_tapes_add(tapes);
	struct err *err;

	if (!tape)
		return err_nomem();
	tape->path = path;
	tape->data = data;
	err = data ? data_count(tape, has_mappings) : NULL;
	if (err && err_code_of(err) != ERR_FORMAT) { /* no room for the data: the sums at least */
		err_destroy(err);
		unlink(data);
		tape->data = data = NULL;
		err = NULL;
	}
	if (!err && !data)
		err = calls_count(path, &settings, &tape->calls);
	if (err || is_passage(&tape->calls))
		tapes->count--;
	return err;
}

static int by_begin(const void *a, const void *b)
{
	const struct memusage_tape *left = a, *right = b;

	return (left->calls.begin_ticks > right->calls.begin_ticks) -
	       (left->calls.begin_ticks < right->calls.begin_ticks);
}

struct err *memusage_tapes_count(const char *folder, bool has_mappings, bool makes_data,
				 struct arena *arena, struct memusage_tapes *tapes)
{
	DIR *dir = opendir(folder);
	struct err *err = NULL;
	struct dirent *entry;

	if (!dir)
		return err_errno("%s", folder);
	while (!err && (entry = readdir(dir))) {
		const char *path = arena_printf(arena, "%s/%s", folder, entry->d_name);
		const char *data =
			makes_data ? arena_printf(arena, "%s/.%s", folder, entry->d_name) : NULL;

		if (entry->d_name[0] == '.')
			continue;
		if (!path || (makes_data && !data))
			err = err_nomem();
		else
			err = tape_count(path, data, has_mappings, tapes);
		if (err && err_code_of(err) == ERR_FORMAT) { /* one that was not begun */
			err_destroy(err);
			err = NULL;
		}
	}
	closedir(dir);
	if (tapes->count > 1)
		qsort(tapes->items, tapes->count, sizeof(*tapes->items), by_begin);
	return err;
}
