/*
 * postmortem: a leak scan of a program of which there is a core dump. The result is a tape of its
 * own: what was recorded, and the scan; or, of a program that was not recorded, the blocks of its
 * heap and the scan.
 */
#ifndef MEMTAPE_COLLECT_POSTMORTEM_H
#define MEMTAPE_COLLECT_POSTMORTEM_H

#include "base/err.h"
#include "base/str.h"
#include "capture/pack.h"

struct postmortem_settings {
	const char *core_path;
	const char *exe_path;	 /* NULL: where it was when the program ran */
	const char *tape_path;	 /* NULL: where the program had it */
	uint32_t heuristics;	 /* set of enum tape_scan_heuristic */
	const char *output_path; /* must not exist */
	int level;		 /* of compression */
};

struct postmortem_result {
	uint32_t scan_id; /* on the tape */
	struct str notes; /* lines about what could not be read; owned by the caller */
};

/* On error nothing is left, and *result is empty. */
struct err *postmortem_leaks(const struct postmortem_settings *settings,
			     struct postmortem_result *result);

#endif
