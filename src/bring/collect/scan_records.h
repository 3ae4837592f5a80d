/*
 * scan_records: the result of a leak scan as the last records of a tape that is written anew.
 */
#ifndef MEMTAPE_COLLECT_SCAN_RECORDS_H
#define MEMTAPE_COLLECT_SCAN_RECORDS_H

#include "capture/packed_stream.h"
#include "capture/scan_image.h"
#include "tape/tape_scan.h"

struct scan_records {
	const struct scan_image *image; /* NULL: it is on the tape already */
	uint64_t ticks;			/* when the program stood still */
	uint32_t id;			/* of the scan: none on the tape has it */
	enum tape_scan_reason reason;
	const struct tape_clock_pair *clock; /* read at that time; NULL: the tape says it */
	bool is_running;		     /* the tape has no end yet */
};

struct err *scan_records_write(const struct scan_records *records, struct packed_stream *stream);

#endif
