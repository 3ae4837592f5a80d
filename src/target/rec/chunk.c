/*
 * chunk: where the bytes go. Two kinds of file, one kind of chunk:
 *
 * A *spool* was made by a collector (memtape record): all its slots are mapped once, a thread takes
 * the lowest free one, the collector empties sealed ones and frees them. So few slots are in use
 * and they stay in the cache, and the program may do anything to its descriptors. If the collector
 * is killed, later data goes to the spool, like to a growing tape.
 *
 * Without a collector the tape itself is the file: it grows by one slot at a time, and only the one
 * in use is mapped.
 *
 * If only a table of counts is requested (libmemusage.so), there is no tape, and one chunk of plain
 * memory per lane.
 */
#include "rec/rec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "rec/attach.h"
#include "rec/file.h"
#include "rec/log.h"
#include "rec/path.h"
#include "rec/streamed.h"
#include "rec/tables.h"

#include "core/poison.h"

/* of <linux/futex.h>, which musl installations lack */
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1 };

enum { WAIT_ROUNDS = 250, ASK_ROUNDS = 5, WAIT_MS = 20 };

static struct tape_chunk *slot_at(uint32_t slot)
{
	return (struct tape_chunk *)(rec.slots + (uint64_t)slot * rec.chunk_bytes);
}

static bool slot_try(struct rec_lane *lane, uint32_t slot)
{
	uint32_t idle = arch_little_u32(TAPE_CHUNK_FREE);

	if (!atomic_compare_exchange_strong(ARCH_LITTLE_WORD(slot_at(slot), state), &idle,
					    arch_little_u32(TAPE_CHUNK_OPEN)))
		return false;
	lane->slot = slot;
	return true;
}

/* A slot behind them may have no blocks in the file: a SIGBUS. The collector adds more. */
static uint32_t slots_ready(void)
{
	return (uint32_t)u64_min(atomic_load_explicit(LIVE(slots_ready), memory_order_acquire),
				 rec.slot_count);
}

static bool slot_is_spooled(const struct tape_chunk *chunk)
{
	return (uint64_t)((const uint8_t *)chunk - rec.slots) <
	       (uint64_t)rec.slot_count * rec.chunk_bytes;
}

/* Something was sealed, or is requested. */
void rec_collector_wake(void)
{
	atomic_fetch_add(LIVE(sealed_count), 1);
	if (atomic_load(LIVE(collector_waits)) && rec_may_call())
		sys_call6(SYS_futex, (long)&rec.live->sealed_count, FUTEX_WAKE, 1, 0, 0, 0);
}

static bool slot_find(struct rec_lane *lane)
{
	CHECK(rec.slots && !lane->chunk);
	if (atomic_load(&rec.sealed) - atomic_load(LIVE(freed_count)) >= rec.live->sealed_max)
		return false; /* the collector is behind: do not use ever more memory */
	for (uint32_t i = 0, ready = slots_ready(); i < ready; i++)
		if (atomic_load_explicit(ARCH_LITTLE_WORD(slot_at(i), state),
					 memory_order_relaxed) ==
			    arch_little_u32(TAPE_CHUNK_FREE) &&
		    slot_try(lane, i))
			return true;
	return false;
}

static struct tape_chunk *slot_append(struct rec_lane *lane)
{
	const size_t lead = rec_slot_lead(), bytes = lead + rec.chunk_bytes;
	uint64_t begin;
	long result;
	int rc;

	CHECK(!lane->chunk);
	if (!rec_lock(&rec.file_lock))
		return NULL; /* a handler inside this very function: its event is counted as lost */
	lane->slot = atomic_fetch_add(LIVE(next_slot), 1); /* a collector may append, too */
	begin = TAPE_HEADER_BYTES + (uint64_t)lane->slot * rec.chunk_bytes;
	rc = rec_file_extend(&rec.file, begin, rec.chunk_bytes);
	rec_unlock(&rec.file_lock);
	if (rc < 0) {
		rec_stop(TAPE_FAULT_SPACE, -rc);
		return NULL;
	}
	result = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			  rec.file.fd, begin - lead);
	if (sys_failed(result)) {
		rec_stop(TAPE_FAULT_MAP, (int)-result);
		return NULL;
	}
	lane->slot_is_inherited = !rec_fork_keep_out((void *)result, bytes);
	lane->slot_map = (uint8_t *)result + lead;
	((struct tape_chunk *)lane->slot_map)->state = TAPE_CHUNK_OPEN;
	return lane->slot_map;
}

/*
 * Whether the lock that a collector holds on the spool until it ends, however it ends, is free. A
 * spool without a name is memory that ends with it. Of a process in a namespace of its own nothing
 * can be asked: it gives up when no slot is freed for long enough.
 */
