#include "collect/wishes.h"

#include "base/monotonic.h"
#include "collect/clock.h"
#include "collect/ending.h"
#include "collect/leaks.h"
#include "collect/rotation.h"
#include "collect/traced.h"

/* A record is written at most this late, unless its call has not returned. */
enum { STOP_GRACE_NS = 20 * 1000 * 1000 };

/* Writes everything at once, and the losses so far: a tape that ends here is complete. */
static void show_all(struct collector *collector, struct collector_result *result)
{
	drain_sealed(&collector->drain);
	ending_note_losses(collector, result);
	collector->live_due_ns = 0;
	collector_show(collector);
	rotation_wait(collector);
}

/*
 * Waits a moment for events up to now: a record is written after its time. The recorder is not
 * told: nothing changes for the program, and what it records from now on is discarded.
 */
static void begin_stopping(struct collector *collector, struct collector_result *result)
{
	if (collector->attached.is_attached) { /* and that it is let go changes nothing either */
		collector->attached.is_stop_wished = true;
		collector->attached.until_ns = 0;
		return;
	}
	ending_note_losses(collector, result);
	traced_stop(collector);
	collector->stop_ticks = collector_ticks(collector);
	collector->stop_due_ns = monotonic_ns() + STOP_GRACE_NS;
	result->wall_ns = monotonic_ns() - collector->begin_ns;
}

bool wishes_is_stopping(const struct collector *collector)
{
	return collector->stop_due_ns && !collector->has_ended && !collector->drain.fault;
}

bool wishes_stop_is_due(const struct collector *collector)
{
	return wishes_is_stopping(collector) && monotonic_ns() >= collector->stop_due_ns;
}

/* If the tape could not take everything, it is closed like any full one: at the end of the run. */
void wishes_stop(struct collector *collector, struct arena *arena, struct collector_result *result)
{
	rotation_stop(collector);
	drain_until(&collector->drain, collector->stop_ticks);
	if (!collector->drain.fault)
		ending_write_stopped(collector, arena, result);
	wishes_stopped(collector, result);
}

void wishes_stopped(struct collector *collector, const struct collector_result *result)
{
	const struct collector_settings *settings = collector->settings;
	struct collector_granted granted = { 0 };

	granted.done = collector->has_ended && !collector->drain.fault && !collector->attached.err;
	granted.tape_bytes = result->tape_bytes;
	settings->grant(settings->context, &granted);
}

/* The scan is made by a thread of its own: who wants to know when it is done asks again. */
static void scan(struct collector *collector, uint32_t number, struct collector_granted *granted)
{
	const struct leaks *leaks = &collector->leaks;

	granted->scan = number;
	if (number == 0 && !leaks_request(collector, CTL_USUAL, &granted->scan)) {
		granted->trouble = "the program is about to end";
		return;
	}
	granted->is_scanning = leaks->job && leaks->count == granted->scan;
	granted->pause_ns = leaks->pause_ns;
	granted->trouble = granted->is_scanning ? NULL : leaks->trouble;
}

static void wish_do(struct collector *collector, const struct collector_wish *wish,
		    struct collector_granted *granted, struct collector_result *result)
{
	const struct tape_mark mark = { .node = TAPE_NODE_NONE };

	switch (wish->kind) {
	case COLLECTOR_MARK:
		collector_note(collector, TAPE_EXT_MARK, &mark, sizeof(mark), wish->mark);
		return;
	case COLLECTOR_SHOW:
		show_all(collector, result);
		return;
	case COLLECTOR_STOP:
		begin_stopping(collector, result);
		return;
	case COLLECTOR_PAUSE:
	case COLLECTOR_RESUME:
		granted->has_changed =
			ctl_pause(collector, wish->kind == COLLECTOR_PAUSE, TAPE_PAUSED_CONTROL);
		return;
	case COLLECTOR_SCAN:
		scan(collector, wish->scan, granted);
		return;
	}
}

static uint64_t resume_ns(const struct collector *collector)
{
	const uint64_t delay_ns = collector->settings->delay_ns;

	return delay_ns && !collector->has_begun_on_time ? collector->clock_from_ns + delay_ns
							 : UINT64_MAX;
}

/* So long it has been recorded, even where it was resumed late. */

static uint64_t pause_ns(const struct collector *collector)
{
	const struct collector_settings *settings = collector->settings;

	if (!settings->duration_ns || collector->has_paused_on_time ||
	    resume_ns(collector) != UINT64_MAX)
		return UINT64_MAX;
	return collector->clock_from_ns + settings->duration_ns;
}

uint64_t wishes_pause_due_ns(const struct collector *collector)
{
	return collector_is_recording(collector)
		       ? u64_min(resume_ns(collector), pause_ns(collector))
		       : UINT64_MAX;
}

void wishes_pause_on_time(struct collector *collector)
{
	const uint64_t now_ns = monotonic_ns();

	if (now_ns < wishes_pause_due_ns(collector))
		return;
	if (now_ns >= resume_ns(collector)) {
		collector->has_begun_on_time = true;
		collector->clock_from_ns = now_ns;
		ctl_pause(collector, false, TAPE_PAUSED_TIME);
	}
	if (now_ns >= pause_ns(collector)) {
		collector->has_paused_on_time = true;
		ctl_pause(collector, true, TAPE_PAUSED_TIME);
	}
}

/* At most one per round: chunks must not wait for frequent requests. */
void wishes_take(struct collector *collector, struct collector_result *result)
{
	const struct collector_settings *settings = collector->settings;
	struct collector_granted granted = { 0 };
	struct collector_wish wish;

	if (!settings->take_wish || wishes_is_stopping(collector) ||
	    !settings->take_wish(settings->context, &wish))
		return;
	if (collector_is_recording(collector))
		wish_do(collector, &wish, &granted, result);
	if (wishes_is_stopping(collector) || collector->attached.is_stop_wished)
		return; /* answered once it has stopped */
	granted.done = collector_is_recording(collector);
	if (granted.done) {
		granted.tape_bytes = collector->writer.end;
		granted.ticks = collector_ticks(collector);
	}
	settings->grant(settings->context, &granted);
}
