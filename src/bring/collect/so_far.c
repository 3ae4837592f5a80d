#include "collect/so_far.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "base/str.h"
#include "capture/pack.h"
#include "collect/clock.h"
#include "collect/scan_records.h"

static struct err *write_records(void *context, struct packed_stream *stream)
{
	return scan_records_write(context, stream);
}

struct err *so_far_write(const struct capture *capture, const char *output_path, int level)
{
	const struct tape_header *header = capture_header(capture);
	const struct tape_clock_pair clock = clock_pair((enum tape_clock)header->clock);
	struct scan_records records = { .ticks = clock.raw_ticks >> (header->tick_shift & 63),
					.clock = &clock,
					.is_running = true };
	const struct capture_addition addition = { write_records, &records };
	struct capture_repacked repacked;

	assert(output_path);
	return capture_repack_opened(capture, output_path, level, &addition, &repacked);
}

static struct err *replace(const struct capture *capture, const char *output_path, int level)
{
	CLEAN(str_deinit) struct str part = { 0 };
	struct err *err;

	str_printf(&part, "%s.part-%d", output_path, (int)getpid());
	if (part.failed)
		return err_nomem();
	err = so_far_write(capture, part.ptr, level);
	if (!err && rename(part.ptr, output_path) < 0) {
		err = err_errno("rename %s to %s", part.ptr, output_path);
		unlink(part.ptr);
	}
	return err;
}

struct err *so_far_snapshot(pid_t pid, const struct ctl_request *request, const char *output_path,
			    int level, struct ctl_reply *reply)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	CLEAN(close) int spool_fd = -1;
	struct err *err;

	assert(request->command == CTL_SNAPSHOT && request->wants_copy);
	err = ctl_call(pid, request, reply, &spool_fd);
	if (err || reply->result == CTL_REFUSED)
		return err;
	if (spool_fd < 0)
		return err_new(ERR_STATE, "who records process %d has sent no copy", (int)pid);
	err = capture_open_moment(reply->tape_path, spool_fd, reply->copy_bytes, &capture);
	return err ? err : replace(capture, output_path, level);
}
