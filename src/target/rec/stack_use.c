/*
 * stack_use: the size of a thread's stack, and how deep it was used. The second is measured in two
 * ways, which the tape distinguishes:
 *
 *	seen     the lowest caller of an event. Costs events nothing: a stack deeper than a walk
 *	         has read before comes to stack.c: walk_map(), a page at a time. A lower bound.
 *	touched  the lowest page that was ever touched, asked of the kernel with mincore(): when the
 *	         thread begins, ends, and now and then. Everything that runs on the stack counts,
 *	         also the allocator, signal handlers and this recorder; exact within a page. A
 *	         collector asks from outside (board.c), now and then and before the process ends.
 *
 * Pages may have been touched before the thread began: libc gives the stack of a thread that has
 * ended to the next one, the program a stack of its own making, fork all of them. So at the
 * beginning it is determined how far that may reach, and a final value not deeper is not used.
 *
 * Where a stack lies is what libc's own control block says of it, which stands at its upper end;
 * pthread_getattr_np() would return the same but allocates. It is found by its layout, and a range
 * that does not contain the stack pointer and the block itself is rejected: then nothing is known
 * or reported. The first thread's is below where the kernel put the program's name.
 */
#include "rec/rec.h"

#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "tape/tape_thread.h"

#include "core/poison.h"

enum {
	PAGES = 256,		   /* checked at once, a byte of our stack each */
	HUGE_PAGE = 2 << 20,	   /* is touched as a whole */
	RESIDUE_BYTES = 32 << 10,  /* libc leaves 16 KiB and a page of an ended thread's stack */
	LOOKED_AT_MAX = 256 << 20, /* larger stacks are not checked */
	STEP_BYTES = 16 << 10,	   /* deeper, and an eighth: is written at once */
	UNLIMITED_BYTES = 1 << 30, /* if the size is unknown */
};

static const uint64_t UNKNOWN = UINT64_MAX;

/* --- where it lies --------------------------------------------------------------------------- */

/*
 * This library also runs in musl programs, whichever of the two it was built for: musl takes
 * "libc.so.6" for itself. Symbol names distinguish them; gcompat adds glibc's to musl.
 */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern char **___environ __attribute__((weak)); /* of musl alone */

bool rec_libc_is_musl(void)
{
	return &___environ != NULL;
}

bool rec_libc_is_glibc(void)
{
	return gnu_get_libc_version && !rec_libc_is_musl();
}

/* Of the control block: its minimum size in all versions, and where in it the four words may be. */
enum {
	CONTROL_BYTES = ARCH_WORD_BYTES == 8 ? 2304 : 1088,
	CONTROL_WORDS = (ARCH_WORD_BYTES == 8 ? 2048 : 1024) / ARCH_WORD_BYTES,
	ABOVE_BYTES_MAX = 64 << 10
};

/* stackblock, stackblock_size, guardsize of the control block. */
static bool is_stack_of(const arch_word *words, uint64_t control, uint64_t sp)
{
	const uint64_t begin = words[0], bytes = words[1], guard = words[2], end = begin + bytes;

	return begin != 0 && end > begin && guard < bytes && guard % rec.page_bytes == 0 &&
	       sp >= begin + guard && sp < control && end >= control + CONTROL_BYTES &&
	       end - control <= ABOVE_BYTES_MAX;
}

/*
 * Whether to search for the words again. The first thread has none, and on a coroutine they do not
 * fit: that is not rediscovered at each event.
 */
static bool is_worth_looking(uint64_t control)
{
	enum { TRIALS = 16 };
	static _Atomic uint64_t last_control;
	static _Atomic uint32_t trials;

	if (atomic_exchange_explicit(&last_control, control, memory_order_relaxed) != control)
		atomic_store_explicit(&trials, 0, memory_order_relaxed);
	return atomic_fetch_add_explicit(&trials, 1, memory_order_relaxed) < TRIALS;
}

