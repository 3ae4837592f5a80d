#include "collect/session_writer.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "base/vec.h"
#include "collect/pattern.h"
#include "collect/repack.h"
#include "collect/session_manifest.h"
#include "collect/session_members.h"
#include "tape/tape_import.h"
#include "tape/tape_spool.h"

enum {
	VARIABLE_BYTES = 16 << 10,
	NUMBER_MAX = 1000000,	     /* of %n */
	LOOK_NS = 100 * 1000 * 1000, /* between two looks at those that may have ended, */
	LOOK_SHARE = 4,		     /* or this part of what a look took, if it is more */
	EVENTS_BYTES = 16 << 10
};

static const char variable[] = "MEMTAPE_OUTPUT=";
static const char tape_suffix[] = ".mtape";

VEC_DEFINE(name_vec, char *);

struct session_writer {
	const struct collector_settings *settings;
	char *variable; /* VARIABLE_BYTES, shared */
	char *path;	/* of the folder; NULL: not begun */
	char *pattern;
	char *folder; /* absolute */
	int folder_fd, manifest_fd, inotify_fd, stop_fd;
	struct session_members members;
	struct name_vec names; /* of tapes that may still be written */
	bool was_flooded;      /* names are missing */
	uint32_t packed_count;
	pthread_t thread;
	bool has_thread;
};

/* --- the folder ------------------------------------------------------------------------------ */

