/*
 * session_writer: the recording of a process tree (settings.session): a folder with a tape for each
 * process and a manifest (docs/tape-format.md), which is written line by line, so that what a
 * killed collector leaves can be read.
 *
 * While the program runs, a thread packs the tapes of processes that have ended. It keeps the names
 * of those that run, and no descriptors of them. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_SESSION_WRITER_H
#define MEMTAPE_COLLECT_SESSION_WRITER_H

#include "collect/collector.h"

struct session_writer;

/* Nothing is created in the file system yet. */
struct err *session_writer_create(const struct collector_settings *settings,
				  struct session_writer **session_ret);

/* Ends the thread. A folder without a tape is removed. NULL is fine. */
void session_writer_destroy(struct session_writer *session);
CLEAN_DEFINE(session_writer_destroy, struct session_writer *);

/*
 * "MEMTAPE_OUTPUT=..." for the program's environment. In shared memory: a child forked before
 * session_writer_begin sees what that writes. Lives as long as the session.
 */
char *session_writer_variable(const struct session_writer *session);

/* The folder and its manifest; settings.overwrite: of an earlier session, which is removed. */
struct err *session_writer_begin(struct session_writer *session, const struct program *program,
				 pid_t pid);

/* Of the folder, as the user wrote it; and the pattern of the tapes in it. After session_writer_begin. */
const char *session_writer_path(const struct session_writer *session);
const char *session_writer_pattern(const struct session_writer *session);

/* Packs what ends, from now on. Without a thread everything is packed by session_writer_end. */
void session_writer_watch(struct session_writer *session);

struct session_tapes {
	const char **paths; /* of the processes other than the first, at most SESSION_PATHS_MAX */
	uint32_t path_count;
	uint32_t packed_count;
	uint32_t left_count; /* still raw: their process is running, or packing failed */
};

enum { SESSION_PATHS_MAX = 1000 };

/* Ends the thread, packs the rest, and closes the manifest. own: the first process's tape. */
struct err *session_writer_end(struct session_writer *session, const char *own, struct arena *arena,
			       struct session_tapes *tapes_ret);

#endif
