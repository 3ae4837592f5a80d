#include "collect/collector.h"

#include <assert.h>
#include <errno.h>
#include <sys/wait.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "collect/asked.h"
#include "collect/attached.h"
#include "collect/children.h"
#include "collect/clock.h"
#include "collect/collector_state.h"
#include "collect/ending.h"
#include "collect/exec.h"
#include "collect/launch.h"
#include "collect/leaks.h"
#include "collect/rotation.h"
#include "collect/run_tape.h"
#include "collect/sampling.h"
#include "collect/staleness.h"
#include "collect/traced.h"
#include "collect/wishes.h"

enum {
	LIVE_PERIOD_NS = 500000000 /* if the tape is watched live, events reach the file after it */
};

uint64_t collector_ticks(const struct collector *collector)
{
	return clock_raw_ticks((enum tape_clock)collector->header.clock) >>
	       collector->header.tick_shift;
}

/* Writes the stream's chunk and begins the next. These samples are lost if the tape is full. */
void collector_flush(struct collector *collector, enum writer_urgency urgency)
{
	struct stream *stream = &collector->stream;
	struct drain *drain = &collector->drain;
	struct err *err;

	assert(urgency == WRITER_NORMAL || urgency == WRITER_CLOSING);
	if (stream->chunk.used == 0)
		return;
	err = drain_append(drain, &stream->chunk, sizeof(stream->bytes), urgency);
	while (err && urgency == WRITER_CLOSING && writer_drop_last(&collector->writer)) {
		err_destroy(err);
		err = drain_append(drain, &stream->chunk, sizeof(stream->bytes), urgency);
	}
	if (err && !drain->fault) {
		spool_give_up(&collector->spool, err_errno_of(err));
		drain->fault = steal(err);
	}
	err_destroy(err);
	stream_begin(stream, TAPE_COLLECTOR_STREAM, stream->chunk.seq + 1);
}

void collector_note(struct collector *collector, enum tape_extended type, const void *payload,
		    size_t bytes, const char *tail)
{
	const uint64_t ticks = collector_ticks(collector);

	assert(payload || bytes == 0);
	if (collector->stream.begun_ns == 0)
		collector->stream.begun_ns = monotonic_ns();
	if (stream_add(&collector->stream, type, ticks, payload, bytes, tail))
		return;
	collector_flush(collector, WRITER_NORMAL);
	stream_add(&collector->stream, type, ticks, payload, bytes, tail);
}

void collector_note_clock(struct collector *collector)
{
	const struct tape_clock_pair pair = clock_pair((enum tape_clock)collector->header.clock);

	collector_note(collector, TAPE_EXT_CLOCK, &pair, sizeof(pair), NULL);
}

/* The recorder claims the spool by its state, fills the header and writes the pid last. */
static bool header_is_filled(const struct collector *collector)
{
	return __atomic_load_n(&spool_live(&collector->spool)->recorder_state, __ATOMIC_ACQUIRE) !=
		       TAPE_RECORDER_ABSENT &&
	       __atomic_load_n(&spool_header(&collector->spool)->pid, __ATOMIC_ACQUIRE) != 0;
}

/*
 * None for a tape that is watched: chunks are taken in parts there, and who watches plays it; nor
 * where the kernel is traced, whose events come late. No memory: the tape is played later.
 */
static void companion_begin(struct collector *collector)
{
	const struct collector_settings *settings = collector->settings;

	if (settings->player && !settings->live && !collector->traced)
		collector->companion = companion_create(settings->player, &collector->header);
	collector->drain.companion = collector->companion;
}

