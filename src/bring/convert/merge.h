/*
 * merge: the tapes of a session as one tape, on which every question about a tape can be asked.
 *
 * Each process has an address space of its own (TAPE_MEMBER_ADDRESS_BITS), and the outermost frame
 * of its stacks is the process. Times are those of the session, so live bytes are those of all
 * processes at that moment. Objects that several processes have loaded are one. Mappings, memory
 * usage, latencies and leak scans are left out: they are of one process.
 *
 * The processes are written one after the other, each in streams that are free at that time: memory
 * is that of one tape, of all stacks, and of the live blocks of those that have forked.
 */
#ifndef MEMTAPE_CONVERT_MERGE_H
#define MEMTAPE_CONVERT_MERGE_H

#include "session/session.h"

struct merged {
	uint64_t event_count;
	uint64_t bytes_out;
	size_t unread_count; /* tapes that could not be read; the merged one has notes of them */
};

/* path is replaced. ERR_LIMIT: more than TAPE_MEMBERS_MAX programs. */
struct err *merge_session(const struct session *session, const char *path,
			  struct merged *merged_ret);

/* Whether path is what merge_session would make of the session as it is now. */
bool merge_is_current(const struct session *session, const char *path);

#endif
