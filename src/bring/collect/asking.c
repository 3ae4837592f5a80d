#include "collect/asking.h"

#include <assert.h>
#include <unistd.h>

#include "collect/ctl.h"
#include "scan/status.h"

static pid_t tracer_of(pid_t pid)
{
	struct status status;

	return status_read(&status, pid, pid) ? (pid_t)status_number(&status, "TracerPid", 10, 0)
					      : 0;
}

/* The collector, if it traces the program now; else 0. */
static pid_t tracing_collector(pid_t pid, const struct recording *recording, struct tape_live *live)
{
	const pid_t tracer = recording->is_spool ? tracer_of(pid) : 0;
	struct err *err = tracer ? recording_live(recording, live) : NULL;
	const bool is_collector = tracer && !err &&
				  live->collector_state == TAPE_COLLECTOR_RUNNING &&
				  live->collector_pid == (uint32_t)tracer;

	err_destroy(err);
	return is_collector ? tracer : 0;
}

bool asking_is_collector(pid_t pid, const struct recording *recording)
{
	struct tape_live live;

	return tracing_collector(pid, recording, &live) != 0;
}

pid_t asking_whom(pid_t pid, const struct recording *recording)
{
	struct tape_live live;
	const pid_t collector = tracing_collector(pid, recording, &live);

	return collector && live.scan_asks ? collector : 0;
}

static struct err *gone(pid_t pid, const struct recording *recording, struct err *err)
{
	err_destroy(err);
	return err_new(
		ERR_STATE,
		"process %d, or its recording, ended before the scan was done; what there is of "
		"it is on %s",
		(int)pid, recording->tape_path);
}

struct err *asking_scan(pid_t pid, const struct recording *recording, uint32_t heuristics,
			struct asking_answer *answer_ret)
{
	const struct ctl_request request = { .magic = CTL_MAGIC,
					     .version = CTL_VERSION,
					     .command = CTL_LEAK_SCAN,
					     .heuristics = heuristics,
					     .wants_copy = 1 };
	CLEAN(close) int spool_fd = -1;
	struct ctl_reply reply;
	struct err *err;

	assert(recording->is_spool);
	err = ctl_call(pid, &request, &reply, &spool_fd);
	if (err)
		return gone(pid, recording, err);
	if (reply.result == CTL_REFUSED || spool_fd < 0)
		return err_new(ERR_STATE,
			       "process %d could not be scanned: %s; what there is of it is on %s",
			       (int)pid, reply.text, recording->tape_path);
	answer_ret->scan_id = reply.scan_id;
	return capture_open_moment(recording->tape_path, spool_fd, reply.copy_bytes,
				   &answer_ret->capture);
}
