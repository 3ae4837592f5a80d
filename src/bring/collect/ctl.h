/*
 * ctl: a recording is controlled while it runs. Its collector listens on a socket whose name has the
 * number of the recorded process (abstract, unix(7): nothing is left behind by a killed process);
 * `memtape ctl` connects to it. Each side checks by the kernel's word who the other is: only the
 * user who records, and root, get an answer, and only from such a process is one believed.
 *
 * A connection is one request and its reply, each one message (SOCK_SEQPACKET).
 */
#ifndef MEMTAPE_COLLECT_CTL_H
#define MEMTAPE_COLLECT_CTL_H

#include <sys/types.h>

#include "base/err.h"

enum { CTL_TEXT_BYTES = 256, CTL_PATH_BYTES = 4096, CTL_PENDING_MAX = 8 };

enum ctl_command {
	CTL_STATUS,
	CTL_START,     /* allocations are recorded again */
	CTL_STOP,      /* or no more */
	CTL_MARK,      /* a mark, now; its text */
	CTL_SNAPSHOT,  /* which memory is resident, now, and a mark */
	CTL_LEAK_SCAN, /* answered when it has been made */
	CTL_SHOW       /* the tape is brought up to date, as by `record --live` */
};

enum { CTL_COMMAND_LAST = CTL_SHOW };

struct ctl_request {
	uint32_t magic; /* CTL_MAGIC */
	uint32_t version;
	uint32_t command;	   /* enum ctl_command */
	uint32_t heuristics;	   /* LEAK_SCAN: set of enum tape_scan_heuristic, or CTL_USUAL */
	uint32_t wants_copy;	   /* LEAK_SCAN, SNAPSHOT: 1: the spool comes with the reply */
	char text[CTL_TEXT_BYTES]; /* of a mark; NUL-terminated */
};

#define CTL_USUAL UINT32_MAX /* the heuristics of the recording */

enum ctl_result {
	CTL_DONE,
	CTL_UNCHANGED, /* start, stop: it was so already */
	CTL_REFUSED    /* text says why */
};

/* The state after the request. */
struct ctl_reply {
	uint32_t magic;
	uint32_t version;
	uint32_t result;       /* enum ctl_result */
	uint32_t is_recording; /* 0: the tape has ended, or recording has not begun */
	uint32_t is_paused;
	uint32_t is_attached;
	uint32_t scan_count; /* leak scans so far */
	uint32_t collector_pid;
	uint64_t duration_ns; /* since recording began */
	uint64_t tape_bytes;  /* written so far; the tail of what happened is in memory yet */
	uint64_t event_count; /* the same; UINT64_MAX: nobody counts them */
	uint64_t missing_count;
	uint64_t rss_bytes; /* of the last look; UINT64_MAX: unknown */
	/*
	 * LEAK_SCAN: how long the program stood still, and the scan's number on the tape; with a copy
	 * how long the tape was then. The descriptor is a copy of the spool as it was: with the tape's chunks up to
	 * there, and all of the collector's own, it is what was recorded until that moment.
	 */
	uint64_t pause_ns;
	uint64_t copy_bytes;
	uint32_t scan_id;
	uint32_t reserved;
	char text[CTL_TEXT_BYTES];
	char tape_path[CTL_PATH_BYTES];
};

enum { CTL_MAGIC = 0x4c54434d /* "MCTL" */, CTL_VERSION = 1 };

/* Whether the bytes are a request of this version. Any bytes; tests/fuzz/fuzz_ctl.c. */
bool ctl_request_is_valid(const void *bytes, size_t count);

/* --- in the collector ------------------------------------------------------------------------ */

struct collector;

struct ctl {
	int fd; /* listens; -1: there is no socket */
	struct ctl_pending {
		int fd;	       /* -1: none */
		bool is_scan;  /* the request is a leak scan that is not done yet, */
		uint32_t scan; /* of this number; 0: it has not begun */
		struct ctl_request request;
	} pending[CTL_PENDING_MAX];
};

/*
 * Listens for the process of that number; somebody else may have the name: then the recording goes
 * on without. SIGIO arrives when there is something to do. Undone by ctl_close.
 */
void ctl_open(struct ctl *ctl, pid_t pid);
void ctl_close(struct ctl *ctl);

/* Does what is requested, and answers. Never waits. */
void ctl_look(struct collector *collector);

/* The outcome of a leak scan, for those who wait for it; spool_fd -1: there is no result. */
struct ctl_scan {
	uint32_t id;
	int spool_fd;	     /* a copy, borrowed */
	uint64_t tape_bytes; /* when everything stood still */
	uint64_t pause_ns;
	const char *trouble; /* why there is no result; "": there is */
};

void ctl_scan_done(struct collector *collector, const struct ctl_scan *scan);

/* Pauses or resumes; false: nothing has changed. */
bool ctl_pause(struct collector *collector, bool is_paused, uint32_t by);

/* --- elsewhere ------------------------------------------------------------------------------- */

/*
 * Sends the request to who records process pid, and waits for the reply; *fd_ret is the caller's
 * descriptor, -1: none came. fd_ret may be NULL. Of a process that writes its tape itself the request
 * is carried out here (ctl_alone.h). ERR_NOT_FOUND: it is not recorded, or by another user; ERR_STATE:
 * who records it may not be spoken to, or does not answer.
 */
struct err *ctl_call(pid_t pid, const struct ctl_request *request, struct ctl_reply *reply,
		     int *fd_ret);

/*
 * The recorded processes that there are sockets of, those of other users too, and those that write
 * their tapes themselves, in no order; *pids_ret is the caller's (free).
 */
struct err *ctl_list(pid_t **pids_ret, size_t *count_ret);

#endif
