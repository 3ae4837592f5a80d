/*
 * leaks: when the collector looks for leaks, and the result on the tape. Internal to collect.
 *
 * The program asks for a scan when it ends by itself: after its exit handlers, in _exit() and
 * quick_exit(). When a signal is about to end it, its first thread stops for us, because we trace
 * it for the whole run (PTRACE_SEIZE); what else a tracer sees of it is passed on at once.
 *
 * Who wants a scan of it from outside must ask us for it (ctl.h, asking.h).
 *
 * While it runs it stands still only until its memory has been copied (scan/snapshot.h); the copy is
 * searched by a thread of the collector's. One at a time: what is due meanwhile is left out.
 */
#ifndef MEMTAPE_COLLECT_LEAKS_H
#define MEMTAPE_COLLECT_LEAKS_H

#include "collect/collector_state.h"

/* The program's process exists, and waits to run it. */
void leaks_begin(struct collector *collector);

/* The first thread has stopped for us. True: as for a job, by the signal in the status. */
bool leaks_trapped(struct collector *collector, int wait_status);

/* Does what is to be done now: scans that are wanted or due, results, threads left behind. */
void leaks_look(struct collector *collector);

/*
 * Begins a scan, whatever the settings, unless one is going on; *scan_ret is its number. heuristics
 * are a set of enum tape_scan_heuristic, or CTL_USUAL. False: the
 * last one has been made. Its outcome is in leaks.trouble ("": none) and pause_ns.
 */
bool leaks_request(struct collector *collector, uint32_t heuristics, uint32_t *scan_ret);

/* SIGUSR1 has come. False: it is the program's. */
bool leaks_signal(struct collector *collector);

/*
 * Stops all threads for another purpose than a scan, until the caller's stop_end(&leaks.stop). An
 * error says why it is not possible; then all go on.
 */
struct err *leaks_stop_all(struct collector *collector);

/*
 * A copy of the spool as it is now, for which the program stands still for a moment, and how long the
 * tape is then. *fd_ret is the caller's. An error says why it is not possible.
 */
struct err *leaks_copy_spool(struct collector *collector, int *fd_ret, uint64_t *tape_bytes_ret);

/* Waits for a scan that is going on, and writes its result. */
void leaks_end(struct collector *collector);

#endif