static bool has_suffix(const char *name, const char *suffix)
{
	const size_t len = strlen(name), suffix_len = strlen(suffix);

	return len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

/* Names that only memtape gives. */
static bool is_ours(const char *name)
{
	return strcmp(name, TAPE_SESSION_MANIFEST) == 0 || has_suffix(name, tape_suffix) ||
	       has_suffix(name, ".mtape.index") || has_suffix(name, ".mtape" TAPE_SPOOL_SUFFIX) ||
	       strncmp(name, TAPE_SESSION_MERGED, strlen(TAPE_SESSION_MERGED)) == 0;
}

/* Of an earlier session. What else is in there is none of ours, and keeps the folder. */
static struct err *folder_empty(const char *path)
{
	CLEAN(closedir) DIR *entries = opendir(path);
	bool is_session = false;
	size_t count = 0;

	if (!entries)
		return err_errno("%s", path);
	for (struct dirent *entry; (entry = readdir(entries)); count++)
		is_session |= strcmp(entry->d_name, TAPE_SESSION_MANIFEST) == 0;
	if (!is_session && count > 2) /* . and .. */
		return err_new(ERR_STATE,
			       "%s is a folder, but not of a recording; -o names another one",
			       path);
	rewinddir(entries);
	for (struct dirent *entry; (entry = readdir(entries));)
		if (is_ours(entry->d_name) && unlinkat(dirfd(entries), entry->d_name, 0) < 0)
			return err_errno("%s/%s", path, entry->d_name);
	return NULL;
}

static struct err *folder_make(struct session_writer *session, const struct program *program,
			       pid_t pid)
{
	const struct collector_settings *settings = session->settings;
	const bool numbered = pattern_has(settings->output, 'n');
	struct pattern_values values = { .program = program->name,
					 .pid = pid,
					 .start_seconds = time(NULL) };

	for (;; values.number++) {
		CLEAN(str_deinit) struct str path = { 0 };

		pattern_expand(&path, settings->output, &values);
		while (path.len > 1 && path.ptr[path.len - 1] == '/')
			path.ptr[--path.len] = '\0';
		if (path.failed)
			return err_nomem();
		session->path = strdup(path.ptr);
		if (!session->path)
			return err_nomem();
		if (mkdir(session->path, 0700) == 0)
			return NULL;
		if (errno == EEXIST && settings->overwrite && !numbered)
			return folder_empty(session->path);
		if (errno != EEXIST || !numbered || values.number >= NUMBER_MAX)
			break;
		free(steal(session->path));
	}
	if (errno != EEXIST)
		return err_errno("%s", session->path);
	return err_new(ERR_STATE, "%s exists; --force overwrites it, -o names another",
		       session->path);
}

/* Absolute, for processes change their directory. */
static struct err *pattern_make(struct session_writer *session)
{
	CLEAN(free) char *folder = realpath(session->path, NULL);
	CLEAN(str_deinit) struct str pattern = { 0 };

	if (!folder)
		return err_errno("%s", session->path);
	for (const char *at = folder; *at; at++) { /* its percent signs are literal */
		if (*at == '%')
			str_add_char(&pattern, '%');
		str_add_char(&pattern, *at);
	}
	str_add(&pattern, "/%e.%p");
	str_add(&pattern, tape_suffix);
	if (pattern.failed)
		return err_nomem();
	if (pattern.len >= VARIABLE_BYTES - sizeof(variable))
		return err_new(ERR_LIMIT, "%s: the path is too long", session->path);
	memcpy(session->variable + strlen(variable), pattern.ptr, pattern.len + 1);
	session->folder = steal(folder);
	return NULL;
}

/* As the user wrote the folder: names of tapes that are printed begin with it. */
static struct err *own_pattern_make(struct session_writer *session)
{
	CLEAN(str_deinit) struct str pattern = { 0 };

	for (const char *at = session->path; *at; at++) {
		if (*at == '%')
			str_add_char(&pattern, '%');
		str_add_char(&pattern, *at);
	}
	str_add(&pattern, "/%e.%p");
	str_add(&pattern, tape_suffix);
	session->pattern = pattern.failed ? NULL : strdup(pattern.ptr);
	return session->pattern ? NULL : err_nomem();
}

/* --- packing --------------------------------------------------------------------------------- */

enum outcome { WAITS, PACKED, LEFT, NONE };

/* Of a tape in the folder: packed and noted if nobody writes to it any more. */
static enum outcome look_at(struct session_writer *session, const char *name, bool is_last)
{
	const int level = session->settings->level ? session->settings->level : CAPTURE_PACK_LEVEL;
	CLEAN(str_deinit) struct str path = { 0 };
	struct capture_repacked repacked;
	struct tape_header header;
	struct err *err;

	str_printf(&path, "%s/%s", session->path, name);
	if (path.failed)
		return WAITS;
	switch (repack_state(path.ptr, &header)) {
	case REPACK_NONE:
		return NONE;
	case REPACK_WRITTEN:
		if (is_last)
			err_destroy(
				session_manifest_tape(session->manifest_fd, name, &header, false));
		return WAITS;
	case REPACK_RAW:
		break;
	}
	err = repack_replace(path.ptr, path.ptr, level, &repacked);
	err_destroy(session_manifest_tape(session->manifest_fd, name, &header, err == NULL));
	session->packed_count += err == NULL;
	if (!err)
		return PACKED;
	err_destroy(err); /* no space for a second copy: the raw tape is readable as well */
	return LEFT;
}

static void names_read(struct session_writer *session)
{
	_Alignas(struct inotify_event) char bytes[EVENTS_BYTES];
	ssize_t count;

	while ((count = read(session->inotify_fd, bytes, sizeof(bytes))) > 0) {
		for (ssize_t at = 0; at < count;) {
			const struct inotify_event *event =
				(const struct inotify_event *)(const void *)(bytes + at);
			char *name;

			at += (ssize_t)(sizeof(*event) + event->len);
			session->was_flooded |= (event->mask & IN_Q_OVERFLOW) != 0;
			if (event->len == 0 || !has_suffix(event->name, tape_suffix))
				continue;
			session_members_add(&session->members, event->name);
			name = strdup(event->name);
			if (!name || !name_vec_push(&session->names, name)) {
				session->was_flooded = true; /* session_writer_end finds it */
				free(name);
			}
		}
	}
}

static bool is_stopping(const struct session_writer *session)
{
	struct pollfd stop = { .fd = session->stop_fd, .events = POLLIN };

	return poll(&stop, 1, 0) > 0;
}

static void names_look(struct session_writer *session)
{
	struct name_vec *names = &session->names;
	size_t kept = 0;

	for (size_t i = 0; i < names->count; i++) {
		const enum outcome outcome =
			is_stopping(session) ? WAITS : look_at(session, names->items[i], false);

		if (outcome == WAITS) {
			names->items[kept++] = names->items[i];
			continue;
		}
		if (outcome != NONE)
			session_members_over(&session->members, names->items[i]);
		free(names->items[i]);
	}
	names->count = kept;
}

/* Tapes that begin and processes that end are noticed at once: either may be gone soon. */
static bool events_take(struct session_writer *session, uint64_t until_ns)
{
	bool is_stopping = false;

	for (uint64_t now_ns; !is_stopping && (now_ns = monotonic_ns()) < until_ns;) {
		session_members_wait(&session->members, session->stop_fd, session->inotify_fd,
				     (int)div_up(until_ns - now_ns, 1000000), &is_stopping);
		names_read(session);
		session_members_take(&session->members);
		session_members_end(&session->members);
	}
	return is_stopping;
}

static void *packer_main(void *context)
{
	struct session_writer *session = context;
	uint64_t pause_ns = LOOK_NS;

	while (!events_take(session, monotonic_ns() + pause_ns)) {
		const uint64_t begin_ns = monotonic_ns();

		session_members_check(&session->members);
		names_look(session);
		session_members_measure(&session->members);
		pause_ns = u64_max(LOOK_NS, (monotonic_ns() - begin_ns) / LOOK_SHARE);
	}
	return NULL;
}

static void packer_stop(struct session_writer *session)
{
	const uint64_t one = 1;

	if (!session->has_thread)
		return;
	if (write(session->stop_fd, &one, sizeof(one)) != sizeof(one))
		assert(!"an eventfd takes a one");
	pthread_join(session->thread, NULL);
	session->has_thread = false;
	names_read(session);
	session_members_take(&session->members);
	session_members_end(&session->members);
}

/* --- the whole ------------------------------------------------------------------------------- */

struct err *session_writer_create(const struct collector_settings *settings,
				  struct session_writer **session_ret)
{
	CLEAN(session_writer_destroy) struct session_writer *session = calloc(1, sizeof(*session));

	assert(settings->session && settings->follow);
	if (!session)
		return err_nomem();
	session->settings = settings;
	session->folder_fd = session->manifest_fd = session->inotify_fd = session->stop_fd = -1;
	session->variable = mmap(NULL, VARIABLE_BYTES, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (session->variable == MAP_FAILED) {
		session->variable = NULL;
		return err_nomem();
	}
	memcpy(session->variable, variable, sizeof(variable));
	*session_ret = steal(session);
	return NULL;
}

/* The program did not start, or was not recorded: nobody has use for a manifest alone. */
static void folder_remove(const struct session_writer *session)
{
	CLEAN(closedir) DIR *entries = opendir(session->path);

	if (!entries)
		return;
	for (struct dirent *entry; (entry = readdir(entries));)
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, TAPE_SESSION_MANIFEST) != 0)
			return;
	unlinkat(dirfd(entries), TAPE_SESSION_MANIFEST, 0);
	rmdir(session->path);
}

