#include "rec/moments.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "rec/file.h"

#include "core/poison.h"

enum {
	RECORD_BYTES = 24,
	HEADER_RECORDS = 2,
	WINDOW_BYTES = MOMENTS_WINDOW_RECORDS * RECORD_BYTES,
	PATIENCE_MS = 5000, /* for a window whose writer was interrupted */
	PATIENCE_AT_END_MS = 500
};

#define CLOSED (UINT64_C(1) << 62)

/* Changed by all threads at each call. */
static struct {
	_Alignas(64) _Atomic uint64_t next; /* index, including the header; CLOSED and more: none */
	_Alignas(64) _Atomic uint64_t total_peak;
	_Atomic uint32_t is_full; /* the file could not grow, and ends somewhere */
	uint64_t begin_ticks;
	struct moments_ring *ring;
} data;

struct record {
	uint64_t heap, stack;
	uint32_t low, high;
};

static_assert(sizeof(struct record) == RECORD_BYTES, "as glibc has it");
static_assert(sizeof(struct moments_ring) ==
		      MOMENTS_RING_HEADER_BYTES + (size_t)MOMENTS_WINDOWS * WINDOW_BYTES,
	      "no gaps");

static struct record record_make(uint64_t heap, uint64_t stack, uint64_t ticks)
{
	return (struct record) { heap, stack, (uint32_t)ticks, (uint32_t)(ticks >> 32) };
}

static uint64_t record_ticks(const struct record *record)
{
	return (uint64_t)record->high << 32 | record->low;
}

/* A SIGXFSZ is swallowed. */
static bool file_write(const void *ptr, size_t bytes, uint64_t offset)
{
	const struct sys_signals xfsz = sys_signal(SIGXFSZ);
	struct sys_signals saved;
	long result = 0;

	if (!rec_file_check(&rec.moments))
		return false;
	sys_signals_block(&xfsz, &saved);
	for (size_t done = 0; done < bytes; done += (size_t)result) {
		result = sys_pwrite(rec.moments.fd, (const uint8_t *)ptr + done, bytes - done,
				    offset + done);
		if (result <= 0)
			break;
	}
	if (result == -EFBIG)
		sys_signals_swallow(&xfsz);
	sys_signals_restore(&saved);
	return result > 0;
}

static bool header_write(uint64_t heap_peak, uint64_t stack_peak, uint64_t end_ticks)
{
	const struct record header[HEADER_RECORDS] = {
		record_make(0, heap_peak || stack_peak ? atomic_load(&data.total_peak) : 0,
			    data.begin_ticks),
		record_make(heap_peak, stack_peak, end_ticks),
	};

	return file_write(header, sizeof(header), 0);
}

/*
 * If a reader that knows of it will read the file, the ring is far past the file's end, so that
 * nothing is lost if the process is killed. If a disk or a limit does not allow that: in memory.
 */
static struct moments_ring *ring_map(void)
{
	const size_t bytes = sizeof(*data.ring);
	long result = -ENOSYS;

	if (!rec.options.table && rec_file_extend(&rec.moments, MOMENTS_RING_OFFSET, bytes) == 0)
		result = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, rec.moments.fd,
				  MOMENTS_RING_OFFSET);
	if (sys_failed(result))
		return sys_map_private(bytes);
	rec.moments_ring = (void *)result;
	rec.moments_ring_bytes = bytes;
	rec.ring_is_inherited = !rec_fork_keep_out(rec.moments_ring, bytes);
	return rec.moments_ring;
}

static bool ring_make(void)
{
	rec.moments_ring_bytes = 0;
	data.ring = ring_map();
	for (unsigned i = 0; data.ring && i < MOMENTS_WINDOWS; i++)
		atomic_store(&data.ring->numbers[i], i);
	return data.ring;
}