/* The recorder fills the header; the fields we rely on are our own. */
static void header_take(struct collector *collector)
{
	struct tape_header *header = &collector->header;
	struct err *err;

	memcpy(header, spool_header(&collector->spool), sizeof(*header));
	memcpy(header->magic, TAPE_MAGIC, sizeof(header->magic));
	header->version = TAPE_VERSION;
	header->header_bytes = TAPE_HEADER_BYTES;
	header->chunk_bytes = collector->spool.chunk_bytes;
	header->tick_shift &= 63;
	collector->has_header = true;
	if (collector->first_realtime_ns == 0) {
		collector->first_realtime_ns = header->start_realtime_ns;
		collector->clock_from_ns = header->start_monotonic_ns;
	}
	usage_open(&collector->usage, collector->child.pid);
	nodes_open(&collector->nodes, "", collector->child.pid);
	system_usage_open(&collector->system, collector->child.pid);
	threads_open(&collector->threads, collector->child.pid, spool_live(&collector->spool));
	memcpy(header->parent_uuid, collector->former_uuid, sizeof(header->parent_uuid));
	stream_begin(&collector->stream, TAPE_COLLECTOR_STREAM, 0);
	err = writer_header(&collector->writer, header);
	if (!err)
		err = writer_publish(&collector->writer);
	if (err) {
		spool_give_up(&collector->spool, err_errno_of(err));
		collector->drain.fault = err;
		return;
	}
	companion_begin(collector);
	collector_note_clock(collector);
	traced_begin(collector);
}

bool collector_is_recording(const struct collector *collector)
{
	return collector->has_header && !collector->drain.fault && !collector->stop_due_ns;
}

static void show(struct collector *collector)
{
	collector_note_clock(collector);
	drain_open_ones(&collector->drain, collector_ticks(collector));
	collector_flush(collector, WRITER_NORMAL);
}

/* The contents of open chunks, and the samples, for those watching the tape live. */
void collector_show(struct collector *collector)
{
	const uint64_t now_ns = monotonic_ns();

	if (!collector->settings->live || now_ns < collector->live_due_ns ||
	    !collector_is_recording(collector))
		return;
	collector->live_due_ns = now_ns + LIVE_PERIOD_NS;
	show(collector);
}

/* The companion takes no parts of chunks. */
void collector_show_now(struct collector *collector)
{
	assert(collector_is_recording(collector));
	if (!drain_is_in_parts(&collector->drain)) {
		collector->drain.companion = NULL;
		companion_destroy(steal(collector->companion));
		drain_begin_parts(&collector->drain);
	}
	drain_sealed(&collector->drain);
	show(collector);
}

static void look_for_companion(struct collector *collector)
{
	struct companion *companion = collector->companion;
	const uint64_t now_ns = monotonic_ns();
	uint64_t ticks;

	if (!companion || !collector_is_recording(collector) ||
	    !companion_look_is_due(companion, now_ns))
		return;
	ticks = collector_ticks(collector);
	companion_see_own(companion, &collector->stream.chunk, sizeof(collector->stream.bytes));
	companion_look(companion, &collector->spool, ticks, now_ns);
}

/* Frees slots for the recorder: drains or discards chunks. Returns how many there were. */
static uint32_t empty(struct collector *collector)
{
	if (collector->has_ended)
		return drain_discard(&collector->drain);
	return collector_is_recording(collector) ? rotation_drain(collector) : 0;
}

/* Time of the next thing to do at the latest: a mark gets the time at which it is requested. */
static uint64_t wait_until_ns(const struct collector *collector, uint64_t now_ns)
{
	const uint64_t due_ns = u64_min(collector->sample_due_ns, wishes_pause_due_ns(collector));

	return collector->settings->take_wish ? u64_min(due_ns, now_ns + SAMPLE_PERIOD_NS) : due_ns;
}

static void forward_signals(struct collector *collector)
{
	uint32_t pending = signals_take();

	if (collector->attached.is_attached) {
		attached_signals(collector, pending);
		return;
	}

	for (int number = 1; pending; number++, pending >>= 1)
		if ((pending >> 1 & 1) && (number != SIGUSR1 || !leaks_signal(collector)))
			kill(collector->child.pid, number);
}

/* The program was stopped from its terminal: stop too, visibly to the shell, until continued. */
static void stop_likewise(const struct collector *collector, int wait_status)
{
	const int number = WSTOPSIG(wait_status);

	if (number != SIGTSTP && number != SIGTTIN && number != SIGTTOU)
		return;
	raise(SIGSTOP);
	kill(collector->child.pid, SIGCONT);
}

