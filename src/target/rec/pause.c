/*
 * pause: recording that is off for a while (tape_live.paused, which every event reads). Whoever
 * turns it off or on - the program by include/memtape/memtape.h, a signal, the collector - changes
 * that word, and writes a PAUSE record if it was another before.
 *
 * Frees and reallocs go on being recorded: what became of blocks that are on the tape is known in a
 * pause, too. Only before the first allocation nothing is.
 */
#include "rec/pause.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "rec/log.h"
#include "rec/other.h"

#include "core/poison.h"

void memtape_client_pause(void);
void memtape_client_resume(void);

static void note(struct rec_lane *lane, bool is_paused, enum tape_paused_by by)
{
	const struct tape_paused record = { .is_paused = is_paused, .by = by };

	rec_note(lane, TAPE_EXT_PAUSE, &record, sizeof(record), NULL, 0);
}

void rec_pause_begin(struct rec_lane *lane)
{
	if (rec.options.paused && !rec_board_is_read())
		atomic_store(LIVE(paused), TAPE_PAUSE_EVENTS);
	if (atomic_load(LIVE(paused)))
		note(lane, true, TAPE_PAUSED_START);
}

void rec_pause_fork(void)
{
	if (atomic_load(&rec.state) == REC_ON && atomic_load(&rec.shared->epoch) != 0)
		rec.options.paused = atomic_load(LIVE(paused)) != TAPE_PAUSE_NONE;
}

enum wanted { RESUME, PAUSE, TOGGLE };

/* The record is written while allocations are left out: none from before it is recorded. */
static void change(struct rec_lane *lane, bool is_paused, enum tape_paused_by by)
{
	uint32_t nothing = TAPE_PAUSE_NONE;

	if (is_paused == !atomic_load(LIVE(paused)))
		REC_LOG(REC_LOG_INFO, is_paused ? "paused" : "resumed");
	if (!is_paused && atomic_load(LIVE(paused))) {
		note(lane, false, by);
		atomic_store(LIVE(paused), TAPE_PAUSE_NONE);
	} else if (is_paused &&
		   atomic_compare_exchange_strong(LIVE(paused), &nothing, TAPE_PAUSE_ALLOCATIONS)) {
		note(lane, true, by);
	}
}

static void set(enum wanted wanted, enum tape_paused_by by, struct rec_frame caller)
{
	const int saved_errno = errno;
	struct other other = other_begin(&caller);

	if (other.lane)
		change(other.lane, wanted == TOGGLE ? !atomic_load(LIVE(paused)) : wanted == PAUSE,
		       by);
	other_end(&other);
	errno = saved_errno;
}

REC_EXPORT void memtape_client_pause(void)
{
	set(PAUSE, TAPE_PAUSED_PROGRAM, REC_CALLER());
}

REC_EXPORT void memtape_client_resume(void)
{
	set(RESUME, TAPE_PAUSED_PROGRAM, REC_CALLER());
}

static void on_signal(int number)
{
	(void)number;
	set(TOGGLE, TAPE_PAUSED_SIGNAL, REC_CALLER());
}

void rec_pause_signals(void)
{
	const struct sigaction ours = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	for (int number = 1; number < 64; number++) {
		struct sigaction theirs;

		if (!(rec.options.toggles >> number & 1) || sigaction(number, NULL, &theirs) < 0)
			continue;
		if (!(theirs.sa_flags & SA_SIGINFO) &&
		    (theirs.sa_handler == SIG_DFL || theirs.sa_handler == SIG_IGN))
			sigaction(number, &ours, NULL);
	}
}