static bool find_libc(struct rec_stack_use *use, uint64_t sp, uint64_t *guard_ret)
{
	static _Atomic uint32_t place; /* where it was found last; 0: not yet */
	const uint64_t control = (uint64_t)pthread_self();
	const arch_word *words = (const arch_word *)(uintptr_t)control;
	uint32_t at = atomic_load_explicit(&place, memory_order_relaxed);

	if (!rec_libc_is_glibc())
		return false;
	if (!is_stack_of(words + at, control, sp)) {
		if (at != 0 || !is_worth_looking(control))
			return false;
		for (at = 0; at < CONTROL_WORDS && !is_stack_of(words + at, control, sp);)
			at++;
	}
	if (at == CONTROL_WORDS)
		return false;
	atomic_store_explicit(&place, at, memory_order_relaxed);
	use->limit = words[at] + words[at + 2];
	use->top = words[at] + words[at + 1];
	*guard_ret = words[at + 2];
	return true;
}

/* Above everything else the kernel has put the program's name and eight zeros. */
static uint64_t first_top(void)
{
	const char *name = (const char *)getauxval(AT_EXECFN);

	return name ? align_up((uintptr_t)name + strlen(name) + 1 + sizeof(uint64_t),
			       rec.page_bytes)
		    : 0;
}

static uint64_t first_reserved(void)
{
	static _Atomic uint64_t known = UINT64_MAX; /* when it was last checked */
	uint64_t limit[2]; /* the kernel's: now, and at most; all ones: none */

	if (!rec_may_call() || (rec_board_is_read() && known != UNKNOWN))
		return known;
	if (SYS_CALL4(SYS_prlimit64, 0, RLIMIT_STACK, NULL, limit) < 0 || limit[0] == UNKNOWN)
		known = UNKNOWN;
	else
		known = limit[0] & -rec.page_bytes;
	return known;
}

static bool find_first(struct rec_stack_use *use, uint64_t sp)
{
	const uint64_t reserved = u64_min(first_reserved(), UNLIMITED_BYTES);

	if (!rec.stack_top)
		rec.stack_top = first_top();
	use->grows = true;
	use->top = rec.stack_top;
	use->limit = use->top > reserved ? use->top - reserved : 0;
	return use->limit > 0 && sp >= use->limit && sp < use->top;
}

/* --- which pages were touched ---------------------------------------------------------------- */

/* Of pages from `begin` on; false: not all of them are mapped. */
static bool look(uint64_t begin, size_t count, uint8_t *pages)
{
	return rec_may_ask() && SYS_CALL3(SYS_mincore, begin, count * rec.page_bytes, pages) >= 0;
}

/* How far down the kernel has mapped a growing stack. */
static uint64_t mapped_from(uint64_t begin, uint64_t sp)
{
	uint64_t at = sp & -rec.page_bytes;
	uint8_t pages[PAGES];

	for (size_t count = rec_pages_at_once(PAGES); count > 0;) {
		const uint64_t bytes = count * rec.page_bytes;

		if (at - begin >= bytes && look(at - bytes, count, pages))
			at -= bytes;
		else
			count /= 2;
	}
	return at;
}

/* The lowest of [begin, end) that was touched, both at pages; end: none; 0: unknown. */
static uint64_t touched_from(uint64_t begin, uint64_t end)
{
	uint8_t pages[PAGES];

	while (begin < end) {
		const size_t count =
			(size_t)u64_min((end - begin) / rec.page_bytes, rec_pages_at_once(PAGES));

		if (!look(begin, count, pages))
			return 0;
		for (size_t i = 0; i < count; i++, begin += rec.page_bytes)
			if (pages[i] & 1)
				return begin;
	}
	return end;
}

/*
 * If a huge page begins there, or all of the stack was locked into memory, pages exist that were
 * never written: the lowest that is not all zeros. For the calling thread's own stack only, others'
 * may go away.
 */
static uint64_t written_from(uint64_t begin, uint64_t sp)
{
	for (; begin < (sp & -rec.page_bytes); begin += rec.page_bytes) {
		const volatile uint64_t *words = (const volatile uint64_t *)(uintptr_t)begin;

		if (!rec_is_readable_word(words))
			continue;
		for (size_t i = 0; i < rec.page_bytes / sizeof(*words); i++)
			if (words[i])
				return begin;
	}
	return begin;
}

