#include "rec/calls.h"

#include <stdatomic.h>

#include "rec/hook.h"
#include "rec/mapped.h"
#include "rec/sandbox.h"
#include "rec/sizes.h"
#include "rec/summary.h"
#include "rec/total.h"

#include "core/poison.h"

enum {
	PART_HEADER_WORDS = 3, /* of an extended record, and of the part */
	PART_BYTES = TAPE_EXTENDED_BYTES + sizeof(struct tape_call_sizes),
	ALL_BYTES = TAPE_EXTENDED_BYTES + sizeof(uint64_t) + sizeof(struct tape_calls) +
		    (size_t)TAPE_CALL_SIZES_PARTS * PART_BYTES
};

static_assert((size_t)ALL_BYTES < REC_CHUNK_BYTES / 2, "a chunk has room for them");
static_assert(PART_HEADER_WORDS * sizeof(uint64_t) ==
		      TAPE_EXTENDED_BYTES + offsetof(struct tape_call_sizes, counts),
	      "what lies between parts");
static_assert((size_t)PART_BYTES <= (size_t)TAPE_RECORD_BYTES_MAX, "format");

/*
 * New records, all zero, at the lane's cursor, which has room for them. Their numbers are aligned by
 * a payload some bytes longer than necessary; the counts are its end.
 */
static struct tape_calls *records_write(struct rec_lane *lane)
{
	static const struct tape_call_sizes zeros;
	const uint64_t ticks = rec_ticks() >> rec.tick_shift;
	struct tape_calls *calls;
	size_t pad;
	uint8_t *at;

	pad = -(uintptr_t)(lane->cursor + TAPE_EXTENDED_BYTES) % sizeof(uint64_t);
	at = tape_extended_encode(lane->cursor, TAPE_EXT_CALLS, ticks, &zeros, pad + sizeof(*calls),
				  NULL, 0);
	calls = (struct tape_calls *)(at - sizeof(*calls));
	for (uint32_t i = 0; i < TAPE_CALL_SIZES_PARTS; i++) {
		at = tape_extended_encode(at, TAPE_EXT_CALL_SIZES, ticks, &zeros, sizeof(zeros),
					  NULL, 0);
		((struct tape_call_sizes *)at - 1)->first = i * TAPE_CALL_SIZES_COUNT;
	}
	lane->cursor = at;
	atomic_store_explicit(ARCH_LITTLE_WORD(lane->chunk, used),
			      arch_little_u32((uint32_t)(at - lane->records)),
			      memory_order_release);
	return calls;
}

/*
 * Kilobytes, and a handler that forks may come anywhere in them: its child has no tape, may have
 * mapped memory of its own there, and would go on writing. So none comes. NULL: this is such a
 * child already.
 */
static struct tape_calls *records_write_alone(struct rec_lane *lane)
{
	struct tape_calls *calls;
	struct sys_signals saved;

	if (!rec_may_call())
		return records_write(lane);
	sys_signals_block_all(&saved);
	calls = lane->epoch == atomic_load_explicit(&rec.shared->epoch, memory_order_relaxed)
			? records_write(lane)
			: NULL;
	sys_signals_restore(&saved);
	return calls;
}

static struct tape_calls *records_of(struct rec_lane *lane)
{
	if ((!lane->chunk || lane->cursor > lane->limit ||
	     (size_t)(lane->limit - lane->cursor) < ALL_BYTES) &&
	    !rec_chunk_next(lane)) {
		rec_lost(TAPE_LOST_NO_SPACE);
		return NULL;
	}
	return records_write_alone(lane);
}

/* Without a tape they are in the lane's own memory, with the same layout. */
static REC_COLD struct tape_calls *records_begin(struct rec_lane *lane)
{
	lane->calls = rec.options.table ? sys_map_private(ALL_BYTES) : records_of(lane);
	return lane->calls;
}

bool rec_calls_init(void)
{
	if ((rec.chunk_bytes < REC_CHUNK_BYTES && !rec.options.table) || !rec_real.usable_size ||
	    !rec_sizes_init())
		return false;
	rec_total_init();
	if (rec.options.maps)
		rec_mapped_init();
	return true;
}