bool rec_collector_is_gone(void)
{
	bool is_gone = false;

	if (rec.is_streamed)
		return rec_streamed_is_dead();
	if (atomic_load(LIVE(collector_state)) != TAPE_COLLECTOR_RUNNING)
		return true;
	if (rec_attach_spool() >= 0)
		return false;
	if (!rec.file.path[0])
		return SYS_CALL2(SYS_kill, rec.live->collector_pid, 0) == -ESRCH;
	if (!rec_lock(&rec.file_lock))
		return false;
	if (rec_file_check(&rec.file)) {
		is_gone = SYS_CALL2(SYS_flock, rec.file.fd, LOCK_SH | LOCK_NB) == 0;
		rec_file_close(&rec.file);
	} else {
		is_gone = SYS_CALL2(SYS_kill, rec.live->collector_pid, 0) == -ESRCH;
	}
	rec_unlock(&rec.file_lock);
	return is_gone;
}

/*
 * All slots are full: wait for the collector while it makes progress, and up to five seconds when
 * it does not. False: it is gone, or as good as gone.
 */
static bool slot_wait(struct rec_lane *lane)
{
	const struct sys_timeout interval = { .nanoseconds = WAIT_MS * 1000000L };

	for (int idle = 0; idle < WAIT_ROUNDS; idle++) {
		const uint32_t freed = atomic_load(LIVE(freed_count));
		const uint32_t ready = slots_ready();

		if (slot_find(lane))
			return true;
		atomic_store(LIVE(slots_wanted), ready + 1);
		rec_collector_wake();
		if (atomic_load(LIVE(collector_state)) != TAPE_COLLECTOR_RUNNING ||
		    (idle % ASK_ROUNDS == ASK_ROUNDS - 1 && rec_collector_is_gone()))
			return false;
		atomic_fetch_add(LIVE(recorder_waits), 1);
		sys_call6(SYS_futex, (long)&rec.live->freed_count, FUTEX_WAIT, freed,
			  (long)&interval, 0, 0);
		atomic_fetch_sub(LIVE(recorder_waits), 1);
		if (atomic_load(LIVE(freed_count)) != freed || slots_ready() != ready)
			idle = 0;
	}
	return false;
}

/* The same without system calls (sandbox.c): no sleep, and no check whether the collector lives. */
static bool slot_spin(struct rec_lane *lane)
{
	enum { ROUNDS = 200000, PAUSES = 200 };

	for (int idle = 0; idle < ROUNDS; idle++) {
		const uint32_t freed = atomic_load(LIVE(freed_count));
		const uint32_t ready = slots_ready();

		if (slot_find(lane))
			return true;
		if (atomic_load(LIVE(collector_state)) != TAPE_COLLECTOR_RUNNING)
			return false;
		atomic_store(LIVE(slots_wanted), ready + 1);
		for (int i = 0; i < PAUSES; i++)
			arch_pause();
		if (atomic_load(LIVE(freed_count)) != freed || slots_ready() != ready)
			idle = 0;
	}
	return false;
}

/*
 * Of a tape in memory alone: what the sender cannot send for long enough is lost, until it can again. The
 * wait is not repeated before it has sent something.
 */
static REC_COLD struct tape_chunk *slot_take_streamed(struct rec_lane *lane)
{
	if (!rec_collector_is_gone() && rec_streamed_waits() &&
	    (rec_may_call() ? slot_wait(lane) : slot_spin(lane)))
		return slot_at(lane->slot);
	if (rec_collector_is_gone())
		rec_stop(TAPE_FAULT_COLLECTOR, 0);
	else
		rec_streamed_gap();
	return NULL;
}

/*
 * A collector that has given up - its disk is full, it was asked to stop - wants no more. If it was
 * killed or hangs, we continue without it: the spool has a name, and slots are appended to it as to
 * a tape of our own. The tape's reader, or the collector if it comes back, finds them there.
 */
static struct tape_chunk *slot_take(struct rec_lane *lane)
{
	if (slot_find(lane))
		return slot_at(lane->slot);
	if (rec.is_streamed)
		return slot_take_streamed(lane);
	if (!rec.is_alone && (rec_may_call() ? slot_wait(lane) : slot_spin(lane)))
		return slot_at(lane->slot);
	if (!rec.file.path[0] || !rec_may_call() ||
	    atomic_load(LIVE(collector_state)) != TAPE_COLLECTOR_RUNNING) {
		rec_stop(TAPE_FAULT_COLLECTOR, 0);
		return NULL;
	}
	rec.is_alone = true;
	REC_LOG(REC_LOG_WARNING, "the collector does not answer: recorded to %s alone from here on",
		rec.file.path);
	return slot_append(lane);
}

