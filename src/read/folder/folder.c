#include "folder/folder.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/sort.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/hash.h"
#include "folder/use.h"
#include "session/session.h"
#include "tape/tape_import.h"
#include "tape/tape_spool.h"

VEC_DEFINE(tape_vec, struct folder_tape);

const char *const folder_side_suffixes[] = { ".index", TAPE_SPOOL_SUFFIX, NULL };

static const char tape_suffix[] = ".mtape";

static uint64_t time_of(const struct stat *status)
{
	return (uint64_t)status->st_mtim.tv_sec * 1000000000 + (uint64_t)status->st_mtim.tv_nsec;
}

/* What is on the disk: a spool has holes. */
static uint64_t bytes_of(const struct stat *status)
{
	return u64_min((uint64_t)status->st_blocks * 512, (uint64_t)status->st_size);
}

static bool is_tape_name(const char *name)
{
	const size_t len = strlen(name);

	return name[0] != '.' && len > strlen(tape_suffix) &&
	       strcmp(name + len - strlen(tape_suffix), tape_suffix) == 0;
}

/* --- a tape ----------------------------------------------------------------------------------- */

static const char *header_trouble(const struct tape_header *header, size_t bytes)
{
	if (bytes < sizeof(*header))
		return "it is cut off inside its first page";
	if (header->version != TAPE_VERSION)
		return "it is of another version of memtape";
	if (header->header_bytes != TAPE_HEADER_BYTES ||
	    (header->kind != TAPE_KIND_RAW && header->kind != TAPE_KIND_PACKED))
		return "its first page is damaged";
	return NULL;
}

static uint64_t side_bytes(const char *path)
{
	uint64_t bytes = 0;

	for (const char *const *suffix = folder_side_suffixes; *suffix; suffix++) {
		CLEAN(str_deinit) struct str name = { 0 };
		struct stat status;

		str_printf(&name, "%s%s", path, *suffix);
		if (!name.failed && lstat(name.ptr, &status) == 0 && S_ISREG(status.st_mode))
			bytes += bytes_of(&status);
	}
	return bytes;
}

/* Until something is on a tape that is written its first page is that of its spool. */
static ssize_t spool_header_read(const char *path, struct tape_header *header)
{
	CLEAN(str_deinit) struct str name = { 0 };
	CLEAN(close) int fd = -1;

	str_printf(&name, "%s" TAPE_SPOOL_SUFFIX, path);
	if (!name.failed)
		fd = open(name.ptr, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || pread(fd, header, sizeof(*header), 0) != (ssize_t)sizeof(*header))
		return 0;
	header->kind = TAPE_KIND_PACKED; /* the tape's, which says so itself in a moment */
	header->flags |= TAPE_FLAG_RECORDING;
	return (ssize_t)sizeof(*header);
}

/* False: it is no tape, or none any more. */
static bool tape_look(const char *path, struct folder_tape *tape)
{
	struct tape_header header;
	struct stat name, status;
	CLEAN(close) int fd = -1;
	ssize_t bytes;

	if (lstat(path, &name) != 0 || (!S_ISREG(name.st_mode) && !S_ISLNK(name.st_mode)))
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return false;
	bytes = pread(fd, &header, sizeof(header), 0);
	if (bytes == 0)
		bytes = spool_header_read(path, &header);
	if (bytes < (ssize_t)sizeof(header.magic) ||
	    memcmp(header.magic, TAPE_MAGIC, sizeof(header.magic)) != 0)
		return false;
	tape->path = path;
	tape->file = strrchr(path, '/') + 1;
	tape->is_link = S_ISLNK(name.st_mode);
	tape->device = status.st_dev;
	tape->inode = status.st_ino;
	tape->written_ns = time_of(&status);
	tape->file_bytes = (uint64_t)status.st_size;
	tape->bytes = bytes_of(&status) + side_bytes(path);
	tape->trouble = header_trouble(&header, (size_t)bytes);
	tape->kind = tape->trouble ? FOLDER_UNREADABLE : FOLDER_TAPE;
	if (tape->trouble)
		return true;
	memcpy(tape->uuid, header.uuid, sizeof(tape->uuid));
	tape->pid = header.pid;
	tape->is_packed = header.kind == TAPE_KIND_PACKED;
	tape->begin_ns = header.start_realtime_ns;
	tape->is_live = use_is_written(fd, &header, path);
	return true;
}

static void id_make(struct folder_tape *tape)
{
	if (tape->kind == FOLDER_TAPE) {
		for (size_t i = 0; i < TAPE_UUID_BYTES; i++)
			str_format(tape->id + 2 * i, 3, "%02x", tape->uuid[i]);
		return;
	}
	str_format(tape->id, sizeof(tape->id), "%016llx%016llx",
		   (unsigned long long)hash_bytes(tape->path, strlen(tape->path), 1),
		   (unsigned long long)hash_mix(tape->begin_ns + tape->inode));
}

/* --- a session -------------------------------------------------------------------------------- */

static struct err *words_copy(const struct manifest *manifest, struct arena *arena,
			      struct folder_tape *tape)
{
	const char **words = arena_array(arena, manifest->command_count + 1, sizeof(*words));

