/*
 * ctl_alone: control of a recording that has no collector: of a followed child process, which writes
 * its own tape, and of a program with the recorder preloaded. Its state is in the first page of the
 * tape, which the recorder has mapped, and is changed there; what is to be on the tape is appended
 * to it.
 */
#ifndef MEMTAPE_COLLECT_CTL_ALONE_H
#define MEMTAPE_COLLECT_CTL_ALONE_H

#include "collect/ctl.h"

/*
 * As ctl_call: status, start, stop and mark; others are refused. ERR_NOT_FOUND: the process writes
 * no tape, or is one of another user.
 */
struct err *ctl_alone_call(pid_t pid, const struct ctl_request *request, struct ctl_reply *reply);

/* Whether the process writes its own tape. */
bool ctl_alone_is(pid_t pid);

#endif