static void look_for_header(struct collector *collector)
{
	if (!collector->has_header && header_is_filled(collector))
		header_take(collector);
}

/* The program has stopped, for its terminal or for us. */
static void stopped(struct collector *collector, enum child_event event, int wait_status)
{
	look_for_header(collector); /* it may be about to end before it was seen to begin */
	if (event == CHILD_STOPPED || leaks_trapped(collector, wait_status))
		stop_likewise(collector, wait_status);
}

static void collect(struct collector *collector, struct arena *arena,
		    struct collector_result *result)
{
	enum child_event event;

	do {
		uint32_t seen = spool_sealed_count(&collector->spool);
		uint32_t emptied_count;
		uint64_t now_ns;

		look_for_header(collector);
		exec_follow(collector, arena, result);
		event = child_poll(&collector->child, &result->wait_status, &result->usage);
		if (event == CHILD_STOPPED || event == CHILD_TRAPPED) /* before it may be scanned */
			stopped(collector, event, result->wait_status);
		forward_signals(collector);
		spool_grow(&collector->spool);
		sampling_look(collector);
		sampling_look_last(collector);
		leaks_look(collector);
		children_look(collector);
		staleness_look(collector);
		attached_look(collector, arena, result);
		wishes_take(collector, result);
		ctl_look(collector);
		asked_look(collector);
		wishes_pause_on_time(collector);
		collector_show(collector);
		if (wishes_stop_is_due(collector))
			wishes_stop(collector, arena, result);
		emptied_count = event == CHILD_NOTHING ? empty(collector) : 0;
		traced_look(collector);
		look_for_companion(collector);
		rotation_look(collector);
		if (emptied_count > 0)
			continue;
		now_ns = monotonic_ns();
		if (event == CHILD_NOTHING && now_ns < wait_until_ns(collector, now_ns))
			spool_wait(&collector->spool, seen,
				   wait_until_ns(collector, now_ns) - now_ns);
	} while (event != CHILD_ENDED && !attached_is_over(collector));
}

/* The program is dead: nothing writes to the spool any more. */
static void finish(struct collector *collector, struct arena *arena,
		   struct collector_result *result)
{
	look_for_header(collector);
	if (wishes_is_stopping(collector)) /* it ended shortly after a stop was requested */
		wishes_stop(collector, arena, result);
	if (!collector->has_header)
		exec_fall_back(collector, arena, result);
	attached_write_before(collector);
	if (!collector->has_header || collector->has_ended)
		return;
	if (collector->companion)
		companion_program_ended(collector->companion);
	rotation_stop(collector);
	drain_rest(&collector->drain);
	ending_write(collector, arena, result);
}

/* Creates a waiting child, a tape and everything else it needs. */
static struct err *prepare(struct collector *collector, struct arena *arena)
{
	struct signals *signals = &collector->signals;
	char **environment;
	struct err *err = launch_spool(collector->settings, &collector->spool);

	if (!err && collector->settings->session)
		err = session_writer_create(collector->settings, &collector->session);
	if (!err)
		err = launch_environment(collector->settings, collector->program, &collector->spool,
					 arena, &environment);
	if (!err && collector->session)
		launch_variable(environment, session_writer_variable(collector->session));
	if (err)
		return err;
	signals_install(signals, &spool_live(&collector->spool)->sealed_count);
	err = child_fork(&collector->child, collector->program, environment, signals);
	if (!err) {
		leaks_begin(collector);
		err = run_tape_begin(collector);
		if (err)
			child_cancel(&collector->child);
	}
	if (err)
		signals_restore(signals);
	return err;
}