/*
 * The kernel keeps all mappings this far from the first thread's stack, and everything above the
 * stack pointer is mapped.
 */
bool rec_stack_use_holds(uint64_t begin, uint64_t end)
{
	enum { FIRST_BYTES_MAX = 128 << 20 };
	const uint64_t sp = (uintptr_t)__builtin_frame_address(0);
	struct rec_stack_use use = { 0 };
	uint64_t guard;

	CHECK(begin <= end);
	if (!find_libc(&use, sp, &guard)) {
		use.top = rec.stack_top ? rec.stack_top : first_top();
		if (sp > use.top || use.top - sp > FIRST_BYTES_MAX)
			return false;
	}
	return begin >= (sp & -rec.page_bytes) && begin <= end && end <= use.top;
}

/* The lowest address of pages that were touched; sp 0: another thread's stack. 0: unknown. */
static uint64_t used_from(const struct rec_stack_use *use, uint64_t sp)
{
	const uint64_t end = sp ? sp & -rec.page_bytes : use->low & -rec.page_bytes;
	uint64_t begin = align_up(use->limit, rec.page_bytes), low;

	if (!rec_may_ask() || end <= begin ||
	    end - begin > LOOKED_AT_MAX + (use->grows ? UNLIMITED_BYTES : 0))
		return 0;
	if (use->grows)
		begin = mapped_from(begin, end);
	low = touched_from(begin, end);
	if (low == 0 || (low % HUGE_PAGE != 0 && low != align_up(use->limit, rec.page_bytes)))
		return low;
	return sp ? written_from(low, sp) : 0;
}

/* --- what is told of it ---------------------------------------------------------------------- */

/* How far down the stack may have been touched by others than this thread. */
static uint64_t before_from(const struct rec_stack_use *use, uint64_t sp, uint64_t guard)
{
	const bool is_forked = rec.header->flags & TAPE_FLAG_FORKED;
	uint64_t begin = align_up(use->limit, rec.page_bytes);
	uint64_t low;

	if (use->grows && !is_forked)
		return use->top;
	if (guard > 0 && !is_forked) /* libc's: from that of a thread that has ended */
		begin = u64_max(begin, (sp - RESIDUE_BYTES) & -rec.page_bytes);
	else if (use->grows)
		begin = mapped_from(begin, sp);
	if (guard > 0 && rec_board_is_read())
		return begin; /* cannot be checked: the largest possible value */
	low = begin < sp ? touched_from(begin, sp & -rec.page_bytes) : 0;
	return low ? low : use->limit; /* unknown: all of it */
}

static void note_at(struct rec_lane *lane, uint64_t ticks, uint32_t tid, unsigned flags,
		    const struct rec_stack_use *use, uint64_t touched)
{
	struct tape_stack_use record = {
		.tid = tid,
		.flags = flags,
		.top = use->top,
		.reserved_bytes = use->grows ? first_reserved() : use->top - use->limit,
		.seen_bytes = use->low < use->top ? use->top - use->low : UNKNOWN,
		.touched_bytes = touched ? use->top - touched : UNKNOWN,
		.before_bytes = use->top - use->before,
	};

	rec_note_at(lane, ticks, TAPE_EXT_STACK_USE, &record, sizeof(record), NULL, 0);
}

static void note(struct rec_lane *lane, uint32_t tid, unsigned flags,
		 const struct rec_stack_use *use, uint64_t touched)
{
	note_at(lane, rec_ticks() >> rec.tick_shift, tid, flags, use, touched);
}

static uint64_t own_sp(void)
{
	return (uintptr_t)__builtin_frame_address(0);
}

void rec_stack_use_forget(struct rec_lane *lane)
{
	rec_board_clear(lane);
	__atomic_store_n(&lane->stack_use.top, 0, __ATOMIC_SEQ_CST);
	lane->stack_use = (struct rec_stack_use) { 0 };
}

