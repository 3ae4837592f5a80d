/*
 * inspect: a leak scan of a running program, by a process that is not its collector, if it has one.
 * A collector that traces the program makes the scan when asked (asking.h). Otherwise it is made here.
 * The program stands still while its memory is copied (copy-on-write), and goes on while the copy
 * is searched. The result is a tape of its own: what was recorded until then, or of a program that
 * is not being recorded the blocks of its heap (walked.h), and the scan.
 */
#ifndef MEMTAPE_COLLECT_INSPECT_H
#define MEMTAPE_COLLECT_INSPECT_H

#include <sys/types.h>

#include "capture/pack.h"

struct inspect_settings {
	pid_t pid;
	uint32_t heuristics;	 /* set of enum tape_scan_heuristic */
	const char *output_path; /* must not exist */
	int level;		 /* of compression */
};

struct inspect_result {
	uint64_t pause_ns;
	uint64_t scan_ns;     /* CPU time */
	bool was_copied;      /* false: the program stood still until the scan was done, because */
	struct err *copy_err; /* of this; owned by the caller */
	uint32_t scan_id;     /* on the tape */
	bool was_asked; /* its collector made the scan: the members above but the last say nothing */
};

/* On error nothing is left, and the program goes on. */
struct err *inspect_leaks(const struct inspect_settings *settings, struct inspect_result *result);

#endif
