#include "collect/scan_records.h"

#include "scan/leak_scan.h"

static struct err *write_image(const struct scan_records *records, struct packed_stream *stream)
{
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };
	struct leak_scan_part part;
	struct err *err = NULL;

	if (!scan_image_write(records->image, &bytes))
		return err_nomem();
	for (size_t at = 0; at < bytes.count && !err; at += part.count) {
		leak_scan_part(&part, records->id, &bytes, at);
		err = packed_stream_extended(stream, TAPE_EXT_SCAN, records->ticks, &part,
					     leak_scan_part_bytes(&part), NULL, 0);
	}
	return err;
}

struct err *scan_records_write(const struct scan_records *records, struct packed_stream *stream)
{
	const struct tape_scan_begin begin = { .id = records->id, .reason = records->reason };
	const struct tape_end end = { .kind = TAPE_END_RUNNING };
	const uint64_t ticks = records->ticks;
	struct err *err = NULL;

	if (records->clock)
		err = packed_stream_extended(stream, TAPE_EXT_CLOCK, ticks, records->clock,
					     sizeof(*records->clock), NULL, 0);
	if (!err && records->image)
		err = packed_stream_extended(stream, TAPE_EXT_SCAN_BEGIN, ticks, &begin,
					     sizeof(begin), NULL, 0);
	if (!err && records->image)
		err = write_image(records, stream);
	if (!err && records->is_running)
		err = packed_stream_extended(stream, TAPE_EXT_END, ticks, &end, sizeof(end), NULL,
					     0);
	return err;
}
