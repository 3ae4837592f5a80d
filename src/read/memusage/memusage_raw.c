#include "memusage/memusage_raw.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tape/moments_ring.h"

enum { HEADER_RECORDS = 2 };

static void put(uint8_t *at, uint64_t heap, uint64_t stack, uint64_t ticks)
{
	store_u64(at, heap);
	store_u64(at + 8, stack);
	store_u32(at + 16, (uint32_t)ticks);
	store_u32(at + 20, (uint32_t)(ticks >> 32));
}

static uint64_t ticks_of(const uint8_t *record)
{
	return (uint64_t)load_u32(record + 20) << 32 | load_u32(record + 16);
}

bool memusage_raw_begin(const char *path, uint64_t *begin_ticks_ret)
{
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t record[MEMUSAGE_RECORD_BYTES];

	if (fd < 0 || read(fd, record, sizeof(record)) != (ssize_t)sizeof(record))
		return false;
	*begin_ticks_ret = ticks_of(record);
	return true;
}

/* What a process had not written when it was killed; written: bytes present in the file. */
static struct err *ring_take(int fd, const char *path, uint64_t written, uint64_t *bytes)
{
	CLEAN(free) struct moments_ring *ring = malloc(sizeof(*ring));
	const uint64_t window_bytes = sizeof(ring->windows[0]);
	uint64_t end = 0;

	if (*bytes < MOMENTS_RING_OFFSET)
		return NULL;
	if (!ring)
		return err_nomem();
	if (pread(fd, ring, sizeof(*ring), MOMENTS_RING_OFFSET) != (ssize_t)sizeof(*ring))
		return err_errno("read %s", path);
	for (size_t i = 0; i < MOMENTS_WINDOWS; i++) {
		const uint64_t number = ring->numbers[i];
		const uint64_t skip = number == 0 ? HEADER_RECORDS * MEMUSAGE_RECORD_BYTES : 0;

		if (number > written / window_bytes + MOMENTS_WINDOWS)
			return err_new(ERR_FORMAT, "%s is damaged", path);
		if (pwrite(fd, ring->windows[i] + skip, window_bytes - skip,
			   (off_t)(number * window_bytes + skip)) < 0)
			return err_errno("write %s", path);
		end = u64_max(end, (number + 1) * window_bytes);
	}
	*bytes = end;
	return ftruncate(fd, (off_t)end) == 0 ? NULL : err_errno("write %s", path);
}

/*
 * Threads take their slots first and read the clock afterwards, so few are out of order, and only
 * slightly. A slot without a time was never written: its thread was killed.
 */
static uint64_t put_in_order(uint8_t *records, uint64_t count, uint64_t *total_peak_ret)
{
	uint64_t end = HEADER_RECORDS, last_ticks = 0;

	for (uint64_t i = HEADER_RECORDS; i < count; i++) {
		uint8_t *record = records + i * MEMUSAGE_RECORD_BYTES;
		const uint64_t ticks = ticks_of(record);
		uint8_t copy[MEMUSAGE_RECORD_BYTES];
		uint64_t at = end;

		if (ticks == 0)
			continue;
		*total_peak_ret = u64_max(*total_peak_ret, load_u64(record) + load_u64(record + 8));
		end++;
		if (ticks >= last_ticks) {
			last_ticks = ticks;
			if (at != i)
				memcpy(records + at * MEMUSAGE_RECORD_BYTES, record,
				       MEMUSAGE_RECORD_BYTES);
			continue;
		}
		memcpy(copy, record, MEMUSAGE_RECORD_BYTES);
		while (at > HEADER_RECORDS &&
		       ticks_of(records + (at - 1) * MEMUSAGE_RECORD_BYTES) > ticks)
			at--;
		memmove(records + (at + 1) * MEMUSAGE_RECORD_BYTES,
			records + at * MEMUSAGE_RECORD_BYTES,
			(end - 1 - at) * MEMUSAGE_RECORD_BYTES);
		memcpy(records + at * MEMUSAGE_RECORD_BYTES, copy, MEMUSAGE_RECORD_BYTES);
	}
	return end;
}

static struct err *head_put(int fd, const char *path, uint64_t total_peak, uint64_t end_ticks,
			    const struct memusage_head *head)
{
	uint8_t bytes[HEADER_RECORDS * MEMUSAGE_RECORD_BYTES];

	put(bytes, 0, total_peak, head->begin_ticks);
	put(bytes + MEMUSAGE_RECORD_BYTES, head->heap_max, head->stack_max, end_ticks);
	return pwrite(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes)
		       ? NULL
		       : err_errno("write %s", path);
}

struct err *memusage_raw_finish(const char *path, const struct memusage_head *head)
{
	CLEAN(close) int fd = open(path, O_RDWR | O_CLOEXEC);
	uint64_t total_peak = 0, end_ticks = head->end_ticks, end, bytes;
	struct stat status;
	struct err *err;
	uint8_t *records;

	if (fd < 0 || fstat(fd, &status) != 0)
		return err_errno("%s", path);
	bytes = (uint64_t)status.st_size;
	err = ring_take(fd, path, (uint64_t)status.st_blocks * 512, &bytes);
	if (err)
		return err;
	if (bytes < HEADER_RECORDS * MEMUSAGE_RECORD_BYTES)
		return err_new(ERR_FORMAT, "%s is too short for a data file of memusage", path);
	records = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (records == MAP_FAILED)
		return err_errno("map %s", path);
	end = put_in_order(records, bytes / MEMUSAGE_RECORD_BYTES, &total_peak);
	if (end > HEADER_RECORDS)
		end_ticks =
			u64_max(end_ticks, ticks_of(records + (end - 1) * MEMUSAGE_RECORD_BYTES));
	munmap(records, bytes);
	err = head_put(fd, path, total_peak, end_ticks, head);
	if (!err && ftruncate(fd, (off_t)(end * MEMUSAGE_RECORD_BYTES)) != 0)
		err = err_errno("write %s", path);
	return err;
}
