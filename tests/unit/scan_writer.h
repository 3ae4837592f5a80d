/* scan_writer: a leak scan on a tape made by hand. */
#ifndef MEMTAPE_TESTS_UNIT_SCAN_WRITER_H
#define MEMTAPE_TESTS_UNIT_SCAN_WRITER_H

#include "capture/scan_image.h"
#include "tape_writer.h"

enum { SCAN_WRITER_PART = 20 }; /* small: several parts */

static inline void scan_writer_begin(struct writer *writer, uint32_t id, uint32_t reason,
				     uint64_t ticks)
{
	const struct tape_scan_begin begin = { .id = id, .reason = reason };

	writer_extended(writer, 0, TAPE_EXT_SCAN_BEGIN, ticks, &begin, sizeof(begin), NULL);
}

/* The parts of the result from byte `from` to before `until`. */
static inline void scan_writer_parts(struct writer *writer, uint32_t id, uint64_t ticks,
				     const struct vec_u8 *bytes, size_t from, size_t until)
{
	for (size_t at = from; at < until; at += SCAN_WRITER_PART) {
		const size_t count = u64_min(until - at, SCAN_WRITER_PART);
		const struct tape_scan_part part = { .id = id,
						     .total_bytes = bytes->count,
						     .offset = at };
		uint8_t payload[sizeof(part) + SCAN_WRITER_PART];

		memcpy(payload, &part, sizeof(part));
		memcpy(payload + sizeof(part), bytes->items + at, count);
		writer_extended(writer, 0, TAPE_EXT_SCAN, ticks, payload, sizeof(part) + count,
				NULL);
	}
}

static inline void scan_writer_result(struct writer *writer, uint32_t id, uint64_t ticks,
				      const struct scan_image *image)
{
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };
	const bool ok = scan_image_write(image, &bytes);

	assert(ok);
	scan_writer_parts(writer, id, ticks, &bytes, 0, bytes.count);
}

#endif
