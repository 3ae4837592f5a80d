#include "capture/closing.h"

struct err *closing_write(const struct capture *capture, struct packed_stream *stream)
{
	const struct tape_live *live = capture_live(capture);
	const struct tape_fault_record fault = { .fault = live->fault, .error = live->fault_errno };
	const char *text = capture_killed_text(capture) ? capture_killed_text(capture) : "";
	struct tape_lost lost;
	struct err *err;

	memcpy(lost.lost, live->lost, sizeof(lost.lost));
	err = packed_stream_extended(stream, TAPE_EXT_LOST, live->exit_ticks, &lost, sizeof(lost),
				     NULL, 0);
	if (err || live->fault == TAPE_FAULT_NONE)
		return err;
	return packed_stream_extended(stream, TAPE_EXT_FAULT, live->exit_ticks, &fault,
				      sizeof(fault), text, strlen(text));
}