static void calls_add(struct rec_sums *sums, const struct tape_calls *calls)
{
	const uint64_t *counts = (const uint64_t *)(calls + 1);
	struct tape_calls *sum = &sums->calls;

	for (size_t i = 0; i < TAPE_CALLS_ROW_COUNT; i++) {
		sum->rows[i].calls += calls->rows[i].calls;
		sum->rows[i].bytes += calls->rows[i].bytes;
		sum->rows[i].failed += calls->rows[i].failed;
	}
	sum->realloc_nomove += calls->realloc_nomove;
	sum->realloc_dec += calls->realloc_dec;
	sum->realloc_free += calls->realloc_free;
	sum->mremap_nomove += calls->mremap_nomove;
	sum->mremap_dec += calls->mremap_dec;
	sum->heap_peak = u64_max(sum->heap_peak, calls->heap_peak);
	sum->stack_peak = u64_max(sum->stack_peak, calls->stack_peak);
	sum->large += calls->large;
	for (size_t i = 0; i < array_size(sums->sizes); i++)
		sums->sizes[i] += counts[i + (i / TAPE_CALL_SIZES_COUNT + 1) * PART_HEADER_WORDS];
}

void rec_calls_sum(struct rec_sums *sums)
{
	const uint32_t count = (uint32_t)u64_min(atomic_load(&rec.lane_count), REC_LANES_MAX);

	for (uint32_t i = 0; i < count; i++) {
		const struct rec_lane *lane =
			atomic_load_explicit(&rec.lanes[i], memory_order_acquire);

		if (lane && lane->calls)
			calls_add(sums, lane->calls);
	}
}

void rec_calls_peak(struct rec_lane *lane, uint64_t bytes)
{
	if (lane->calls)
		lane->calls->heap_peak = u64_max(lane->calls->heap_peak, bytes);
}

/* A condition that holds at nearly every call does not. NULL: nothing is recorded any more. */
static REC_COLD struct rec_lane *prepare(struct rec_lane *lane, arch_word sp, arch_word pc)
{
	const struct rec_frame caller = { .pc = pc, .sp = sp, .ret = rec_tls.caller.ret };

	if (!rec_lane_ready(lane)) {
		lane = rec_lane_renew(lane, &caller);
		if (!lane)
			return NULL;
	}
	if (!lane->calls && !records_begin(lane))
		return NULL;
	lane->calls->stack_peak = u64_max(lane->calls->stack_peak, rec_depth_peak(lane, sp));
	lane->counts = (struct rec_counts) {
		.epoch = lane->epoch,
		.stack_low = lane->depth.low,
		.stack_bytes = lane->depth.base - lane->depth.low,
	};
	return lane;
}

/* Whether the lane counts in this process, and the stack is no deeper than known. */
static inline bool is_prepared(const struct rec_lane *lane, uint64_t sp)
{
	return lane->counts.epoch ==
		       atomic_load_explicit(&rec.shared->epoch, memory_order_relaxed) &&
	       sp - lane->counts.stack_low <= lane->counts.stack_bytes;
}

static inline void count_size(struct tape_calls *calls, uint64_t size)
{
	/* Each part is preceded by the header of its record, including the first. */
	uint64_t *counts = (uint64_t *)(calls + 1);
	const uint64_t index = size / TAPE_CALL_SIZES_BYTES;
	const uint64_t part = index / TAPE_CALL_SIZES_COUNT;

	if (unlikely(part >= TAPE_CALL_SIZES_PARTS))
		calls->large++;
	else
		counts[index + (part + 1) * PART_HEADER_WORDS]++;
}

static inline __attribute__((always_inline)) void count_alloc(struct rec_lane *lane, size_t row_id,
							      uint64_t address, uint64_t size,
							      arch_word sp, arch_word pc)
{
	struct tape_calls_row *row;

	if (unlikely(!is_prepared(lane, sp))) {
		lane = prepare(lane, sp, pc);
		if (!lane)
			return;
	}
	row = &lane->calls->rows[row_id];
	row->calls++;
	if (unlikely(!address)) {
		row->failed++;
		return;
	}
	row->bytes += size;
	count_size(lane->calls, size);
	rec_sizes_put(address, size);
	rec_total_move(lane, (int64_t)size);
}

static inline __attribute__((always_inline)) void
count_free(struct rec_lane *lane, uint64_t address, arch_word sp, arch_word pc)
{
	struct tape_calls_row *row;
	uint64_t size;

	if (unlikely(!is_prepared(lane, sp))) {
		lane = prepare(lane, sp, pc);
		if (!lane)
			return;
	}
	row = &lane->calls->rows[TAPE_CALLS_FREE];
	row->calls++;
	size = likely(address) ? rec_sizes_take(address) : SIZES_UNKNOWN;
	if (unlikely(size == SIZES_UNKNOWN))
		return;
	row->bytes += size;
	rec_total_move(lane, -(int64_t)size);
}