/* The chunk is complete: hand it to the collector, or sum it up and release it. */
void rec_chunk_seal(struct rec_lane *lane)
{
	struct tape_chunk *chunk = lane->chunk;

	CHECK(!chunk || (lane->cursor >= lane->records && lane->cursor <= lane->nodes));
	CHECK(!chunk || lane->records == (uint8_t *)chunk + sizeof(*chunk));
	if (!chunk)
		return;
	lane->next_node = chunk->first_node + chunk->node_count; /* tables.c: node_define() */
	lane->chunk = NULL;
	lane->calls = NULL;
	lane->counts = (struct rec_counts) { 0 }; /* no stack is like that */
	atomic_store_explicit(ARCH_LITTLE_WORD(chunk, state), arch_little_u32(TAPE_CHUNK_SEALED),
			      memory_order_release);
	if (!slot_is_spooled(chunk)) {
		lane->slot_map = NULL;
		if (!rec_may_call() || rec_slot_is_reserved(chunk))
			return;
		sys_munmap((uint8_t *)chunk - rec_slot_lead(), rec_slot_lead() + rec.chunk_bytes);
		return;
	}
	atomic_fetch_add(&rec.sealed, 1);
	rec_collector_wake();
}

static void chunk_begin(struct rec_lane *lane, struct tape_chunk *chunk)
{
	/* Not later than the event that needed this chunk. */
	const uint64_t ticks = lane->seq ? lane->codec.ticks : rec.header->start_ticks;

	CHECK(rec.chunk_bytes > sizeof(*chunk) + TAPE_EVENT_ROOM);
	CHECK(((uintptr_t)chunk & 7) == 0);
	chunk->magic = TAPE_CHUNK_MAGIC;
	chunk->header_bytes = sizeof(*chunk);
	chunk->codec = TAPE_CODEC_RAW;
	chunk->stream = lane->stream;
	chunk->seq = lane->seq++;
	chunk->node_count = 0;
	chunk->first_node = lane->next_node;
	chunk->begin_ticks = ticks;
	memset((uint8_t *)chunk + offsetof(struct tape_chunk, event_count), 0,
	       sizeof(struct tape_taken));
	chunk->oldest_node =
		(uint32_t)u64_min(rec_node_number(lane, TAPE_NODE_FIRST), lane->next_node);
	atomic_store_explicit(ARCH_LITTLE_WORD(chunk, used), 0, memory_order_release);
	tape_codec_reset(&lane->codec, ticks);
	lane->records = (uint8_t *)chunk + sizeof(*chunk);
	lane->cursor = lane->records;
	lane->nodes = (uint8_t *)chunk + rec.chunk_bytes;
	lane->limit = lane->nodes - TAPE_EVENT_ROOM;
	lane->chunk = chunk;
}

static bool may_have_chunk(void)
{
	const uint32_t state = atomic_load(&rec.state);

	return state == REC_STARTING || (state == REC_ON && atomic_load(&rec.shared->epoch) != 0);
}

static struct tape_chunk *chunk_replace(struct rec_lane *lane)
{
	rec_chunk_seal(lane);
	lane->cursor = (uint8_t *)1;
	lane->limit = lane->nodes = NULL;
	if (!may_have_chunk())
		return NULL;
	if (rec.slots)
		return slot_take(lane);
	return rec_may_call() ? slot_append(lane) : rec_slot_reserved(lane);
}

/*
 * No signal handler may come between: one that forks must find in the lane which part of the tape
 * is mapped. With a spool all of it is known from the start.
 */
static struct tape_chunk *chunk_replace_alone(struct rec_lane *lane)
{
	struct tape_chunk *chunk;
	struct sys_signals saved;

	if (!rec_may_call())
		return chunk_replace(lane);
	sys_signals_block_all(&saved);
	chunk = chunk_replace(lane);
	sys_signals_restore(&saved);
	return chunk;
}

/* Without a tape: the same chunk over and over. */
static bool scratch_next(struct rec_lane *lane)
{
	struct tape_chunk *chunk = lane->chunk;

	if (!chunk)
		chunk = sys_map_private(rec.chunk_bytes);
	if (!chunk)
		return false;
	chunk_begin(lane, chunk);
	return true;
}

