#include "cli/serve_folder.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/sort.h"
#include "base/str.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "cli/input.h"
#include "cli/session_operand.h"
#include "session/session.h"

enum {
	TAPES_MAX = 1000,
	PROCESSES_MAX = 200, /* each is open */
	LISTED_MAX = 100,    /* of a folder that is a list, too: of more than these */
	LISTED_FIRST = 10    /* only the newest are opened before somebody chooses one */
};

struct found {
	uint64_t written_ns; /* since 1970 */
	char *path;
};

VEC_DEFINE(found_vec, struct found);

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* One tape that cannot be read is no reason not to serve the others; the list says what it is. */
static bool header_is_good(const char *path)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct err *err = capture_open_begin(path, -1, TAPE_HEADER_BYTES, &capture);

	err_destroy(err);
	return !err;
}

/* By its name and first bytes: what else is in the folder is none of ours. */
static bool is_tape(const char *path, uint64_t *written_ns_ret)
{
	static const char suffix[] = ".mtape";
	const size_t len = strlen(path), suffix_len = strlen(suffix);
	enum input_kind kind = INPUT_OTHER;
	struct stat status;
	struct err *err;

	if (len < suffix_len || strcmp(path + len - suffix_len, suffix) != 0 ||
	    stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	err = input_kind_of(path, &kind);
	err_destroy(err);
	if (!err && kind == INPUT_TAPE && !header_is_good(path))
		return false;
	*written_ns_ret =
		(uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec;
	return !err && kind == INPUT_TAPE;
}

static int compare(const void *context, const void *a, const void *b)
{
	const struct found *left = a, *right = b;

	(void)context;
	return left->written_ns != right->written_ns
		       ? sort_compare_u64(left->written_ns, right->written_ns)
		       : strcmp(left->path, right->path);
}

/* They are in order of time. */
static void oldest_drop(struct found_vec *found, size_t first)
{
	const size_t count = found->count - first;

	if (count <= LISTED_MAX)
		return;
	memmove(found->items + first, found->items + found->count - LISTED_FIRST,
		LISTED_FIRST * sizeof(*found->items));
	found->count = first + LISTED_FIRST;
}

static struct err *tapes_read(const char *folder, bool is_listed, struct arena *arena,
			      struct found_vec *found)
{
	CLEAN(closedir) DIR *entries = opendir(folder);
	const size_t first = found->count;

	if (!entries)
		return err_errno("%s", folder);
	for (struct dirent *entry; (entry = readdir(entries));) {
		struct found one = { .path = arena_printf(arena, "%s/%s", folder, entry->d_name) };

		if (!one.path)
			return err_nomem();
		if (is_tape(one.path, &one.written_ns) && !found_vec_push(found, one))
			return err_nomem();
	}
	if (found->count > first && !sort_stable(found->items + first, found->count - first,
						 sizeof(*found->items), compare, NULL))
		return err_nomem();
	if (is_listed)
		oldest_drop(found, first);
	return found->count <= TAPES_MAX
		       ? NULL
		       : err_new(ERR_LIMIT, "%s: more than %d tapes; name those to be served",
				 folder, TAPES_MAX);
}

/* Each of its processes, if there are not too many; then all as one tape, which is shown first. */
static struct err *session_read(const char *folder, struct arena *arena, struct found_vec *found)
{
	CLEAN(session_close) struct session session = { .count = 0 };
	const char *merged = folder;
	struct err *err = session_open(folder, &session);

	if (!err)
		err = session_operand(&merged, NULL, NULL, arena);
	if (!err && session.count > PROCESSES_MAX)
		fprintf(stderr,
			"memtape: %s has %zu tapes, which are served as one; those that are named "
			"are served by themselves as well\n",
			folder, session.count);
	for (size_t i = 0; !err && i < session.count && session.count <= PROCESSES_MAX; i++) {
		char *path = arena_strdup(arena, session.members[i].path);

		if (!path || !found_vec_push(found, (struct found) { .path = path }))
			err = err_nomem();
	}
	if (!err && !found_vec_push(found, (struct found) { .path = (char *)merged }))
		err = err_nomem();
	return err;
}

const char *serve_listed(char *const *operands, size_t operand_count)
{
	for (size_t i = 0; i < operand_count; i++)
		if (is_folder(operands[i]) && !session_is(operands[i]))
			return operands[i];
	return NULL;
}

struct err *serve_paths_find(char **operands, size_t operand_count, struct arena *arena,
			     struct serve_paths *paths)
{
	CLEAN(found_vec_deinit) struct found_vec found = { 0 };
	struct err *err = NULL;

	*paths = (struct serve_paths) {
		.folder = ".",
		.listed = serve_listed(operands, operand_count),
	};
	for (size_t i = 0; !err && i < operand_count; i++) {
		if (!is_folder(operands[i])) {
			if (!found_vec_push(&found, (struct found) { .path = operands[i] }))
				err = err_nomem();
			continue;
		}
		if (strcmp(paths->folder, ".") == 0)
			paths->folder = operands[i];
		err = session_is(operands[i])
			      ? session_read(operands[i], arena, &found)
			      : tapes_read(operands[i], paths->listed == operands[i], arena,
					   &found);
	}
	if (err)
		return err;
	paths->items = arena_array(arena, found.count + 1, sizeof(*paths->items));
	if (!paths->items)
		return err_nomem();
	paths->count = found.count;
	for (size_t i = 0; i < found.count; i++)
		paths->items[i] = found.items[i].path;
	return NULL;
}
