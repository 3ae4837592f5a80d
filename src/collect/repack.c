#include "collect/repack.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

struct err *repack_replace(const char *in, const char *out, int level,
			   struct capture_repacked *repacked_ret)
{
	CLEAN(str_deinit) struct str part = { 0 };
	struct err *err;

	str_printf(&part, "%s.repack-%d", out, (int)getpid());
	if (part.failed)
		return err_nomem();
	err = capture_repack(in, part.ptr, level, repacked_ret);
	if (!err && rename(part.ptr, out) < 0) {
		err = err_errno("rename %s to %s", part.ptr, out);
		unlink(part.ptr);
	}
	return err;
}

struct found {
	const char *path;
	uint8_t uuid[TAPE_UUID_BYTES];
	uint8_t parent_uuid[TAPE_UUID_BYTES];
	uint32_t pid;
	bool recorder_runs;
	bool is_descendant;
};

VEC_DEFINE(found_vec, struct found);

/* False: no raw tape. */
static bool read_found(const char *path, struct found *found)
{
	/* a FIFO would make us wait, a device might do anything */
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	const struct tape_live *live;
	struct tape_header header;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.magic, TAPE_MAGIC, sizeof(header.magic)) != 0 ||
	    header.kind != TAPE_KIND_RAW)
		return false;
	live = (const struct tape_live *)header.live;
	*found = (struct found) {
		.path = path,
		.pid = header.pid,
		.recorder_runs = live->recorder_state == TAPE_RECORDER_RUNNING,
	};
	memcpy(found->uuid, header.uuid, sizeof(found->uuid));
	memcpy(found->parent_uuid, header.parent_uuid, sizeof(found->parent_uuid));
	return true;
}

static struct err *find_tapes(const char *directory, struct arena *arena, struct found_vec *tapes)
{
	DIR *dir = opendir(directory);
	struct err *err = NULL;
	struct dirent *entry;

	if (!dir)
		return err_errno("%s", directory);
	while (!err && (entry = readdir(dir))) {
		const char *path = arena_printf(arena, "%s/%s", directory, entry->d_name);
		struct found found;

		if (!path)
			err = err_nomem();
		else if (read_found(path, &found) && !found_vec_push(tapes, found))
			err = err_nomem();
	}
	closedir(dir);
	return err;
}

/* Children come to light in any order: repeated until nobody is added. */
static void mark_descendants(struct found_vec *tapes, const uint8_t uuid[TAPE_UUID_BYTES])
{
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < tapes->count; i++) {
			struct found *child = &tapes->items[i];
			bool related = memcmp(child->parent_uuid, uuid, TAPE_UUID_BYTES) == 0;

			for (size_t j = 0; j < tapes->count && !related; j++)
				related = tapes->items[j].is_descendant &&
					  memcmp(child->parent_uuid, tapes->items[j].uuid,
						 TAPE_UUID_BYTES) == 0;
			if (!related || child->is_descendant)
				continue;
			child->is_descendant = changed = true;
		}
	}
}

/* A zombie writes no more. */
static bool process_lives(uint32_t pid)
{
	char path[64];
	char text[512];
	const char *state;
	ssize_t n;

	str_format(path, sizeof(path), "/proc/%u/stat", pid);
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	state = strrchr(text, ')');
	return state && state[1] && state[2] != 'Z' && state[2] != 'X';
}

struct err *repack_descendants(const char *directory, const uint8_t uuid[TAPE_UUID_BYTES],
			       int level, struct repack_children *children_ret)
{
	CLEAN(found_vec_deinit) struct found_vec tapes = { 0 };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct repack_children children = { 0 };
	struct err *err = find_tapes(directory, &arena, &tapes);

	if (err)
		return err;
	mark_descendants(&tapes, uuid);
	for (size_t i = 0; i < tapes.count; i++) {
		const struct found *found = &tapes.items[i];
		CLEAN(err_destroy) struct err *failure = NULL;
		struct capture_repacked repacked;

		if (!found->is_descendant)
			continue;
		if (found->recorder_runs && process_lives(found->pid)) {
			children.left_count++;
			continue;
		}
		failure = repack_replace(found->path, found->path, level, &repacked);
		if (failure) /* no space for a second copy, say: the raw tape is readable too */
			children.left_count++;
		else
			children.packed_count++;
	}
	*children_ret = children;
	return NULL;
}
