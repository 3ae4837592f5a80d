/*
 * detach: ends an attached recording from outside: its collector is asked to; where that is gone,
 * the process is let go here.
 */
#ifndef MEMTAPE_COLLECT_DETACH_H
#define MEMTAPE_COLLECT_DETACH_H

#include "collect/attach.h"

struct detach_result {
	pid_t collector;	     /* that has ended the recording; 0: there was none any more */
	struct attach_report report; /* if there was none */
};

/* Waits until the process is let go. ERR_STATE: it is not attached to. */
struct err *detach(pid_t pid, struct detach_result *result);

#endif
