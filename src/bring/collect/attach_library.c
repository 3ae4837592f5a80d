#include "collect/attach_library.h"

#include <fcntl.h>
#include <unistd.h>

#include "collect/program.h"
#include "scan/exports.h"
#include "scan/maps.h"
#include "scan/memory.h"
#include "scan/objects.h"
#include "tape/tape_attach.h"

static bool has_musl(const struct maps *maps)
{
	for (size_t i = 0; i < maps->entries.count; i++)
		if (maps->entries.items[i].is_executable &&
		    objects_is_musl(maps_name(maps, &maps->entries.items[i])))
			return true;
	return false;
}

struct err *attach_library(struct arena *arena, pid_t pid, const char **path_ret)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	const char *recorder, *slash, *name;
	struct err *err = program_library(arena, &recorder);

	if (!err)
		err = maps_read_briefly(pid, &maps);
	if (err)
		return err;
	slash = strrchr(recorder, '/');
	name = has_musl(&maps) ? TAPE_ATTACH_LIBRARY_MUSL : TAPE_ATTACH_LIBRARY;
	*path_ret = arena_printf(arena, "%.*s/%s", (int)(slash - recorder), recorder, name);
	if (!*path_ret)
		return err_nomem();
	return access(*path_ret, R_OK) == 0
		       ? NULL
		       : err_errno("process %d cannot be attached to: %s", (int)pid, *path_ret);
}

/* Of another build other functions are elsewhere: its first page, with its build-id, is another. */
static bool is_same(const struct memory *memory, const struct maps_entry *entry, const char *path)
{
	enum { PAGE = 4096 };
	uint8_t ours[PAGE], theirs[PAGE];
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && pread(fd, ours, PAGE, 0) == PAGE &&
	       memory_read(memory, entry->begin, theirs, PAGE) && memcmp(ours, theirs, PAGE) == 0;
}

uint64_t attach_library_begin(pid_t pid, const char *path)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	const struct memory memory = memory_of_process(pid);
	const char *name = strrchr(path, '/') + 1;
	struct err *err = maps_read_briefly(pid, &maps);

	for (size_t i = 0; i < maps.entries.count && !err; i++) {
		const struct maps_entry *entry = &maps.entries.items[i];

		if (maps_is_named(&maps, entry, name) && is_same(&memory, entry, path))
			return entry->begin;
	}
	err_destroy(err);
	return 0;
}

uint64_t attach_library_function(pid_t pid, const char *path, const char *name)
{
	CLEAN(exports_deinit) struct exports exports = { 0 };
	const uint64_t begin = attach_library_begin(pid, path);
	const struct exports_function *function;

	if (!begin || !exports_read(path, &exports))
		return 0;
	function = exports_find(&exports, name);
	return function ? begin + function->begin : 0;
}
