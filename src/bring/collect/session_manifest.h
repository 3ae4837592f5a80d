/*
 * session_manifest: the lines of a session's manifest (docs/tape-format.md), each in one write, to a
 * file that is open for appending. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_SESSION_MANIFEST_H
#define MEMTAPE_COLLECT_SESSION_MANIFEST_H

#include "base/err.h"
#include "collect/program.h"
#include "tape/tape.h"

/* names: of the programs that are recorded; NULL or "": all are. */
struct err *session_manifest_begin(int fd, const char *names, const struct program *program,
				   pid_t pid);
struct err *session_manifest_tape(int fd, const char *name, const struct tape_header *header,
				  bool is_packed);
/* How the tape's process has ended: by a signal with this number, or with this exit code. */
struct session_manifest_end {
	const char *tape;
	uint32_t pid;
	bool is_signal;
	int number;
	uint64_t monotonic_ns; /* when that was noticed */
};
struct err *session_manifest_status(int fd, const struct session_manifest_end *end);
/* What memory a process has, in bytes. */
struct session_manifest_usage {
	const char *tape;
	uint64_t rss, pss, private;
};

/* Of several at one moment. */
struct err *session_manifest_usages(int fd, uint64_t monotonic_ns,
				    const struct session_manifest_usage *usages, size_t count);
struct err *session_manifest_end(int fd, uint64_t tape_count);

#endif