void session_writer_destroy(struct session_writer *session)
{
	if (!session)
		return;
	packer_stop(session);
	session_members_deinit(&session->members);
	if (session->manifest_fd >= 0)
		folder_remove(session);
	for (size_t i = 0; i < session->names.count; i++)
		free(session->names.items[i]);
	name_vec_deinit(&session->names);
	for (size_t i = 0; i < 4; i++) {
		const int fds[] = { session->folder_fd, session->manifest_fd, session->inotify_fd,
				    session->stop_fd };

		if (fds[i] >= 0)
			close(fds[i]);
	}
	if (session->variable)
		munmap(session->variable, VARIABLE_BYTES);
	free(session->path);
	free(session->pattern);
	free(session->folder);
	free(session);
}

char *session_writer_variable(const struct session_writer *session)
{
	return session->variable;
}

const char *session_writer_path(const struct session_writer *session)
{
	assert(session->path);
	return session->path;
}

const char *session_writer_pattern(const struct session_writer *session)
{
	assert(session->pattern);
	return session->pattern;
}

struct err *session_writer_begin(struct session_writer *session, const struct program *program,
				 pid_t pid)
{
	struct err *err = folder_make(session, program, pid);

	assert(pid > 0);
	if (!err)
		err = pattern_make(session);
	if (!err)
		err = own_pattern_make(session);
	if (err)
		return err;
	session->folder_fd = open(session->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	session->manifest_fd =
		openat(session->folder_fd, TAPE_SESSION_MANIFEST,
		       O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (session->manifest_fd < 0)
		return err_errno("%s/" TAPE_SESSION_MANIFEST, session->path);
	session_members_init(&session->members, session->folder_fd, session->manifest_fd, pid);
	session_members_listen(&session->members, session->folder);
	session->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	session->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (session->inotify_fd >= 0 &&
	    inotify_add_watch(session->inotify_fd, session->path, IN_CREATE) < 0)
		session->was_flooded = true; /* then all is packed at the end */
	return session_manifest_begin(session->manifest_fd, session->settings->follow_names,
				      program, pid);
}

void session_writer_watch(struct session_writer *session)
{
	sigset_t all, before;

	assert(session->path && !session->has_thread);
	if (session->inotify_fd < 0 || session->stop_fd < 0)
		return;
	sigfillset(&all); /* signals are for the first thread */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	session->has_thread = pthread_create(&session->thread, NULL, packer_main, session) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* A tape that is in the folder at the end. */
static struct err *take_last(struct session_writer *session, const char *name, const char *own,
			     struct arena *arena, struct session_tapes *tapes)
{
	const char *path = arena_printf(arena, "%s/%s", session->path, name);
	enum outcome outcome;

	if (!path)
		return err_nomem();
	if (own && strcmp(path, own) == 0)
		return NULL;
	outcome = look_at(session, name, true);
	tapes->left_count += outcome == WAITS || outcome == LEFT;
	if (tapes->path_count < SESSION_PATHS_MAX)
		tapes->paths[tapes->path_count++] = path;
	return NULL;
}

struct err *session_writer_end(struct session_writer *session, const char *own, struct arena *arena,
			       struct session_tapes *tapes_ret)
{
	CLEAN(closedir) DIR *entries = opendir(session->path);
	struct session_tapes tapes = { 0 };
	struct err *err = NULL;
	uint64_t count = 0;

	packer_stop(session);
	tapes.paths = arena_array(arena, SESSION_PATHS_MAX, sizeof(*tapes.paths));
	if (!entries)
		return err_errno("%s", session->path);
	if (!tapes.paths)
		return err_nomem();
	for (struct dirent *entry; !err && (entry = readdir(entries));) {
		if (!has_suffix(entry->d_name, tape_suffix))
			continue;
		count++;
		err = take_last(session, entry->d_name, own, arena, &tapes);
	}
	if (!err)
		err = session_manifest_end(session->manifest_fd, count);
	tapes.packed_count = session->packed_count;
	*tapes_ret = tapes;
	return err;
}
