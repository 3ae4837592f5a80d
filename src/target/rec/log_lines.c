/* The lines of the log about the whole of a recording. */
#include "rec/log.h"

#include "rec/rec.h"

#include "core/poison.h"

static const char *const loss_names[] = {
	[TAPE_LOST_NO_SPACE] = "events without a chunk",
	[TAPE_LOST_NESTED] = "events of signal handlers that interrupt each other",
	[TAPE_LOST_NO_THREAD] = "events of threads without memory for their state",
	[TAPE_LOST_STARTUP] = "events from before the recorder was ready",
	[TAPE_LOST_TRUNCATED] = "stacks that are cut short",
	[TAPE_LOST_STOPPED] = "events after recording ended",
};

static const char *const fault_names[] = {
	[TAPE_FAULT_OPEN] = "the tape cannot be opened",
	[TAPE_FAULT_SPACE] = "no room on the disk, or a limit of the file's size",
	[TAPE_FAULT_MAP] = "no address space is left",
	[TAPE_FAULT_COLLECTOR] = "the collector has ended or does not answer",
	[TAPE_FAULT_SANDBOX] = "the program forbids system calls, and no chunk is left",
};

void rec_log_begun(void)
{
	REC_LOG(REC_LOG_INFO,
		"recorded %s%s, %s stacks of allocations, %s of frees, time by the %s",
		rec.is_streamed ? "in memory"
		: rec.slots	? "by a collector"
				: "to ",
		rec.slots ? "" : rec.file.path,
		rec.options.stacks || rec.options.calls_stacks ? "with" : "without",
		rec.options.free_stacks || rec.options.calls_free_stacks ? "with those"
									 : "without those",
		rec.use_tsc ? "cycle counter" : "kernel");
	REC_LOG(REC_LOG_DEBUG, "chunks of %u bytes, %u slots; at most %u lanes; children %s",
		rec.chunk_bytes, rec.slot_count, rec.lanes_max,
		rec.options.follow ? "are followed" : "are not followed");
}

void rec_log_end(int status)
{
	if (status >= 0)
		REC_LOG(REC_LOG_INFO, "the program ends with status %d", status);
	else
		REC_LOG(REC_LOG_INFO, "the program ends");
	for (size_t i = 0; i < array_size(loss_names); i++)
		if (rec.live->lost[i] > 0)
			REC_LOG(REC_LOG_WARNING, "lost: %lu %s", (unsigned long)rec.live->lost[i],
				loss_names[i]);
}

void rec_log_lost(enum tape_loss kind)
{
	REC_LOG(REC_LOG_WARNING, "the first of those lost: %s", loss_names[kind]);
}

void rec_log_stop(enum tape_fault fault, int error)
{
	REC_LOG(REC_LOG_ERROR, "recording ends here: %s (error %d)", fault_names[fault], error);
}
