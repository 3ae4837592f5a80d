/*
 * reserve: slots appended to a tape in advance, for when the program forbids the system calls that
 * more of them would need (sandbox.c). With a collector's spool none are needed.
 */
#include "rec/rec.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "rec/file.h"

#include "core/poison.h"

enum { FUTEX_WAKE = 1 }; /* of <linux/futex.h>, which musl installations lack */

static struct {
	uint8_t *memory;
	bool is_inherited;
	uint32_t first_slot;
	uint32_t count;
	_Atomic uint32_t taken;
} reserved;

bool rec_slot_is_reserved(const void *chunk)
{
	CHECK(reserved.memory || reserved.count == 0);
	return reserved.memory && (uint64_t)((const uint8_t *)chunk - reserved.memory) <
					  (uint64_t)reserved.count * rec.chunk_bytes;
}

static bool reserve_slots(uint32_t count)
{
	const uint64_t begin = TAPE_HEADER_BYTES + (uint64_t)rec.live->next_slot * rec.chunk_bytes;
	const size_t bytes = (size_t)count * rec.chunk_bytes, lead = rec_slot_lead();
	long result;

	CHECK(count > 0);
	if (rec_file_extend(&rec.file, begin, bytes) < 0)
		return false;
	result = sys_mmap(NULL, lead + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, rec.file.fd,
			  begin - lead);
	if (sys_failed(result))
		return false;
	reserved.is_inherited = !rec_fork_keep_out((void *)result, lead + bytes);
	reserved.first_slot = atomic_fetch_add(LIVE(next_slot), count);
	reserved.count = count;
	reserved.memory = (uint8_t *)result + lead;
	return true;
}

/* In a forked child: it is the parent's. */
void rec_slots_forget(void)
{
	reserved.memory = NULL;
	reserved.count = 0;
	reserved.taken = 0;
}

/* Disk space for a recording in a sandbox, or for as much of it as possible. */
void rec_slots_reserve(void)
{
	enum { COUNT = 256 };

	if (rec.slots || reserved.memory || !rec_lock(&rec.file_lock))
		return;
	for (uint32_t count = COUNT; count > 0 && !reserve_slots(count); count /= 2)
		;
	rec_unlock(&rec.file_lock);
}

struct tape_chunk *rec_slot_reserved(struct rec_lane *lane)
{
	const uint32_t index = atomic_fetch_add(&reserved.taken, 1);
	struct tape_chunk *chunk;

	CHECK(!rec.slots);
	if (index >= reserved.count) {
		rec_stop(TAPE_FAULT_SANDBOX, 0);
		return NULL;
	}
	chunk = (struct tape_chunk *)(reserved.memory + (uint64_t)index * rec.chunk_bytes);
	lane->slot = reserved.first_slot + index;
	lane->slot_map = chunk;
	lane->slot_is_inherited = reserved.is_inherited;
	chunk->state = TAPE_CHUNK_OPEN;
	return chunk;
}

void rec_collector_poll(void)
{
	if (!rec.slots)
		return;
	atomic_store(LIVE(no_wakes), 1);
	sys_call6(SYS_futex, (long)&rec.live->sealed_count, FUTEX_WAKE, 1, 0, 0, 0);
}
