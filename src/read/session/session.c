#include "session/session.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/sort.h"
#include "base/str.h"

enum { MANIFEST_BYTES_MAX = 256 << 20, CHOICES_SHOWN = 12 };

VEC_DEFINE(member_vec, struct session_member);

/* --- the folder ------------------------------------------------------------------------------ */

static bool is_tape_name(const char *name)
{
	static const char suffix[] = ".mtape";
	const size_t len = strlen(name);

	return len > strlen(suffix) && strcmp(name + len - strlen(suffix), suffix) == 0;
}

/* False: it is no tape, or has no header yet. */
static bool member_read(const char *path, struct session_member *member)
{
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct tape_header *header = &member->header;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    pread(fd, header, sizeof(*header), 0) != sizeof(*header) ||
	    memcmp(header->magic, TAPE_MAGIC, sizeof(header->magic)) != 0 || header->pid == 0)
		return false;
	member->path = path;
	member->file = strrchr(path, '/') + 1;
	member->bytes = (uint64_t)status.st_size;
	member->pid = header->pid;
	member->parent_pid = header->parent_pid;
	member->parent = SESSION_NOBODY;
	member->start_monotonic_ns = header->start_monotonic_ns;
	member->start_realtime_ns = header->start_realtime_ns;
	return true;
}

static struct err *folder_read(struct session *session, struct member_vec *members)
{
	CLEAN(closedir) DIR *entries = opendir(session->path);

	if (!entries)
		return err_errno("%s", session->path);
	for (struct dirent *entry; (entry = readdir(entries));) {
		struct session_member member = { .path = NULL };
		const char *path;

		if (!is_tape_name(entry->d_name))
			continue;
		path = arena_printf(&session->arena, "%s/%s", session->path, entry->d_name);
		if (!path)
			return err_nomem();
		if (member_read(path, &member) && !member_vec_push(members, member))
			return err_nomem();
	}
	return NULL;
}

static struct err *manifest_read(struct session *session)
{
	CLEAN(str_deinit) struct str path = { 0 };
	CLEAN(close) int fd = -1;
	CLEAN(free) char *text = NULL;
	struct stat status;
	ssize_t bytes;

	str_printf(&path, "%s/" TAPE_SESSION_MANIFEST, session->path);
	if (path.failed)
		return err_nomem();
	fd = open(path.ptr, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) < 0)
		return err_errno("%s", path.ptr);
	if (!S_ISREG(status.st_mode) || status.st_size > MANIFEST_BYTES_MAX)
		return err_new(ERR_FORMAT, "%s is not the manifest of a recording", path.ptr);
	text = malloc((size_t)status.st_size + 1);
	if (!text)
		return err_nomem();
	bytes = read(fd, text, (size_t)status.st_size);
	if (bytes < 0)
		return err_errno("%s", path.ptr);
	return err_wrap(manifest_parse(text, (size_t)bytes, &session->arena, &session->manifest),
			"%s", path.ptr);
}

static int by_time(const void *context, const void *a, const void *b)
{
	const struct session_member *left = a, *right = b;

	(void)context;
	return left->start_monotonic_ns != right->start_monotonic_ns
		       ? sort_compare_u64(left->start_monotonic_ns, right->start_monotonic_ns)
		       : strcmp(left->file, right->file);
}

/* A part of a tape that was taken while it was recorded is no other process: the longest counts. */
static struct err *copies_drop(struct member_vec *members)
{
	CLEAN(map_deinit) struct map known = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < members->count; i++) {
		const struct session_member *member = &members->items[i];
		bool is_new;
		uint64_t *place = map_put(
			&known, hash_bytes(member->header.uuid, TAPE_UUID_BYTES, 0), &is_new);

		if (!place)
			return err_nomem();
		if (is_new) {
			*place = kept;
			members->items[kept++] = *member;
		} else if (member->bytes > members->items[*place].bytes) {
			members->items[*place] = *member;
		}
	}
	members->count = kept;
	return NULL;
}

/* --- who is whose child ----------------------------------------------------------------------- */

struct kin {
	struct map by_uuid; /* hash -> index */
	struct map by_pid;  /* the latest so far */
};

static bool has_uuid(const uint8_t *uuid)
{
	static const uint8_t none[TAPE_UUID_BYTES];

	return memcmp(uuid, none, sizeof(none)) != 0;
}

/* The one that it names, the same process before an exec, or the process that is its parent. */
static void parent_find(const struct kin *kin, struct session_member *member)
{
	const bool is_forked = (member->header.flags & TAPE_FLAG_FORKED) != 0;
	const uint64_t *named = NULL, *same = map_find(&kin->by_pid, member->pid);
	const uint64_t *parent = map_find(&kin->by_pid, member->parent_pid);

	if (has_uuid(member->header.parent_uuid))
		named = map_find(&kin->by_uuid,
				 hash_bytes(member->header.parent_uuid, TAPE_UUID_BYTES, 0));
	if (is_forked) {
		member->start = TAPE_MEMBER_FORKED;
		member->parent = named ? *named : parent ? *parent : SESSION_NOBODY;
	} else if (named || same) {
		member->start = TAPE_MEMBER_EXEC;
		member->parent = named ? *named : *same;
	} else {
		member->start = TAPE_MEMBER_STARTED;
		member->parent = parent ? *parent : SESSION_NOBODY;
	}
}