void rec_stack_use_begin(struct rec_lane *lane)
{
	const uint64_t sp = rec_tls.caller.sp;
	struct rec_stack_use use = { 0 };
	uint64_t guard = 0;

	if (rec.options.calls || !rec.options.stack_use ||
	    (!find_libc(&use, sp, &guard) && (lane->tid != rec.pid || !find_first(&use, sp))))
		return;
	use.before = before_from(&use, sp, guard);
	lane->stack_use.limit = use.limit;
	lane->stack_use.low = sp;
	lane->stack_use.told = use.top - sp;
	lane->stack_use.before = use.before;
	lane->stack_use.grows = use.grows;
	__atomic_store_n(&lane->stack_use.top, use.top, __ATOMIC_RELEASE); /* note_other() */
	note(lane, lane->tid, 0, &lane->stack_use, 0);
}

/*
 * If the thread dies of it, nothing can be asked. The event has its time and none of its nodes yet.
 */
REC_COLD void rec_stack_use_deeper(struct rec_lane *lane, uint64_t sp)
{
	struct rec_stack_use *use = &lane->stack_use;
	const uint64_t bytes = use->top - sp;

	CHECK(sp <= use->top);
	CHECK(sp >= use->limit);
	use->low = sp;
	if (bytes < use->told + use->told / 8 + STEP_BYTES)
		return;
	use->told = bytes;
	note_at(lane, u64_max(lane->codec.ticks, lane->noted_ticks), lane->tid, 0, use, 0);
}

/* The thread's own lane, and the thread is on its own stack. */
static bool is_on_it(const struct rec_lane *lane)
{
	const uint64_t sp = own_sp();

	return lane == rec_tls.own && lane->stack_use.top && sp >= lane->stack_use.limit &&
	       sp < lane->stack_use.top;
}

/* A collector's values for pages are final if it is asked at the process's end. */
static unsigned final_flag(void)
{
	return rec_board_is_read() ? 0 : TAPE_STACK_USE_FINAL;
}

void rec_stack_use_note(struct rec_lane *lane, bool is_final)
{
	if (is_on_it(lane))
		note(lane, lane->tid, is_final ? final_flag() : 0, &lane->stack_use,
		     used_from(&lane->stack_use, own_sp()));
}

/* Whether the lane is still the thread's, and the thread exists: then its stack existed too. */
static bool is_alive(const struct rec_lane *lane, uint32_t tid, uint64_t top)
{
	return __atomic_load_n(&lane->stack_use.top, __ATOMIC_SEQ_CST) == top &&
	       __atomic_load_n(&lane->tid, __ATOMIC_SEQ_CST) == tid &&
	       (rec_board_is_read() || SYS_CALL3(SYS_tgkill, rec.pid, tid, 0) == 0);
}

static void note_other(struct rec_lane *lane, const struct rec_lane *other)
{
	const uint64_t top = __atomic_load_n(&other->stack_use.top, __ATOMIC_ACQUIRE);
	const uint32_t tid = __atomic_load_n(&other->tid, __ATOMIC_RELAXED);
	struct rec_stack_use use;
	uint64_t touched;

	if (!tid || !top)
		return;
	use = *(const volatile struct rec_stack_use *)&other->stack_use;
	if (!is_alive(other, tid, top) || use.top != top)
		return;
	touched = used_from(&use, 0);
	if (is_alive(other, tid, top))
		note(lane, tid, final_flag(), &use, touched);
}

void rec_stack_use_others(struct rec_lane *lane)
{
	const uint32_t count = (uint32_t)u64_min(atomic_load(&rec.lane_count), REC_LANES_MAX);
	const struct rec_lane *own = rec_tls.own;

	for (uint32_t i = 0; i < count && (rec_may_ask() || rec_board_is_read()); i++) {
		const struct rec_lane *other =
			atomic_load_explicit(&rec.lanes[i], memory_order_acquire);

		if (other && other == own && is_on_it(own))
			note(lane, own->tid, final_flag(), &own->stack_use,
			     used_from(&own->stack_use, own_sp()));
		else if (other)
			note_other(lane, other);
	}
	rec_board_settle();
}
