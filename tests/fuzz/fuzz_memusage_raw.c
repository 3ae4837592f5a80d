/*
 * Data files of memusage as the recorder leaves them: any bytes become a file that can be read, in
 * the order of time and without empty places, or an error. An input is four bytes - how many of the
 * rest the file begins with, and whether it has a ring - and those; what is left over is the ring.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "memusage/memusage.h"
#include "memusage/memusage_raw.h"
#include "tape/moments_ring.h"

enum { PREFIX_BYTES = 4 };

struct totals {
	uint64_t count, last_ticks, peak;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void visit(void *context, const struct memusage_record *records, size_t count)
{
	struct totals *totals = context;

	for (size_t i = 0; i < count; i++) {
		check(records[i].ticks >= totals->last_ticks && records[i].ticks > 0);
		totals->last_ticks = records[i].ticks;
		totals->peak = u64_max(totals->peak, records[i].heap + records[i].stack);
	}
	totals->count += count;
}

/* Records with a time, of which the last may be cut off. */
static uint64_t records_in(const uint8_t *data, size_t size)
{
	uint64_t count = 0;

	for (size_t at = 2 * MEMUSAGE_RECORD_BYTES; at + MEMUSAGE_RECORD_BYTES <= size;
	     at += MEMUSAGE_RECORD_BYTES)
		count += load_u64(data + at + 16) != 0;
	return count;
}

static void finished_check(int fd, const struct memusage_head *want)
{
	CLEAN(memusage_close) struct memusage *memusage = NULL;
	const struct memusage_head *head;
	struct totals totals = { 0 };

	check(!memusage_open_fd(fd, "fuzz", &memusage));
	head = memusage_head(memusage);
	check(!memusage_each(memusage, visit, &totals));
	check(totals.count == head->record_count && head->trailing_bytes == 0);
	if (want->record_count != UINT64_MAX)
		check(totals.count == want->record_count);
	if (head->was_repaired)
		return;
	check(head->begin_ticks == want->begin_ticks && head->total_max >= totals.peak);
	check(head->end_ticks >= totals.last_ticks && head->end_ticks >= want->end_ticks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memusage_head head = { .heap_max = 7, .stack_max = 5, .record_count = UINT64_MAX };
	size_t begin_bytes, ring_bytes;
	bool has_ring;
	char path[64];
	struct err *err;
	int fd;

	if (size < PREFIX_BYTES)
		return 0;
	begin_bytes = load_u32(data) & 0xffffff;
	has_ring = data[3] & 1;
	data += PREFIX_BYTES;
	size -= PREFIX_BYTES;
	begin_bytes = begin_bytes < size ? begin_bytes : size;
	ring_bytes = size - begin_bytes;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	check(fd >= 0 && pwrite(fd, data, begin_bytes, 0) == (ssize_t)begin_bytes);
	if (has_ring) {
		check(ftruncate(fd, MOMENTS_RING_OFFSET + sizeof(struct moments_ring)) == 0);
		check(pwrite(fd, data + begin_bytes, ring_bytes, MOMENTS_RING_OFFSET) ==
		      (ssize_t)ring_bytes);
	} else {
		head.record_count = records_in(data, begin_bytes);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!memusage_raw_begin(path, &head.begin_ticks))
		head.begin_ticks = 0;
	head.end_ticks = head.begin_ticks;
	err = memusage_raw_finish(path, &head);
	if (err) {
		check(err_code_of(err) == ERR_FORMAT);
		err_destroy(err);
		close(fd);
		return 0;
	}
	finished_check(fd, &head);
	return 0;
}