static struct err *kin_find(struct session *session)
{
	CLEAN(map_deinit) struct map by_uuid = { 0 };
	CLEAN(map_deinit) struct map by_pid = { 0 };
	struct kin kin;

	for (size_t i = 0; i < session->count; i++) {
		struct session_member *member = &session->members[i];
		uint64_t *place;

		kin = (struct kin) { by_uuid, by_pid };
		parent_find(&kin, member);
		place = map_put(&by_uuid, hash_bytes(member->header.uuid, TAPE_UUID_BYTES, 0),
				NULL);
		if (!place)
			return err_nomem();
		*place = i;
		place = map_put(&by_pid, member->pid, NULL);
		if (!place)
			return err_nomem();
		*place = i;
	}
	return NULL;
}

/* --- opening ---------------------------------------------------------------------------------- */

bool session_is(const char *path)
{
	CLEAN(str_deinit) struct str name = { 0 };
	struct stat status;

	str_printf(&name, "%s/" TAPE_SESSION_MANIFEST, path);
	return !name.failed && stat(name.ptr, &status) == 0;
}

/* What the manifest says of the tapes that are here, and of how many that are not. */
static struct err *manifest_join(struct session *session)
{
	CLEAN(interner_deinit) struct interner here = { 0 };
	const struct manifest *manifest = &session->manifest;

	for (size_t i = 0; i < session->count; i++) {
		const char *file = session->members[i].file;

		if (interner_put(&here, file, strlen(file)) != i)
			return err_nomem();
	}
	for (size_t i = 0; i < manifest->tapes.count; i++) {
		const char *name = manifest->tapes.items[i];

		session->missing_count += interner_find(&here, name, strlen(name)) == UINT32_MAX;
	}
	session->usage_members = arena_array(&session->arena, manifest->usage_tapes.count + 1,
					     sizeof(*session->usage_members));
	if (!session->usage_members)
		return err_nomem();
	for (uint32_t i = 0; i < manifest->usage_tapes.count; i++) {
		const char *name = manifest->usage_tapes.texts[i];

		session->usage_members[i] = interner_find(&here, name, strlen(name));
	}
	for (size_t i = 0; i < manifest->ends.count; i++) {
		const struct manifest_end *end = &manifest->ends.items[i];
		const uint32_t index = interner_find(&here, end->tape, strlen(end->tape));

		if (index != UINT32_MAX)
			session->members[index].end = end;
	}
	return NULL;
}

static struct err *members_take(struct session *session, struct member_vec *members)
{
	struct err *err;

	if (!sort_stable(members->items, members->count, sizeof(*members->items), by_time, NULL))
		return err_nomem();
	err = copies_drop(members);
	if (err)
		return err;
	session->members =
		arena_array(&session->arena, members->count + 1, sizeof(*session->members));
	if (!session->members)
		return err_nomem();
	session->count = members->count;
	for (size_t i = 0; i < members->count; i++)
		session->members[i] = members->items[i];
	err = kin_find(session);
	return err ? err : manifest_join(session);
}

struct err *session_open(const char *path, struct session *session)
{
	CLEAN(member_vec_deinit) struct member_vec members = { 0 };
	struct err *err;
	size_t len = strlen(path);

	*session = (struct session) { .count = 0 };
	while (len > 1 && path[len - 1] == '/')
		len--;
	session->path = arena_text(&session->arena, path, len);
	err = session->path ? manifest_read(session) : err_nomem();
	if (!err)
		err = folder_read(session, &members);
	if (!err && members.count == 0)
		err = err_new(ERR_FORMAT, "%s has no tapes", path);
	if (!err)
		err = members_take(session, &members);
	if (err)
		session_close(session);
	return err;
}

void session_close(struct session *session)
{
	manifest_deinit(&session->manifest);
	arena_deinit(&session->arena);
	*session = (struct session) { .count = 0 };
}

/* --- one of them ------------------------------------------------------------------------------ */

static bool is_named(const struct session_member *member, const char *word, uint64_t pid)
{
	const size_t len = strlen(word);

	if (pid != 0)
		return member->pid == pid;
	return strcmp(member->file, word) == 0 ||
	       (strncmp(member->file, word, len) == 0 && member->file[len] == '.');
}

struct err *session_find(const struct session *session, const char *word,
			 const struct session_member **member_ret)
{
	CLEAN(str_deinit) struct str choices = { 0 };
	const struct session_member *found = NULL;
	uint64_t pid = 0;
	size_t count = 0;

	if (!str_parse_u64(word, &pid))
		pid = 0;
	for (size_t i = 0; i < session->count; i++) {
		const struct session_member *member = &session->members[i];

		if (!is_named(member, word, pid))
			continue;
		if (count++ < CHOICES_SHOWN)
			str_printf(&choices, "%s%s", found ? ", " : "", member->file);
		found = member;
	}
	if (count == 1 || (pid != 0 && found)) { /* the last program of the process */
		*member_ret = found;
		return NULL;
	}
	if (count == 0)
		return err_new(ERR_NOT_FOUND,
			       "--process %s: no such process in %s; `memtape report %s "
			       "processes` shows all",
			       word, session->path, session->path);
	return err_new(ERR_USAGE, "--process %s: there are %zu of these: %s%s", word, count,
		       str_text(&choices), count > CHOICES_SHOWN ? " ..." : "");
}
