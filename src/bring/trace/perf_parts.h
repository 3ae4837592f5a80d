/* perf_parts: the parts of a perf. Internal to perf*.c. */
#ifndef MEMTAPE_TRACE_PERF_PARTS_H
#define MEMTAPE_TRACE_PERF_PARTS_H

#include <linux/perf_event.h>

#include "base/map.h"
#include "trace/perf.h"

/* Of an event, for one thread on one processor. */
struct perf_fd {
	int fd;
	size_t source; /* source_count: none, for what a process maps, forks and so on */
};

VEC_DEFINE(perf_fds, struct perf_fd);

enum { PERF_RECORD_BYTES_MAX = UINT16_MAX };

/* Where the kernel writes the records of a processor, in the order of time. */
struct perf_ring {
	int fd; /* borrowed, of its first event */
	struct perf_event_mmap_page *page;
	const uint8_t *bytes;
	size_t size; /* a power of two */
	uint64_t tail, head;
	const uint8_t *record; /* the next one; valid if record_bytes > 0 */
	size_t record_bytes;
	uint64_t record_ns;
	uint8_t *around; /* a record that begins at the end of the ring and ends at its beginning */
};

VEC_DEFINE(perf_rings, struct perf_ring);

struct perf {
	struct perf_settings settings;
	struct kinds_source sources[KINDS_EVENTS];
	struct perf_fds fds;
	struct perf_rings rings;
	struct map source_of; /* the kernel's number of an event -> source */
	bool is_user_only;
	bool tells_build_ids; /* the kernel does, of what is mapped */
	bool only_threads;    /* no events of processes that are forked */
	bool counts_lost; /* the kernel does, by event; else those that the rings tell are all known */
	uint64_t lost[KINDS_EVENTS];
};

/* Of every event, so that it can be read before the event is known: number, thread and time. */
static const uint64_t PERF_COMMON = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;

#endif
