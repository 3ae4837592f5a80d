#include "collect/sampling.h"

#include "base/monotonic.h"
#include "collect/memory_limits.h"
#include "collect/staleness.h"

enum {
	SAMPLE_COUNT = 5000,		     /* samples per long run: sets their interval */
	SAMPLE_QUIET_NS = 1000000000,	     /* at least one a second even when nothing changes */
	STREAM_PERIOD_NS = 2000000000,	     /* samples reach the file after at most this delay */
	LIMITS_PERIOD_NS = 100 * 1000 * 1000 /* between samples, where limits are watched */
};

static void note_space(void *context, uint32_t part, uint32_t flags, const char *text)
{
	struct collector *collector = context;
	const struct tape_space space = { .begin_ticks = collector->space_ticks,
					  .part = part,
					  .flags = flags };

	collector_note(collector, TAPE_EXT_SPACE, &space, sizeof(space), text);
}

static void note_huge(void *context, const struct tape_huge_lost *lost)
{
	collector_note(context, TAPE_EXT_HUGE_LOST, lost, sizeof(*lost), NULL);
}

static void note_nodes(void *context, uint32_t part, uint32_t flags, const char *text)
{
	struct collector *collector = context;
	const struct tape_node_use use = { .begin_ticks = collector->space_ticks,
					   .part = part,
					   .flags = flags };

	collector_note(collector, TAPE_EXT_NODE_USE, &use, sizeof(use), text);
}

/* What else is looked at with the mappings. */
static void look_at_pages(struct collector *collector, uint64_t now_ns)
{
	const struct usage *usage = &collector->usage;
	const struct space_snapshot *space = &usage->space.now;

	if (usage->is_full)
		huge_look(&collector->huge, space,
			  huge_matters(&collector->huge, space) ? huge_split_count("/proc/vmstat")
								: HUGE_UNKNOWN,
			  note_huge, collector);
	if (nodes_are_due(&collector->nodes, now_ns))
		nodes_look(&collector->nodes, space, now_ns, note_nodes, collector);
}

static void note_stack(void *context, const struct tape_stack_use *use)
{
	collector_note(context, TAPE_EXT_STACK_USE, use, sizeof(*use), NULL);
}

static void note_thread_name(void *context, uint32_t tid, const char *name)
{
	const struct tape_thread thread = { .tid = tid };

	collector_note(context, TAPE_EXT_THREAD_NAME, &thread, sizeof(thread), name);
}

static void look_at_threads(struct collector *collector, uint64_t now_ns)
{
	const struct threads_visitor visitor = { note_stack, note_thread_name, collector };

	threads_look(&collector->threads, now_ns, &visitor);
	if (collector->threads.has_filter)
		spool_forbid_calls(&collector->spool);
}

void sampling_look_system(struct collector *collector, uint64_t now_ns)
{
	struct system_usage *system = &collector->system;
	const bool differs = system_usage_sample(system, now_ns);

	if (!differs && now_ns - collector->system_written_ns <= SAMPLE_QUIET_NS)
		return;
	if (system->has_moved) {
		const struct tape_cgroup cgroup = { .version = system->version };

		collector_note(collector, TAPE_EXT_CGROUP, &cgroup, sizeof(cgroup), system->cgroup);
		system->has_moved = false;
	}
	collector_note(collector, TAPE_EXT_SYSTEM, &system->last, sizeof(system->last), NULL);
	collector->system_written_ns = now_ns;
}

void sampling_look_system_last(struct collector *collector)
{
	if (collector->settings->is_passing)
		return;
	collector->system.next_ns = 0;
	sampling_look_system(collector, monotonic_ns());
}

/* The recorder waits for it, even if nothing is being recorded any more. */
void sampling_look_last(struct collector *collector)
{
	const struct threads_visitor visitor = { note_stack, note_thread_name, collector };
	uint32_t wanted;

	if (!spool_wants_look(&collector->spool, &wanted))
		return;
	if (collector_is_recording(collector) && !collector->settings->is_passing) {
		staleness_look_last(collector);
		threads_look_last(&collector->threads, &visitor);
	}
	spool_look_done(&collector->spool, wanted);
}

static uint64_t sample_period_ns(const struct collector *collector, uint64_t now_ns)
{
	const uint64_t period_ns =
		u64_max(SAMPLE_PERIOD_NS, (now_ns - collector->begin_ns) / SAMPLE_COUNT);

	return limits_are_set(&collector->settings->limits) ? u64_min(period_ns, LIMITS_PERIOD_NS)
							    : period_ns;
}

/* Empty, or begun during this look, after now_ns: then it is not. */
static bool stream_is_old(const struct stream *stream, uint64_t now_ns)
{
	return stream->begun_ns != 0 && now_ns > stream->begun_ns + STREAM_PERIOD_NS;
}

void sampling_look(struct collector *collector)
{
	const uint64_t now_ns = monotonic_ns();
	bool differs;

	if (now_ns < collector->sample_due_ns)
		return;
	collector->sample_due_ns = now_ns + sample_period_ns(collector, now_ns);
	if (!collector_is_recording(collector) || collector->settings->is_passing)
		return;
	look_at_threads(collector, now_ns);
	collector->space_ticks = collector_ticks(collector);
	sampling_look_system(collector, now_ns);
	if (collector->companion)
		companion_allow(collector->companion, system_usage_free(&collector->system));
	differs = usage_sample(&collector->usage, now_ns, &collector->system.last);
	if (collector->usage.has_snapshot) {
		look_at_pages(collector, now_ns);
		space_write(&collector->usage.space, note_space, collector);
	}
	if (differs || collector->usage.has_snapshot ||
	    now_ns - collector->sample_written_ns > SAMPLE_QUIET_NS) {
		collector_note(collector, TAPE_EXT_USAGE, &collector->usage.last,
			       sizeof(collector->usage.last), NULL);
		collector->sample_written_ns = now_ns;
	}
	limits_look(collector);
	if (stream_is_old(&collector->stream, now_ns) && !collector->settings->live) {
		collector_note_clock(collector);
		collector_flush(collector, WRITER_NORMAL);
	}
}

void collector_snapshot(struct collector *collector)
{
	collector->usage.full_next_ns = 0;
	collector->sample_due_ns = 0;
	sampling_look(collector);
	collector_note_clock(collector);
	collector_flush(collector, WRITER_NORMAL);
}
