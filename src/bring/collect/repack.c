#include "collect/repack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "tape/tape_spool.h"

static bool is_same_file(const char *a, const char *b)
{
	struct stat status_a, status_b;

	return stat(a, &status_a) == 0 && stat(b, &status_b) == 0 &&
	       status_a.st_dev == status_b.st_dev && status_a.st_ino == status_b.st_ino;
}

/* Its contents are in the tape itself now. */
static void remove_spool(const char *tape)
{
	CLEAN(str_deinit) struct str name = { 0 };

	str_printf(&name, "%s" TAPE_SPOOL_SUFFIX, tape);
	if (!name.failed)
		unlink(name.ptr);
}

struct err *repack_replace(const char *in, const char *out, int level,
			   struct capture_repacked *repacked_ret)
{
	CLEAN(str_deinit) struct str part = { 0 };
	struct capture_repacked repacked = { 0 };
	struct err *err;
	bool is_same;

	str_printf(&part, "%s.repack-%d", out, (int)getpid());
	if (part.failed)
		return err_nomem();
	err = capture_repack(in, part.ptr, level, &repacked);
	if (err)
		return err;
	is_same = is_same_file(in, out);
	if (is_same && repacked.is_written)
		err = err_new(ERR_STATE,
			      "%s is still being written; wait until it is complete, or write to "
			      "another file with -o",
			      in);
	if (!err && rename(part.ptr, out) < 0)
		err = err_errno("rename %s to %s", part.ptr, out);
	if (err) {
		unlink(part.ptr);
		return err;
	}
	if (is_same)
		remove_spool(in);
	*repacked_ret = repacked;
	return NULL;
}

/* A zombie no longer writes. */
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

/*
 * Whether somebody can write to the file. The kernel knows: it refuses a lease for reading as long
 * as the file is open for writing or mapped so by anyone, whatever his PID namespace. Where a file
 * system has no leases it is whether the process lives.
 */
static bool is_being_written(int fd, uint32_t pid)
{
	fcntl(fd, F_SETSIG, SIGURG); /* that it is wanted back must not end us */
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return false;
	}
	return errno == EAGAIN || process_lives(pid);
}

enum repack_state repack_state(const char *path, struct tape_header *header_ret)
{
	/* opening a FIFO would block, and a device may have side effects */
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	bool is_tape;
	struct stat st;

	*header_ret = (struct tape_header) { .pid = 0 };
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return REPACK_NONE;
	is_tape = pread(fd, header_ret, sizeof(*header_ret), 0) == sizeof(*header_ret) &&
		  memcmp(header_ret->magic, TAPE_MAGIC, sizeof(header_ret->magic)) == 0;
	if (is_tape && header_ret->kind != TAPE_KIND_RAW)
		return REPACK_NONE;
	if (is_being_written(fd, header_ret->pid)) /* its header may not be there yet */
		return REPACK_WRITTEN;
	return is_tape ? REPACK_RAW : REPACK_NONE;
}

struct found {
	const char *path;
	struct tape_header header;
	bool is_written;
	bool is_descendant;
};

VEC_DEFINE(found_vec, struct found);

/* False: not a raw tape. */
static bool read_found(const char *path, struct found *found)
{
	enum repack_state state;

	*found = (struct found) { .path = path };
	state = repack_state(path, &found->header);
	found->is_written = state == REPACK_WRITTEN;
	return state == REPACK_RAW || (found->is_written && found->header.pid != 0);
}

static struct err *find_tapes(const char *directory, struct arena *arena, struct found_vec *tapes)
{
	DIR *dir = opendir(directory);
	struct err *err = NULL;
	struct dirent *entry;

	if (!dir)
		return err_errno("%s", directory);
	while (!err && (entry = readdir(dir))) {
		const char *path = strcmp(directory, ".") == 0
					   ? arena_strdup(arena, entry->d_name)
					   : arena_printf(arena, "%s/%s", directory, entry->d_name);
		struct found found;

		if (!path)
			err = err_nomem();
		else if (read_found(path, &found) && !found_vec_push(tapes, found))
			err = err_nomem();
	}
	closedir(dir);
	return err;
}

/*
 * A pid alone proves little because pids are reused: the child must have begun after its parent.
 * Nor does the session: it is the name of a spool, and earlier spools may have had the same name.
 */
static bool is_child(const struct tape_header *child, const struct tape_header *parent)
{
	static const uint8_t none[TAPE_UUID_BYTES];

	if (parent->session != 0 && child->session == parent->session)
		return child->start_realtime_ns >= parent->start_realtime_ns;
	if (memcmp(child->parent_uuid, none, sizeof(none)) != 0)
		return memcmp(child->parent_uuid, parent->uuid, sizeof(parent->uuid)) == 0;
	return (child->parent_pid == parent->pid || child->pid == parent->pid) &&
	       child->start_realtime_ns >= parent->start_realtime_ns;
}

static bool is_related(const struct found_vec *tapes, const struct tape_header *child,
		       const struct tape_header *ancestor)
{
	if (is_child(child, ancestor))
		return true;
	for (size_t i = 0; i < tapes->count; i++)
		if (tapes->items[i].is_descendant && is_child(child, &tapes->items[i].header))
			return true;
	return false;
}

/* Descendants are found in any order: repeat until none is added. */
static void mark_descendants(struct found_vec *tapes, const struct tape_header *ancestor)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < tapes->count; i++) {
			struct found *child = &tapes->items[i];

			if (child->is_descendant || !is_related(tapes, &child->header, ancestor))
				continue;
			child->is_descendant = changed = true;
		}
	}
}

struct err *repack_descendants(const char *directory, const struct tape_header *ancestor, int level,
			       struct arena *arena, struct repack_children *children_ret)
{
	CLEAN(found_vec_deinit) struct found_vec tapes = { 0 };
	struct repack_children children = { 0 };
	struct err *err = find_tapes(directory, arena, &tapes);

	if (err)
		return err;
	children.paths = arena_array(arena, tapes.count + 1, sizeof(*children.paths));
	if (!children.paths)
		return err_nomem();
	mark_descendants(&tapes, ancestor);
	for (size_t i = 0; i < tapes.count; i++) {
		const struct found *found = &tapes.items[i];
		CLEAN(err_destroy) struct err *failure = NULL;
		struct capture_repacked repacked;

		if (!found->is_descendant)
			continue;
		children.paths[children.count++] = found->path;
		if (found->is_written) {
			children.left_count++;
			continue;
		}
		failure = repack_replace(found->path, found->path, level, &repacked);
		if (failure) /* e.g. no space for a second copy: the raw tape is readable as well */
			children.left_count++;
		else
			children.packed_count++;
	}
	*children_ret = children;
	return NULL;
}
