/*
 * signals: what memtape does with signals while the program runs. Those from the terminal reach
 * the program by themselves; those sent to memtape alone are to be passed on.
 *
 * One run at a time in a process: a handler cannot be given a context, so this file has memtape's
 * only process-wide state. Not thread-safe.
 */
#ifndef MEMTAPE_COLLECT_SIGNALS_H
#define MEMTAPE_COLLECT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum { SIGNALS_SAVED = 32 };

struct signals {
	struct sigaction saved[SIGNALS_SAVED]; /* by signal number */
	sigset_t mask;
};

/*
 * Takes over; wake is the futex word to poke when a signal came (outlives the run). saved keeps
 * what was before, for the program and for afterwards.
 */
void signals_install(struct signals *saved, uint32_t *wake);

/* As before signals_install; in the child before exec, in the parent at the end. */
void signals_restore(const struct signals *saved);

/* Bit n: signal n came from a process (not the terminal) since the last call. */
uint32_t signals_take(void);

/* Ends this process by that signal, without a core file of its own. Returns if it cannot. */
void signals_die(int number);

#endif