static size_t row_of(unsigned fn)
{
	if (fn == TAPE_FN_REALLOC || fn == TAPE_FN_REALLOCARRAY)
		return TAPE_CALLS_REALLOC;
	if (tape_fn_aligned(fn))
		return TAPE_CALLS_ALIGNED;
	return fn == TAPE_FN_CALLOC ? TAPE_CALLS_CALLOC : TAPE_CALLS_MALLOC;
}

void rec_calls_alloc(struct rec_lane *lane, unsigned fn, uint64_t address, uint64_t size,
		     const struct rec_frame *caller)
{
	CHECK(fn < TAPE_FN_COUNT && !tape_fn_sizeless(fn));
	count_alloc(lane, row_of(fn), address, size, caller->sp, caller->pc);
}

void rec_calls_free(struct rec_lane *lane, uint64_t address, const struct rec_frame *caller)
{
	count_free(lane, address, caller->sp, caller->pc);
}

/* Removed now: another thread may get the address before the call returns. */
static void realloc_out(struct rec_lane *lane, uint64_t address)
{
	lane->old_address = address;
	lane->old_size = rec_sizes_take(address);
	lane->has_old = lane->old_size != SIZES_UNKNOWN;
	if (!lane->has_old)
		lane->old_size = 0;
}

static void realloc_in(struct rec_lane *lane, struct tape_calls *calls, uint64_t address,
		       uint64_t size)
{
	calls->realloc_nomove += address == lane->old_address;
	calls->realloc_dec += size < lane->old_size;
	if (size > lane->old_size)
		calls->rows[TAPE_CALLS_REALLOC].bytes += size - lane->old_size;
	count_size(calls, size);
	rec_sizes_put(address, size);
	rec_total_move(lane, (int64_t)(size - lane->old_size));
}

void rec_calls_realloc(struct rec_lane *lane, unsigned fn, uint64_t address, uint64_t size,
		       const struct rec_frame *caller)
{
	struct tape_calls *calls;

	CHECK(rec_calls_is_realloc(fn));
	if (unlikely(!is_prepared(lane, caller->sp)))
		lane = prepare(lane, caller->sp, caller->pc);
	if (unlikely(!lane))
		return;
	calls = lane->calls;
	if (fn == TAPE_FN_REALLOC_OUT || fn == TAPE_FN_REALLOCARRAY_OUT) {
		realloc_out(lane, address);
		return;
	}
	calls->rows[TAPE_CALLS_REALLOC].calls++;
	if (fn == TAPE_FN_REALLOC_IN || fn == TAPE_FN_REALLOCARRAY_IN) {
		realloc_in(lane, calls, address, size);
	} else if (fn == TAPE_FN_REALLOC_FREE) {
		calls->realloc_free++;
		calls->rows[TAPE_CALLS_FREE].bytes += lane->old_size;
		rec_total_move(lane, -(int64_t)lane->old_size);
	} else {
		calls->rows[TAPE_CALLS_REALLOC].failed++;
		if (lane->has_old)
			rec_sizes_put(address, lane->old_size);
	}
}

void rec_calls_end(struct rec_lane *lane, const struct rec_frame *caller)
{
	CHECK(rec.options.calls);
	if (lane->depth.tid != lane->tid)
		prepare(lane, caller->sp, caller->pc);
}

static size_t map_row_of(enum tape_extended type, const struct tape_map *map)
{
	enum { WRITABLE = 2, ANONYMOUS = 0x20 };

	if (type != TAPE_EXT_MMAP)
		return type == TAPE_EXT_MREMAP ? TAPE_CALLS_MREMAP : TAPE_CALLS_MUNMAP;
	if (map->flags & ANONYMOUS)
		return TAPE_CALLS_MMAP_ANONYMOUS;
	return map->prot & WRITABLE ? TAPE_CALLS_MMAP_WRITE : TAPE_CALLS_MMAP_READ;
}

/* munmap is reported before the call, so causes of failure are checked here. */
static bool map_fails(enum tape_extended type, const struct tape_map *map)
{
	return type == TAPE_EXT_MUNMAP ? map->address % rec.page_bytes != 0 || map->bytes == 0
				       : map->address == UINT64_MAX;
}

