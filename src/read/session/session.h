/*
 * session: the recording of a process tree: a folder with a manifest and the tapes of its processes
 * (docs/tape-format.md). Opening it reads the headers of the tapes and finds out who is whose child.
 *
 * The tapes are the truth: those that the manifest does not name - their processes run, or the
 * collector was killed - count too, and those that it names and that are gone are counted.
 */
#ifndef MEMTAPE_SESSION_SESSION_H
#define MEMTAPE_SESSION_SESSION_H

#include "session/manifest.h"
#include "tape/tape.h"
#include "tape/tape_import.h"

static const size_t SESSION_NOBODY = SIZE_MAX;

/* A program in a process: one that execs another has two, with equal pids. */
struct session_member {
	const char *path; /* of the tape */
	const char *file; /* its name in the folder */
	uint32_t pid;
	uint32_t parent_pid; /* when it began */
	size_t parent;	     /* its parent, or what it was before an exec; SESSION_NOBODY */
	enum tape_member_start start;
	uint64_t start_monotonic_ns;
	uint64_t start_realtime_ns;
	const struct manifest_end *end; /* as the kernel said; NULL: not known */
	uint64_t bytes;			/* of the file */
	struct tape_header header;
};

struct session {
	const char *path;
	struct manifest manifest;
	struct session_member *members; /* in order of their beginning: parents come first */
	size_t count;
	uint32_t *usage_members; /* of each of manifest.usage_tapes: the member; UINT32_MAX: none */
	size_t missing_count;	 /* tapes that the manifest names and that are gone */
	struct arena arena;
};

/* Whether the path is a folder with a manifest. */
bool session_is(const char *path);

/* ERR_FORMAT: not a session, or one without tapes. Undone by session_close. */
struct err *session_open(const char *path, struct session *session);
void session_close(struct session *session); /* all zeros is fine */
CLEAN_DEFINE_DEINIT(session_close, struct session);

/*
 * The member with this pid, of several (exec) the last; or else whose tape's name begins with
 * "NAME.", or is it. ERR_NOT_FOUND: there is none, ERR_USAGE: there are several; both say what there is.
 */
struct err *session_find(const struct session *session, const char *word,
			 const struct session_member **member_ret);

#endif
