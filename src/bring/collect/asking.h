/*
 * asking: a leak scan of a recorded program, made by its collector because another process asks for
 * it. The collector of a recording with --leak-scan traces the program, and only one at a time may;
 * the result is on its tape, too. How it is asked: ctl.h.
 */
#ifndef MEMTAPE_COLLECT_ASKING_H
#define MEMTAPE_COLLECT_ASKING_H

#include "capture/capture.h"
#include "scan/recording.h"

struct asking_answer {
	uint32_t scan_id;	 /* on the tape */
	struct capture *capture; /* what was recorded until the scan, and the scan; the caller's */
};

/* Whether the program's collector is who traces it now. */
bool asking_is_collector(pid_t pid, const struct recording *recording);

/* That collector, if it can be asked; else 0. */
pid_t asking_whom(pid_t pid, const struct recording *recording);

/*
 * Waits for as long as the scan takes. Errors: the program or its recording ended meanwhile, or it
 * could not be scanned.
 */
struct err *asking_scan(pid_t pid, const struct recording *recording, uint32_t heuristics,
			struct asking_answer *answer);

#endif