static void collector_close(struct collector *collector)
{
	companion_destroy(collector->companion);
	for (size_t i = 0; i < array_size(collector->retired); i++)
		companion_destroy(collector->retired[i]);
	if (collector->has_header) {
		usage_close(&collector->usage);
		huge_deinit(&collector->huge);
		nodes_close(&collector->nodes);
		system_usage_close(&collector->system);
	}
	leaks_end(collector);
	traced_close(collector);
	rotation_end(collector);
	staleness_end(collector);
	threads_close(&collector->threads);
	stop_deinit(&collector->leaks.stop);
	drain_close(&collector->drain);
	writer_close(&collector->writer);
	spool_close(&collector->spool);
	session_writer_destroy(collector->session);
}

static struct collector *collector_create(const struct collector_settings *settings,
					  const struct program *program, struct arena *arena,
					  struct collector_result *result)
{
	struct collector *collector = arena_new(arena, struct collector);

	assert(settings->chunk_count >= SPOOL_CHUNK_COUNT_MIN);
	assert(!settings->take_wish || settings->live);
	assert(!settings->take_wish || settings->grant);
	assert(settings->counts || !settings->maps);
	assert(!settings->trace_kinds || settings->on_untraced);
	*result = (struct collector_result) { 0 };
	if (!collector)
		return NULL;
	collector->settings = settings;
	collector->program = program;
	collector->spool.fd = collector->writer.fd = collector->ctl.fd = -1;
	collector->begin_ns = monotonic_ns();
	return collector;
}

/* It runs: until it has ended, or is let go. */
static void run(struct collector *collector, struct arena *arena, struct collector_result *result)
{
	if (collector->session)
		session_writer_watch(collector->session);
	collect(collector, arena, result);
	if (!result->was_stopped)
		result->wall_ns = monotonic_ns() - collector->begin_ns;
	finish(collector, arena, result);
	ctl_look(collector); /* answers what waits for the last scan */
	ctl_close(&collector->ctl);
	children_end(collector);
	err_destroy(run_tape_children(collector, arena, result));
	result->companion = steal(collector->companion);
}

struct err *collector_run(const struct collector_settings *settings, const struct program *program,
			  struct arena *arena, struct collector_result *result, int *exec_errno_ret)
{
	struct collector *collector = collector_create(settings, program, arena, result);
	struct err *err;

	*exec_errno_ret = 0;
	if (!collector)
		return err_nomem();
	err = prepare(collector, arena);
	if (!err) {
		traced_open(collector);
		ctl_open(&collector->ctl, collector->child.pid);
		*exec_errno_ret = child_go(&collector->child);
		if (*exec_errno_ret)
			err = err_errno_new(*exec_errno_ret, "run %s", program->path);
		else
			run(collector, arena, result);
		ctl_close(&collector->ctl);
		/* its handler wakes the spool, so end it first */
		signals_restore(&collector->signals);
		result->is_asked_to_end = signals_ask_to_end();
	}
	collector_close(collector);
	return err;
}

/* The tape first: the recorder begins at once. */
static struct err *prepare_attached(struct collector *collector, pid_t pid)
{
	struct err *err = launch_spool(collector->settings, &collector->spool);

	if (err)
		return err;
	signals_install(&collector->signals, &spool_live(&collector->spool)->sealed_count);
	signals_take_all();
	err = child_adopt(&collector->child, pid);
	return err ? err : run_tape_begin(collector);
}

struct err *collector_attach(const struct collector_settings *settings, pid_t pid,
			     const struct program *program, struct arena *arena,
			     struct collector_result *result)
{
	struct collector *collector = collector_create(settings, program, arena, result);
	struct err *err;

	assert(settings->grant);
	if (!collector)
		return err_nomem();
	err = prepare_attached(collector, pid);
	if (!err) {
		ctl_open(&collector->ctl, pid);
		err = attached_begin(collector, arena, result);
	}
	if (!err) {
		traced_open(collector);
		run(collector, arena, result);
		err = steal(collector->attached.err);
	}
	ctl_close(&collector->ctl);
	if (collector->signals.is_installed)
		signals_restore(&collector->signals);
	result->is_asked_to_end = signals_ask_to_end();
	child_let_go(&collector->child);
	collector_close(collector);
	return err;
}
