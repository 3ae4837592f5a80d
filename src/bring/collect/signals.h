/*
 * signals: memtape's signal handling while the program runs. Signals from the terminal reach the
 * program directly; those sent to memtape alone must be passed on.
 *
 * One run at a time per process: a handler cannot be given a context, so this file has memtape's
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
	bool is_installed;
};

/*
 * Installs the handlers; wake is the futex word to wake when a signal arrives (outlives the run).
 * saved keeps the previous handlers, for the program and for restoring them later.
 */
void signals_install(struct signals *saved, uint32_t *wake);

/* From now on signals_take returns those of the terminal, too: the program is not at it. */
void signals_take_all(void);

/* Restores the state before signals_install; in the child before exec, in the parent at the end. */
void signals_restore(const struct signals *saved);

/* Bit n: signal n came from a process (not the terminal) since the last call. */
uint32_t signals_take(void);

/* Whether SIGINT, SIGTERM or SIGHUP is among them. */
bool signals_ask_to_end(void);

/* Kills this process with that signal, without a core file. Returns if it cannot. */
void signals_die(int number);

#endif