int rec_moments_open(const char *pattern, bool replaces)
{
	int rc = replaces ? rec_file_replace(&rec.moments, pattern, 0666)
			  : rec_file_create(&rec.moments, pattern, 0666);

	CHECK(rec.header);
	if (rc == 0 && !ring_make())
		rc = -ENOMEM;
	data.begin_ticks = rec.header->start_ticks << rec.tick_shift;
	if (rc == 0 && !header_write(0, 0, data.begin_ticks))
		rc = -ENOSPC;
	if (rc < 0) {
		rec_file_remove(&rec.moments);
		return rc;
	}
	atomic_store(&data.total_peak, 0);
	atomic_store(&data.is_full, false);
	/* The header has its entries in the first window, which are not written from there. */
	atomic_store(&data.ring->done[0], HEADER_RECORDS);
	atomic_store(&data.next, HEADER_RECORDS);
	return 0;
}

/* The file ends here, for lack of space. If it is read at once, none is better than a part. */
static REC_COLD void moments_fail(void)
{
	if (atomic_fetch_add(&data.next, CLOSED) >= CLOSED)
		return;
	if (rec.options.table)
		atomic_store(&data.is_full, true);
	else
		rec_file_remove(&rec.moments);
}

/* Writes window `number`, `count` entries of it. */
static bool window_write(uint64_t number, size_t count)
{
	const size_t skip = number == 0 ? HEADER_RECORDS * RECORD_BYTES : 0;
	const uint8_t *window = data.ring->windows[number % MOMENTS_WINDOWS];
	const size_t bytes = count * RECORD_BYTES;

	return bytes <= skip ||
	       file_write(window + skip, bytes - skip, number * WINDOW_BYTES + skip);
}

/* The last of its entries has been filled, by this thread. */
static REC_COLD void window_recycle(uint64_t number)
{
	const size_t index = number % MOMENTS_WINDOWS;

	if (!window_write(number, MOMENTS_WINDOW_RECORDS))
		moments_fail();
	memset(data.ring->windows[index], 0, WINDOW_BYTES);
	atomic_store_explicit(&data.ring->done[index], 0, memory_order_relaxed);
	atomic_store_explicit(&data.ring->numbers[index], number + MOMENTS_WINDOWS,
			      memory_order_release);
}

/* Waits for condition; false: it took too long. */
#define WAIT(condition, ms)                                                                        \
	({                                                                                         \
		const struct sys_timeout pause = { .nanoseconds = 1000000 };                       \
		unsigned rounds = 0;                                                               \
		while (!(condition) && rounds < (ms) + ROUNDS_SHORT)                               \
			if (rounds++ < ROUNDS_SHORT)                                               \
				SYS_CALL0(SYS_sched_yield);                                        \
			else                                                                       \
				SYS_CALL2(SYS_nanosleep, &pause, NULL);                            \
		(condition);                                                                       \
	})

enum { ROUNDS_SHORT = 1000 };

static uint64_t window_at(uint64_t number)
{
	return atomic_load_explicit(&data.ring->numbers[number % MOMENTS_WINDOWS],
				    memory_order_acquire);
}

/* A writer was interrupted in this window. A handler may have interrupted this very thread. */
static REC_COLD bool window_wait(uint64_t number)
{
	if (WAIT(window_at(number) == number, PATIENCE_MS))
		return true;
	moments_fail();
	return false;
}

static uint64_t stack_of(struct rec_lane *lane)
{
	const struct rec_counts *counts = &lane->counts;
	const uint64_t sp = rec_tls.caller.sp;

	if (sp - counts->stack_low <= counts->stack_bytes) /* else it is on another one */
		lane->moment_stack = counts->stack_low + counts->stack_bytes - sp;
	return lane->moment_stack;
}

