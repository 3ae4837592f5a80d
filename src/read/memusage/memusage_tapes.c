#include "memusage/memusage_tapes.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sort.h"
#include "memusage/memusage_file.h"
#include "memusage/memusage_raw.h"

struct err *memusage_folder_make(const char *directory, struct arena *arena,
				 const char **folder_ret)
{
	const char *temporary = getenv("TMPDIR");
	char *folder;

	assert(!directory || directory[0]);
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

/* A forked child that exec'd another program: it existed only for that. */
static bool is_passage(const struct calls *calls)
{
	return calls->is_forked && calls->was_replaced;
}

static struct err *data_count(struct memusage_tape *tape, bool has_mappings)
{
	CLEAN(close) int fd = file_create(tape->data);
	CLEAN(fclose) FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (out)
		fd = -1; /* the stream's current one */
	else
		return err_errno("%s", tape->data);
	return memusage_file_count(tape->path, has_mappings, &tape->calls, out);
}

/* Computed from a tape of events. If memory runs out: at least the sums. */
static struct err *data_make(struct memusage_tape *tape, bool has_mappings, struct arena *arena)
{
	const char *slash = strrchr(tape->path, '/');
	struct err *err;

	tape->data = arena_printf(arena, "%.*s/.%s.dat", (int)(slash - tape->path), tape->path,
				  slash + 1);
	err = tape->data ? data_count(tape, has_mappings) : err_nomem();
	if (!err || err_code_of(err) == ERR_FORMAT)
		return err;
	err_destroy(err);
	if (tape->data)
		unlink(tape->data);
	tape->data = NULL;
	return NULL;
}

static struct err *tape_count(const char *path, bool has_mappings, struct memusage_tapes *tapes)
{
	const struct calls_settings settings = { .has_mappings = has_mappings };
	struct memusage_tape *tape = memusage_tapes_add(tapes);
	struct err *err;

	if (!tape)
		return err_nomem();
	*tape = (struct memusage_tape) { .path = path };
	err = calls_count(path, &settings, &tape->calls);
	if (err || is_passage(&tape->calls))
		tapes->count--;
	return err;
}

/* The process that a recorder's data file belongs to: the file begins with its start time. */
static struct memusage_tape *owner_find(const struct memusage_tapes *tapes, const char *data)
{
	uint64_t begin_ticks;

	if (!memusage_raw_begin(data, &begin_ticks))
		return NULL;
	for (size_t i = 0; i < tapes->count; i++)
		if (tapes->items[i].calls.is_counted && !tapes->items[i].data &&
		    tapes->items[i].calls.begin_ticks == begin_ticks)
			return &tapes->items[i];
	return NULL;
}

static bool is_data(const char *name)
{
	static const char suffix[] = ".dat";
	const size_t len = strlen(name);

	return len >= sizeof(suffix) && strcmp(name + len - (sizeof(suffix) - 1), suffix) == 0;
}

/* Those the recorder has written, and new ones for tapes of events. */
static struct err *data_find(const char *folder, bool has_mappings, struct arena *arena,
			     struct memusage_tapes *tapes)
{
	CLEAN(closedir) DIR *dir = opendir(folder);
	struct err *err = NULL;
	struct dirent *entry;

	if (!dir)
		return err_errno("%s", folder);
	while (!err && (entry = readdir(dir))) {
		const char *path = arena_printf(arena, "%s/%s", folder, entry->d_name);
		struct memusage_tape *tape;
		struct memusage_head head;

		if (!path)
			return err_nomem();
		if (!is_data(entry->d_name) || !(tape = owner_find(tapes, path)))
			continue;
		head = (struct memusage_head) { .heap_max = tape->calls.heap_peak,
						.stack_max = tape->calls.stack_peak,
						.begin_ticks = tape->calls.begin_ticks,
						.end_ticks = tape->calls.end_ticks };
		err = memusage_raw_finish(path, &head);
		if (!err)
			tape->data = path;
	}
	for (size_t i = 0; i < tapes->count && !err; i++)
		if (!tapes->items[i].calls.is_counted)
			err = data_make(&tapes->items[i], has_mappings, arena);
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
	CLEAN(closedir) DIR *dir = opendir(folder);
	struct err *err = NULL;
	struct dirent *entry;

	assert(tapes->count == 0);
	if (!dir)
		return err_errno("%s", folder);
	while (!err && (entry = readdir(dir))) {
		const char *path = arena_printf(arena, "%s/%s", folder, entry->d_name);

		if (entry->d_name[0] == '.' || is_data(entry->d_name))
			continue;
		err = path ? tape_count(path, has_mappings, tapes) : err_nomem();
		if (err && err_code_of(err) == ERR_FORMAT) { /* a tape that was never begun */
			err_destroy(err);
			err = NULL;
		}
	}
	if (tapes->count > 1)
		qsort(tapes->items, tapes->count, sizeof(*tapes->items), by_begin);
	return err || !makes_data ? err : data_find(folder, has_mappings, arena, tapes);
}