	if (!words)
		return err_nomem();
	for (size_t i = 0; i < manifest->command_count; i++) {
		words[i] = arena_strdup(arena, manifest->command[i]);
		if (!words[i])
			return err_nomem();
	}
	tape->command = words;
	tape->command_count = manifest->command_count;
	tape->host = manifest->host ? arena_strdup(arena, manifest->host) : NULL;
	return manifest->host && !tape->host ? err_nomem() : NULL;
}

/* All regular files in it, whatever they are: they are what the folder takes. */
static void session_sizes(const char *path, struct folder_tape *tape)
{
	CLEAN(closedir) DIR *entries = opendir(path);

	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		struct stat status;

		if (fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(status.st_mode))
			continue;
		tape->bytes += bytes_of(&status);
		if (is_tape_name(entry->d_name))
			tape->written_ns = u64_max(tape->written_ns, time_of(&status));
	}
}

static bool member_is_live(const struct session_member *member)
{
	CLEAN(close) int fd = open(member->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && use_is_written(fd, &member->header, member->path);
}

static struct err *session_look(const char *path, const struct stat *status, struct arena *arena,
				struct folder_tape *tape)
{
	CLEAN(session_close) struct session session = { .count = 0 };
	struct err *err = session_open(path, &session);

	tape->path = path;
	tape->file = strrchr(path, '/') + 1;
	tape->device = status->st_dev;
	tape->inode = status->st_ino;
	session_sizes(path, tape);
	if (err) {
		tape->kind = FOLDER_UNREADABLE;
		tape->trouble = arena_strdup(arena, err_message(err));
		tape->written_ns = u64_max(tape->written_ns, time_of(status));
		err_destroy(err);
		return tape->trouble ? NULL : err_nomem();
	}
	tape->kind = FOLDER_SESSION;
	tape->tape_count = session.count;
	tape->begin_ns = session.manifest.begin_realtime_ns;
	/* While it is recorded its first tape is written, or the last ones are. */
	for (size_t i = 0; i < session.count && !session.manifest.has_ended && !tape->is_live; i++)
		tape->is_live = member_is_live(&session.members[i]);
	return words_copy(&session.manifest, arena, tape);
}

/* --- all of them ------------------------------------------------------------------------------ */

static int newest_first(const void *context, const void *a, const void *b)
{
	const struct folder_tape *left = a, *right = b;

	(void)context;
	return left->written_ns != right->written_ns
		       ? sort_compare_u64(right->written_ns, left->written_ns)
		       : strcmp(right->file, left->file);
}

/* *is_one_ret: the entry is a tape or a session. */
static struct err *entry_look(const char *path, const char *name, struct arena *arena,
			      struct folder_tape *tape, bool *is_one_ret)
{
	struct stat status;

	if (is_tape_name(name)) {
		*is_one_ret = tape_look(path, tape);
		return NULL;
	}
	*is_one_ret = name[0] != '.' && lstat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
		      session_is(path);
	return *is_one_ret ? session_look(path, &status, arena, tape) : NULL;
}

static struct err *entries_read(struct folder *folder, struct tape_vec *tapes)
{
	CLEAN(closedir) DIR *entries = opendir(folder->path);

	if (!entries)
		return err_errno("%s", folder->path);
	for (struct dirent *entry; (entry = readdir(entries));) {
		struct folder_tape tape = { .path = NULL };
		const bool may_be = is_tape_name(entry->d_name) || entry->d_type == DT_DIR ||
				    entry->d_type == DT_UNKNOWN;
		bool is_one = false;
		const char *path;
		struct err *err;

		if (!may_be || entry->d_name[0] == '.')
			continue;
		path = arena_printf(&folder->arena, "%s/%s", folder->path, entry->d_name);
		if (!path)
			return err_nomem();
		err = entry_look(path, entry->d_name, &folder->arena, &tape, &is_one);
		if (err)
			return err;
		if (!is_one)
			continue;
		id_make(&tape);
		if (!tape_vec_push(tapes, tape))
			return err_nomem();
	}
	return NULL;
}

struct err *folder_read(const char *path, struct folder *folder)
{
	CLEAN(tape_vec_deinit) struct tape_vec tapes = { 0 };
	size_t len = strlen(path);
	struct err *err;

	assert(len > 0);
	*folder = (struct folder) { .count = 0 };
	while (len > 1 && path[len - 1] == '/')
		len--;
	folder->path = arena_text(&folder->arena, path, len);
	err = folder->path ? entries_read(folder, &tapes) : err_nomem();
	if (!err &&
	    !sort_stable(tapes.items, tapes.count, sizeof(*tapes.items), newest_first, NULL))
		err = err_nomem();
	if (err) {
		folder_close(folder);
		return err;
	}
	folder->count = tapes.count;
	folder->tapes = arena_array(&folder->arena, folder->count + 1, sizeof(*folder->tapes));
	if (!folder->tapes) {
		folder_close(folder);
		return err_nomem();
	}
	if (folder->count > 0)
		memcpy(folder->tapes, tapes.items, folder->count * sizeof(*folder->tapes));
	return NULL;
}

void folder_close(struct folder *folder)
{
	arena_deinit(&folder->arena);
	*folder = (struct folder) { .count = 0 };
}