void rec_moments_add(struct rec_lane *lane, uint64_t heap_bytes)
{
	const uint64_t stack = stack_of(lane);
	const uint64_t place = atomic_fetch_add(&data.next, 1);
	const uint64_t number = place / MOMENTS_WINDOW_RECORDS;
	const size_t index = number % MOMENTS_WINDOWS;
	uint64_t total;

	if (unlikely(place >= CLOSED) ||
	    (unlikely(window_at(number) != number) && !window_wait(number)))
		return;
	((struct record *)data.ring->windows[index])[place % MOMENTS_WINDOW_RECORDS] =
		record_make(heap_bytes, stack, rec_ticks());
	if (unlikely(atomic_fetch_add(&data.ring->done[index], 1) == MOMENTS_WINDOW_RECORDS - 1))
		window_recycle(number);
	total = atomic_load_explicit(&data.total_peak, memory_order_relaxed);
	while (unlikely(heap_bytes + stack > total) &&
	       !atomic_compare_exchange_weak(&data.total_peak, &total, heap_bytes + stack))
		;
}

/* --- the end -------------------------------------------------------------------------------- */

/* Full windows are written by whoever filled them; of the last one, whatever it has. */
static void rest_write(uint64_t count)
{
	const uint64_t last = count / MOMENTS_WINDOW_RECORDS;
	const uint64_t first = last < MOMENTS_WINDOWS ? 0 : last - MOMENTS_WINDOWS + 1;
	const size_t places = count % MOMENTS_WINDOW_RECORDS;
	_Atomic uint32_t *done = &data.ring->done[last % MOMENTS_WINDOWS];

	for (uint64_t number = first; number < last; number++) {
		WAIT(window_at(number) > number, PATIENCE_AT_END_MS);
		if (window_at(number) == number)
			window_write(number, MOMENTS_WINDOW_RECORDS);
	}
	WAIT(window_at(last) == last && atomic_load(done) == places, PATIENCE_AT_END_MS);
	if (window_at(last) == last)
		window_write(last, places);
}

/*
 * Sorts by time: entries interrupted between their index and their time are out of order; drops
 * entries that were never filled. Returns the end.
 */
static uint64_t put_in_order(struct record *records, uint64_t count)
{
	uint64_t end = HEADER_RECORDS;

	for (uint64_t i = HEADER_RECORDS; i < count; i++) {
		const struct record record = records[i];
		const uint64_t ticks = record_ticks(&record);
		uint64_t at = end;

		if (ticks == 0)
			continue;
		for (; at > HEADER_RECORDS && record_ticks(&records[at - 1]) > ticks; at--)
			records[at] = records[at - 1];
		if (at < i)
			records[at] = record;
		end++;
	}
	return end;
}

static uint64_t file_records(void)
{
	ARCH_STAT st;

	return sys_fstat(rec.moments.fd, &st) == 0 ? (uint64_t)st.st_size / RECORD_BYTES : 0;
}

/* Needed with several threads, or missing windows. */
static uint64_t file_sort(uint64_t count)
{
	const size_t bytes = (size_t)count * RECORD_BYTES;
	const long result =
		sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, rec.moments.fd, 0);

	if (sys_failed(result))
		return count;
	count = put_in_order((struct record *)result, count);
	sys_munmap((void *)result, bytes);
	return count;
}

void rec_moments_close(uint64_t heap_peak, uint64_t stack_peak)
{
	const uint64_t end_ticks = rec_ticks();
	uint64_t count = atomic_fetch_add(&data.next, CLOSED);

	if (count < CLOSED)
		rest_write(count);
	else if (!atomic_exchange(&data.is_full, false))
		return; /* it is closed */
	if (!rec_file_check(&rec.moments))
		return;
	count = u64_min(count, file_records());
	if (count >= HEADER_RECORDS && atomic_load(&rec.lane_count) > 1)
		count = file_sort(count);
	header_write(heap_peak, stack_peak, end_ticks);
	sys_ftruncate(rec.moments.fd, count * RECORD_BYTES);
}

/* The header is empty again: the file continues. */
void rec_moments_reopen(void)
{
	if (rec.moments.fd < 0 || atomic_load(&data.next) < CLOSED ||
	    !header_write(0, 0, data.begin_ticks))
		return;
	atomic_fetch_sub(&data.next, CLOSED);
}