static void map_count(struct rec_lane *lane, enum tape_extended type, const struct tape_map *map)
{
	struct tape_calls *calls = lane->calls;
	struct tape_calls_row *row = &calls->rows[map_row_of(type, map)];
	const bool is_new = type == TAPE_EXT_MMAP;

	row->calls++;
	if (map_fails(type, map)) {
		row->failed++;
		return;
	}
	if (type == TAPE_EXT_MUNMAP) {
		row->bytes += map->bytes;
		rec_total_move(lane, rec_mapped_change(map->address, map->bytes, 0, 0));
		return;
	}
	calls->mremap_nomove += !is_new && map->address == map->old_address;
	calls->mremap_dec += !is_new && map->bytes < map->old_bytes;
	row->bytes += map->bytes > map->old_bytes ? map->bytes - map->old_bytes : 0;
	count_size(calls, map->bytes);
	rec_total_move(lane, rec_mapped_change(map->old_address, map->old_bytes, map->address,
					       map->bytes));
}

void rec_calls_map(struct rec_lane *lane, enum tape_extended type, const struct tape_map *map,
		   const struct rec_frame *caller)
{
	CHECK(type >= TAPE_EXT_MMAP && type <= TAPE_EXT_BRK);
	if (unlikely(!is_prepared(lane, caller->sp)))
		lane = prepare(lane, caller->sp, caller->pc);
	if (lane)
		map_count(lane, type, map);
}

/*
 * The fast faces of the two hooks that are called most, when calls are counted: hook.h and the
 * functions above in one piece. The hook has checked that the lane is available, and jumps here, so
 * that the hook's caller is also ours.
 */
void *rec_calls_malloc(size_t size, struct rec_lane *lane)
{
	const struct rec_frame caller = { .pc = (uintptr_t)__builtin_return_address(0),
					  .sp = REC_CALLER_SP(),
					  .ret = ARCH_RETURN() };
	struct rec_tls *tls = &rec_tls;
	void *ptr;

	hook_begin(tls, &caller, REC_PHASE_REAL);
	ptr = rec_real.malloc(size);
	hook_phase(tls, REC_PHASE_RECORD);
	count_alloc(lane, TAPE_CALLS_MALLOC, (uintptr_t)ptr, size, caller.sp, caller.pc);
	hook_end(tls);
	return ptr;
}

/* The rest of what follows, where it is not as at nearly every call. */
static REC_COLD void free_rarely(void *ptr, struct rec_lane *lane)
{
	struct rec_tls *tls = &rec_tls;

	count_free(lane, (uintptr_t)ptr, tls->caller.sp, tls->caller.pc);
	hook_end(tls);
	rec_real.free(ptr);
}

static REC_COLD void free_settled(void *ptr, struct rec_lane *lane)
{
	rec_total_settle(lane);
	hook_end(&rec_tls);
	rec_real.free(ptr);
}

/*
 * Nothing must be done after the real free, so it is jumped to, like everything rare: then no
 * register has to be saved. Calls made by free itself would be counted; it makes none that are.
 * But our frame must not go while the lane is taken, if it has what tells that we were not left.
 */
void rec_calls_free_block(void *ptr, struct rec_lane *lane)
{
	const struct rec_frame caller = { .pc = (uintptr_t)__builtin_return_address(0),
					  .sp = REC_CALLER_SP(),
					  .ret = ARCH_RETURN() };
	struct rec_tls *tls = &rec_tls;
	struct tape_calls_row *row;
	uint16_t *grain;
	uint64_t code;

	hook_begin(tls, &caller, REC_PHASE_RECORD);
	grain = rec_sizes_grain((uintptr_t)ptr);
	code = likely(grain) ? *grain : 0;
	if (unlikely(code - 1 > SIZES_PLAIN_MAX || !is_prepared(lane, caller.sp))) {
		free_rarely(ptr, lane);
		if (UNWIND_LINKS)
			rec_barrier();
		return;
	}
	*grain = 0;
	row = &lane->calls->rows[TAPE_CALLS_FREE];
	row->calls++;
	row->bytes += code - 1;
	if (unlikely(!rec_total_moved(lane, 1 - (int64_t)code))) {
		free_settled(ptr, lane);
		if (UNWIND_LINKS)
			rec_barrier();
		return;
	}
	hook_end(tls);
	rec_real.free(ptr);
}
