#include "collect/attached.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "collect/attach.h"
#include "collect/attach_library.h"
#include "collect/before.h"
#include "collect/clock.h"
#include "collect/ending.h"
#include "collect/launch.h"
#include "collect/traced.h"
#include "collect/wishes.h"

/* A process of another user must be able to open it, if we are root. */
static void give_spool(const struct collector *collector)
{
	char path[STR_SHORT_BYTES];
	struct stat status;

	if (geteuid() == 0 &&
	    stat(str_format(path, sizeof(path), "/proc/%d", (int)collector->child.pid), &status) ==
		    0 &&
	    fchown(collector->spool.fd, status.st_uid, status.st_gid) < 0)
		return; /* then the recorder says that it cannot */
}

/* The recorder has filled in what the clock is. */
static void at_moment(void *context)
{
	struct collector *collector = context;
	const struct tape_header *header = spool_header(&collector->spool);

	collector->attached.ticks =
		clock_raw_ticks((enum tape_clock)header->clock) >> (header->tick_shift & 63);
}

struct err *attached_begin(struct collector *collector, struct arena *arena,
			   struct collector_result *result)
{
	const struct collector_settings *settings = collector->settings;
	struct attach_request request = {
		.pid = collector->child.pid,
		.spool = strchr(spool_variable(&collector->spool), '=') + 1,
		.spool_fd = collector->spool.fd,
		.options = launch_options(settings, arena),
		.is_inline = settings->is_inline,
		.at_moment = at_moment,
		.context = collector,
	};
	struct err *err = attach_library(arena, request.pid, &request.library);

	if (!err && !request.options)
		err = err_nomem();
	if (err)
		return err;
	give_spool(collector);
	err = attach_begin(&request, &result->attached);
	if (!err) {
		if (settings->on_attached)
			settings->on_attached(settings->context, &result->attached);
		collector->attached.before =
			before_begin(&result->attached, collector->attached.ticks,
				     &spool_live(&collector->spool)->sealed_count);
		collector->attached.is_attached = true;
	}
	attach_report_deinit(&result->attached);
	if (err)
		return err;
	if (result->attached.is_apart)
		result->sysroot = arena_printf(arena, "/proc/%d/root", (int)request.pid);
	collector->attached.until_ns =
		settings->attach_ns ? monotonic_ns() + settings->attach_ns : UINT64_MAX;
	return NULL;
}

void attached_signals(struct collector *collector, uint32_t pending)
{
	const uint32_t ending = 1u << SIGINT | 1u << SIGTERM | 1u << SIGHUP | 1u << SIGQUIT;

	if (pending & ending)
		collector->attached.until_ns = 0;
}

void attached_write_before(struct collector *collector)
{
	struct before *before = collector->attached.before;

	collector->attached.before = NULL;
	if (before)
		before_end(before, collector);
}

/* Everything recorded until it was let go is on the tape, which ends here. */
static void end_tape(struct collector *collector, struct arena *arena,
		     struct collector_result *result)
{
	if (!collector->has_header || collector->drain.fault)
		return;
	attached_write_before(collector);
	drain_rest(&collector->drain);
	ending_note_losses(collector, result);
	ending_write_stopped(collector, arena, result);
	collector->stop_due_ns = monotonic_ns(); /* nothing is recorded any more */
}

/* If it cannot be let go, its recorder has to know that nobody collects any more. */
void attached_look(struct collector *collector, struct arena *arena,
		   struct collector_result *result)
{
	struct attached *attached = &collector->attached;
	struct attach_report report;

	if (attached->before && collector->has_header && before_is_found(attached->before))
		attached_write_before(collector);
	if (!attached->is_attached || attached->is_over || monotonic_ns() < attached->until_ns)
		return;
	attached->is_over = true;
	traced_stop(collector);
	attached->err = attach_end(collector->child.pid, &report);
	result->is_left_attached = attached->err;
	if (attached->err)
		spool_give_up(&collector->spool, 0);
	result->wall_ns = monotonic_ns() - collector->begin_ns;
	end_tape(collector, arena, result);
	if (attached->is_stop_wished)
		wishes_stopped(collector, result);
}

bool attached_is_over(const struct collector *collector)
{
	return collector->attached.is_over;
}