/* While there is no chunk, the lane's cursor and limit send every event here. */
bool rec_chunk_next(struct rec_lane *lane)
{
	const uint64_t began = rec_ticks();
	struct tape_chunk *chunk;

	if (rec.options.table)
		return scratch_next(lane);
	chunk = rec.slots ? chunk_replace(lane) : chunk_replace_alone(lane);
	if (!chunk)
		return false;
	chunk_begin(lane, chunk);
	atomic_store_explicit(LIVE(recorder_bytes), atomic_load(&rec.private_bytes),
			      memory_order_relaxed);
	if (unlikely(rec.is_streamed))
		rec_streamed_note_again(lane);
	rec_streamed_look();
	rec_usage_note(lane);
	rec_lane_now_and_then(lane);
	rec_slow_ticks(began);
	return true;
}

void rec_note_at(struct rec_lane *lane, uint64_t ticks, enum tape_extended type,
		 const void *payload, size_t bytes, const void *tail, size_t tail_bytes)
{
	const size_t room = TAPE_RECORD_BYTES_MAX - TAPE_EXTENDED_BYTES - bytes;

	CHECK(bytes <= TAPE_RECORD_BYTES_MAX - TAPE_EXTENDED_BYTES);
	CHECK(payload || bytes == 0);
	CHECK(tail || tail_bytes == 0);
	if (tail_bytes > room)
		tail_bytes = room;
	if ((!lane->chunk || lane->cursor > lane->limit ||
	     (size_t)(lane->limit - lane->cursor) < TAPE_EXTENDED_BYTES + bytes + tail_bytes) &&
	    !rec_chunk_next(lane)) {
		rec_lost(TAPE_LOST_NO_SPACE);
		return;
	}
	lane->noted_ticks = ticks;
	lane->cursor =
		tape_extended_encode(lane->cursor, type, ticks, payload, bytes, tail, tail_bytes);
	atomic_store_explicit(ARCH_LITTLE_WORD(lane->chunk, used),
			      arch_little_u32((uint32_t)(lane->cursor - lane->records)),
			      memory_order_release);
}

void rec_note(struct rec_lane *lane, enum tape_extended type, const void *payload, size_t bytes,
	      const void *tail, size_t tail_bytes)
{
	rec_note_at(lane, rec_ticks() >> rec.tick_shift, type, payload, bytes, tail, tail_bytes);
}

/* All of the file, or its first page. */
bool rec_tape_map(uint64_t bytes)
{
	/* One that was left is replaced: threads may still write to it (rec_tape_cover()). */
	const bool is_again = rec.generation > 1 && rec.header && bytes == rec.mapped_bytes;
	long result = -ENOMEM;

	CHECK(bytes >= TAPE_HEADER_BYTES);
	CHECK(rec.file.fd >= 0);
	if (bytes <= SIZE_MAX)
		result = sys_mmap(is_again ? rec.header : NULL, (size_t)bytes,
				  PROT_READ | PROT_WRITE, MAP_SHARED | (is_again ? MAP_FIXED : 0),
				  rec.file.fd, 0);
	if (sys_failed(result)) {
		rec_stop(TAPE_FAULT_MAP, (int)-result);
		return false;
	}
	rec.mapped_bytes = bytes;
	rec.header_is_inherited = !rec_fork_keep_out((void *)result, (size_t)bytes);
	rec.header = (struct tape_header *)result;
	rec.live = (struct tape_live *)rec.header->live;
	return true;
}

/* A filter that the program was started under forbids creating files: that is intended. */
static bool is_sandboxed_from(int rc)
{
	return (rc == -ENOSYS || rc == -EPERM) && !rec_may_ask();
}

bool rec_tape_open_file(const char *pattern)
{
	int rc = rec_file_create(&rec.file, pattern, 0600);

	rec.slots = NULL;
	rec.slot_count = 0;
	rec.lanes_max = REC_LANES_FILE;
	rec.chunk_bytes = REC_CHUNK_BYTES;
	if (rc == 0)
		rc = rec_file_extend(&rec.file, 0, TAPE_HEADER_BYTES);
	if (rc == 0 && rec_tape_map(TAPE_HEADER_BYTES))
		return true;
	rec_file_remove(&rec.file);
	REC_LOG(REC_LOG_ERROR, "not recorded: %s cannot be created (error %d)", rec.file.path, -rc);
	if (!is_sandboxed_from(rc))
		rec_path_complain(rec.file.path, -rc);
	return false;
}

/* For users who want only the counts at the end: records are discarded. */
bool rec_tape_open_memory(void)
{
	void *header = sys_map_private(TAPE_HEADER_BYTES);

	if (!header)
		return false;
	rec.header = header;
	rec.mapped_bytes = 0; /* a child has its own copy of it */
	rec.live = (struct tape_live *)rec.header->live;
	rec.slots = NULL;
	rec.lanes_max = REC_LANES_FILE;
	rec.chunk_bytes = TAPE_CHUNK_BYTES_MIN;
	return true;
}
