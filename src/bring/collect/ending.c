#include "collect/ending.h"

#include <assert.h>
#include <sys/wait.h>

#include "collect/clock.h"
#include "collect/exec.h"
#include "collect/leaks.h"
#include "collect/rotation.h"
#include "collect/sampling.h"
#include "collect/traced.h"

enum {
	FINAL_TEXT_BYTES = 512,
	CHILDREN_TICKS_MIN = 3 /* 30 ms: less than that is just shell startup */
};

void ending_note_losses(struct collector *collector, struct collector_result *result)
{
	const struct tape_live *live = spool_live(&collector->spool);
	struct tape_lost lost;

	memcpy(lost.lost, live->lost, sizeof(lost.lost));
	lost.lost[TAPE_LOST_NO_SPACE] += collector->drain.missing_count;
	result->missing_count = 0;
	for (size_t i = 0; i < array_size(lost.lost); i++)
		if (i != TAPE_LOST_TRUNCATED)
			result->missing_count += lost.lost[i];
	result->truncated_count = lost.lost[TAPE_LOST_TRUNCATED];
	collector_note(collector, TAPE_EXT_LOST, &lost, sizeof(lost), NULL);
}

static uint64_t cpu_ns(const struct rusage *usage)
{
	return ((uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec) * 1000000000 +
	       ((uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec) * 1000;
}

static uint64_t ticks_to_ns(const struct collector *collector, uint64_t raw_ticks)
{
	const struct tape_clock_pair now = clock_pair((enum tape_clock)collector->header.clock);
	const uint64_t begin = collector->header.start_ticks << collector->header.tick_shift;

	if (now.raw_ticks <= begin)
		return 0;
	return (uint64_t)((double)raw_ticks / (double)(now.raw_ticks - begin) *
			  (double)(now.monotonic_ns - collector->header.start_monotonic_ns));
}

static void note_recorder(struct collector *collector, struct collector_result *result)
{
	const struct tape_live *live = spool_live(&collector->spool);
	struct tape_recorder recorder = {
		.private_bytes = live->recorder_bytes,
		.chunk_bytes = collector->spool.bytes - TAPE_HEADER_BYTES,
		.slow_ns = ticks_to_ns(collector, live->recorder_ticks),
	};
	struct rusage own;

	getrusage(RUSAGE_SELF, &own);
	recorder.collector_cpu_ns = result->collector_cpu_ns = cpu_ns(&own);
	collector_note(collector, TAPE_EXT_RECORDER, &recorder, sizeof(recorder), NULL);
}

static const char *fault_name(enum tape_fault fault)
{
	switch (fault) {
	case TAPE_FAULT_NONE:
		return "no fault";
	case TAPE_FAULT_OPEN:
		return "the recorder could not open its tape";
	case TAPE_FAULT_SPACE:
		return "no space for the tape";
	case TAPE_FAULT_MAP:
		return "the program's address space was exhausted";
	case TAPE_FAULT_COLLECTOR:
		return "the collector stalled";
	case TAPE_FAULT_KILLED: /* no process is left to write the reason */
		break;
	case TAPE_FAULT_SANDBOX:
		return "the program's sandbox forbids the recorder to take more space";
	}
	return "an unknown fault";
}

static void note_fault(struct collector *collector, struct arena *arena,
		       struct collector_result *result)
{
	const struct tape_live *live = spool_live(&collector->spool);
	const struct err *err;
	struct tape_fault_record record = { .fault = live->fault, .error = live->fault_errno };

	rotation_end(collector); /* which may say why there is a fault */
	err = collector->drain.fault;
	if (err) {
		record = (struct tape_fault_record) { .fault = TAPE_FAULT_SPACE,
						      .error = err_errno_of(err) };
		result->fault = arena_strdup(arena, err_message(err));
	} else if (live->fault != TAPE_FAULT_NONE) {
		result->fault =
			arena_printf(arena, "%s%s%s", fault_name((enum tape_fault)live->fault),
				     live->fault_errno ? ": " : "",
				     live->fault_errno ? strerror(live->fault_errno) : "");
	} else if (collector->drain.damaged_count > 0) {
		result->fault = arena_printf(arena, "chunks that the program overwrote: %llu",
					     (unsigned long long)collector->drain.damaged_count);
	}
	if (result->fault)
		collector_note(collector, TAPE_EXT_FAULT, &record, sizeof(record),
			       strlen(result->fault) < FINAL_TEXT_BYTES ? result->fault : "");
}

/* A process that is not our child: only the recorder saw it end, if it ended by itself. */
static void note_end_unseen(struct collector *collector)
{
	const struct tape_end end = { .kind = TAPE_END_UNKNOWN };

	if (spool_live(&collector->spool)->recorder_state != TAPE_RECORDER_ENDED)
		collector_note(collector, TAPE_EXT_END, &end, sizeof(end), NULL);
}

static void note_end(struct collector *collector, const struct collector_result *result)
{
	const int status = result->wait_status;
	const struct tape_end end = {
		.kind = WIFSIGNALED(status) ? TAPE_END_SIGNAL : TAPE_END_EXIT,
		.status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
	};
	struct tape_usage usage;

	if (collector->child.is_adopted) {
		note_end_unseen(collector);
		return;
	}
	memset(&usage, 0xff, sizeof(usage)); /* memory is gone; faults are counted to the end */
	usage.minor_faults = (uint64_t)result->usage.ru_minflt;
	usage.major_faults = (uint64_t)result->usage.ru_majflt;
	collector_note(collector, TAPE_EXT_USAGE, &usage, sizeof(usage), NULL);
	collector_note(collector, TAPE_EXT_END, &end, sizeof(end), NULL);
}

/* Why the program that this process became is not recorded. */
static const char *exec_words(const struct collector *collector)
{
	if (!collector->settings->follow_exec)
		return "is recorded without --no-follow-exec only";
	switch ((enum tape_exec_left)spool_live(&collector->spool)->exec_left) {
	case TAPE_EXEC_STATIC:
		return "is not recorded: it is statically linked";
	case TAPE_EXEC_PRIVILEGES:
		return "is not recorded: it is setuid or setgid, or has file capabilities";
	case TAPE_EXEC_OTHER_MACHINE:
		return "is not recorded: it is a program of 32 bits or for another processor";
	case TAPE_EXEC_NO_LIBRARY:
		return "is not recorded: libmemtape.so cannot be reached from where it runs";
	case TAPE_EXEC_OTHER_USER:
		return "is not recorded: it runs as another user, who may not write what memtape's "
		       "has; run memtape as that user";
	case TAPE_EXEC_FOLLOWED:
	case TAPE_EXEC_ENVIRONMENT: /* of children only */
	case TAPE_EXEC_FAILS:
		break;
	}
	return "is not recorded: it did not load the recorder, or may not reach the collector";
}

/* By exec, unnoticed: the recorder saw no end, and the process has another name. */
static bool was_replaced(const struct collector *collector)
{
	const struct child *child = &collector->child;

	return !collector->settings->follow &&
	       spool_live(&collector->spool)->recorder_state == TAPE_RECORDER_RUNNING &&
	       child->name[0] && child->last_name[0] && strcmp(child->name, child->last_name) != 0;
}

/* A driver (gcc, make, a shell): the tape may not have what the user wanted. */
static bool did_children_work(const struct collector *collector)
{
	const struct child *child = &collector->child;

	return !collector->settings->follow && child->children_cpu_ticks >= CHILDREN_TICKS_MIN &&
	       child->children_cpu_ticks > child->own_cpu_ticks;
}

static void close_tape(struct collector *collector, struct arena *arena,
		       struct collector_result *result)
{
	result->event_count = collector->drain.event_count;
	collector_flush(collector, WRITER_CLOSING);
	if (!collector->writer.temporary)
		result->path = arena_strdup(arena, collector->writer.path);
	result->tape_bytes = collector->writer.end;
	writer_complete(&collector->writer, &collector->header);
	writer_close(&collector->writer);
	collector->has_ended = true;
}

void ending_write_stopped(struct collector *collector, struct arena *arena,
			  struct collector_result *result)
{
	const struct tape_end end = { .kind = TAPE_END_RUNNING };

	result->was_stopped = true;
	leaks_end(collector);
	exec_note(collector, arena, result);
	traced_end(collector, false);
	collector_note_clock(collector);
	note_fault(collector, arena, result);
	sampling_look_system_last(collector);
	note_recorder(collector, result);
	collector_note(collector, TAPE_EXT_END, &end, sizeof(end), NULL);
	close_tape(collector, arena, result);
	spool_unlink(&collector->spool);
}

void ending_write_replaced(struct collector *collector, struct arena *arena,
			   struct collector_result *result)
{
	const struct tape_end end = { .kind = TAPE_END_EXEC };

	assert(!result->was_stopped);
	leaks_end(collector);
	traced_end(collector, true);
	collector_note_clock(collector);
	ending_note_losses(collector, result);
	note_fault(collector, arena, result);
	sampling_look_system_last(collector);
	note_recorder(collector, result);
	collector_note(collector, TAPE_EXT_END, &end, sizeof(end), NULL);
	close_tape(collector, arena, result);
}

void ending_write(struct collector *collector, struct arena *arena, struct collector_result *result)
{
	assert(!result->was_stopped);
	leaks_end(collector);
	if (was_replaced(collector))
		result->replaced = arena_strdup(arena, exec_words(collector));
	result->children_worked = did_children_work(collector);
	result->others_left = spool_live(&collector->spool)->others_left;
	result->static_left = spool_live(&collector->spool)->static_left;
	result->barred_left = spool_live(&collector->spool)->barred_left;
	exec_note(collector, arena, result);
	traced_end(collector, false);
	collector_note_clock(collector);
	ending_note_losses(collector, result);
	note_fault(collector, arena, result);
	sampling_look_system_last(collector);
	note_recorder(collector, result);
	note_end(collector, result);
	close_tape(collector, arena, result);
	spool_unlink(&collector->spool);
}
