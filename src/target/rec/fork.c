/*
 * fork: what a forked child must not touch, and how a child is detected.
 *
 * The tape is not inherited (MADV_DONTFORK), and the page with rec_shared.epoch is wiped in the
 * child (MADV_WIPEONFORK): its next hook finds the epoch 0 and comes to rec_child(), however the
 * child was made. Two problems remain:
 *
 * A signal handler may fork while it interrupts this recorder. When it returns in the child, the
 * recorder goes on writing where the tape was. So as soon as a child is known - in the hooks of
 * fork(), _Fork() and syscall(), or in its first other hook - and the recorder was interrupted,
 * private memory is mapped there: the interrupted write ends in it and is discarded. Only then, at
 * the next event, the child gets a tape of its own or none. Without a hook between the fork and the
 * return (a system call made in the program's own assembly) this cannot be detected.
 *
 * A child that was made that way may also have mapped memory of its own where the tape was, which
 * the kernel takes for free, before its first hook. That is the program's and stays: what is left of
 * the place is covered, and the lanes and the header of the interrupted write are led to other
 * memory. Only a record whose place is already in a register can still end there.
 *
 * A kernel may refuse either advice, or only seem to follow it. Without the first the tape is
 * inherited, and private memory is mapped over it in each child. Without the second children are
 * detected by libc's fork handlers and by our hooks. Then the tape is inherited, too: a child that
 * bypasses both would take itself for its parent, and it is better that it spoils a tape than that
 * it dies.
 */
#include "rec/rec.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "rec/attach.h"
#include "rec/pause.h"
#include "rec/sizes.h"
#include "rec/streamed.h"
#include "rec/symbols.h"

#include "core/poison.h"

enum { PAGE_BYTES = 4096 };

/* Marks in a child that its shared page was wiped by hand, until the hook has seen that. */
static bool wiped_by_hand;

/* pthread_atfork() in glibc; calling that itself would link it in. musl has none of it. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *object) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static bool at_fork(void (*child)(void))
{
	int (*others)(void (*)(void), void (*)(void), void (*)(void));
	void *symbol;

	if (__register_atfork)
		return __register_atfork(NULL, NULL, child, __dso_handle) == 0;
	symbol = rec_dlsym(RTLD_DEFAULT, "pthread_atfork");
	memcpy(&others, &symbol, sizeof(others));
	return others && others(NULL, NULL, child) == 0;
}

static void child_handler(void)
{
	wiped_by_hand = true;
	atomic_store(&rec.shared->epoch, 0);
	atomic_store(&rec.shared->has_tape, 0);
	rec_sizes_wipe();
	rec_forked(rec_is_interrupted(&rec_tls));
}

/* qemu's emulation of a process says yes to whatever is advised, and does not do it. */
static bool advice_is_ignored(void *page)
{
	enum { NO_SUCH_ADVICE = 0x6d74 };

	return sys_madvise(page, PAGE_BYTES, NO_SUCH_ADVICE) == 0;
}

bool rec_fork_init(void)
{
	struct rec_shared *shared = sys_map_private(PAGE_BYTES);

	if (!shared)
		return false;
	rec.forks_wipe = sys_madvise(shared, PAGE_BYTES, REC_MADV_WIPEONFORK) == 0 &&
			 !advice_is_ignored(shared);
	rec.shared = shared;
	return rec.forks_wipe || at_fork(child_handler);
}

bool rec_fork_keep_out(void *memory, size_t bytes)
{
	CHECK(((uintptr_t)memory & 4095) == 0 && bytes > 0);
	if (rec.forks_wipe && sys_madvise(memory, bytes, MADV_DONTFORK) == 0)
		return true;
	atomic_store(&rec.tape_is_inherited, true);
	return false;
}

/* Private memory; how: MAP_FIXED replaces what is there. False: it has not come there. */
static bool map_at(void *memory, size_t bytes, int how)
{
	const long result = sys_mmap(memory, bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1, 0);

	if (sys_failed(result))
		return false;
	if ((void *)result == memory)
		return true;
	sys_munmap((void *)result, bytes); /* before Linux 4.17 the address is a wish */
	return false;
}

/* Where nothing is mapped. False: some of it is taken, and is not ours. */
static bool cover_free(uint8_t *memory, size_t bytes)
{
	enum { FIXED_NOREPLACE = 0x100000 }; /* MAP_FIXED_NOREPLACE of newer headers */
	const size_t half = bytes / 2 & ~((size_t)rec.page_bytes - 1);

	if (map_at(memory, bytes, FIXED_NOREPLACE))
		return true;
	if (half > 0) {
		cover_free(memory, half);
		cover_free(memory + half, bytes - half);
	}
	return false;
}

/* A part of the tape. False: a part of it is the child's own now. */
static bool cover(void *memory, size_t bytes, bool is_inherited)
{
	if (!memory || !bytes)
		return true;
	return is_inherited ? map_at(memory, bytes, MAP_FIXED) : cover_free(memory, bytes);
}

/* What threads still write, in the middle of a hook, is discarded. */
void rec_tape_cover(void)
{
	cover(rec.header, (size_t)rec.mapped_bytes, true);
}

/* What the interrupted recorder reads from the lane from now on is of other memory. */
static void lane_lead_away(struct rec_lane *lane)
{
	const size_t lead = rec_slot_lead();
	uint8_t *memory, *chunk;

	if (!lane || !lane->chunk)
		return;
	memory = sys_map_private(lead + rec.chunk_bytes);
	if (!memory)
		return;
	chunk = (uint8_t *)lane->chunk;
	memory += lead;
	if (lane->calls)
		lane->calls = (struct tape_calls *)(memory + ((uint8_t *)lane->calls - chunk));
	lane->cursor = memory + (lane->cursor - chunk);
	lane->limit = memory + (lane->limit - chunk);
	lane->nodes = memory + (lane->nodes - chunk);
	lane->records = memory + (lane->records - chunk);
	lane->slot_map = NULL;
	lane->chunk = (struct tape_chunk *)memory;
}

static void lead_away(const struct rec_tls *tls)
{
	struct tape_header *header = sys_map_private(TAPE_HEADER_BYTES);

	if (header) {
		rec.live = (struct tape_live *)header->live;
		rec.header = header;
	}
	lane_lead_away(tls->own);
	lane_lead_away(tls->nested);
	if (tls->borrowed != tls->own)
		lane_lead_away(tls->borrowed);
}

/* All zeros: no slot is free, no collector runs, and nothing belongs to another process. */
static void tape_cover(void)
{
	const size_t lead = rec_slot_lead();
	bool is_whole = cover(rec.header, (size_t)rec.mapped_bytes, rec.header_is_inherited);

	/* the sender's page is kept out of children as the header is */
	is_whole &= cover(rec_streamed_page(), (size_t)rec.page_bytes, rec.header_is_inherited);
	is_whole &= cover(rec.moments_ring, (size_t)rec.moments_ring_bytes, rec.ring_is_inherited);
	for (uint32_t i = 0; i < REC_LANES_MAX && rec.lanes[i]; i++) {
		const struct rec_lane *lane = rec.lanes[i];

		if (lane->slot_map)
			is_whole &= cover((uint8_t *)lane->slot_map - lead, lead + rec.chunk_bytes,
					  lane->slot_is_inherited);
	}
	if (!is_whole)
		lead_away(&rec_tls);
	rec.is_covered = true;
}

bool rec_is_interrupted(const struct rec_tls *tls)
{
	return !tls->lane && (tls->phase == REC_PHASE_RECORD || tls->phase == REC_PHASE_NESTED);
}

void rec_fork_begin(void)
{
	rec_pause_fork();
	wiped_by_hand = false;
}

bool rec_forked(bool is_interrupted)
{
	const uint32_t state = atomic_load(&rec.state);

	if (state != REC_ON && state != REC_STARTING)
		return false;
	if (!rec.forks_wipe && !wiped_by_hand) {
		child_handler();
		return true;
	}
	if (atomic_load(&rec.shared->epoch) != 0)
		return false; /* that of the child's own tape */
	if (!rec.is_covered && (rec.tape_is_inherited || is_interrupted))
		tape_cover();
	return true;
}

/* --- syscall() -------------------------------------------------------------------------------- */

static long syscall_plain(long number, long a, long b, long c, long d, long e, long f)
{
	const long result = sys_call6(number, a, b, c, d, e, f);

	if (!sys_failed(result))
		return result;
	errno = (int)-result;
	return -1;
}

/* libc's, once known. */
long (*rec_syscall_real)(long, long, long, long, long, long, long) = syscall_plain;

void rec_syscall_find(void)
{
	struct rec_symbol known;
	void *symbol = NULL;

	if (!rec_is_attach)
		symbol = rec_dlsym(RTLD_NEXT, "syscall");
	else if (rec_symbol_any("syscall", &known))
		symbol = (void *)(uintptr_t)known.address;
	if (symbol)
		memcpy(&rec_syscall_real, &symbol, sizeof(symbol));
}

/* Numbers that create a process: without CLONE_VM, which returns where it was called. */
long rec_syscall_fork(long number, long a, long b, long c, long d, long e, long f)
{
	long result;

	CHECK(number == ARCH_CALL_FORK || number == SYS_clone || number == SYS_clone3);
	rec_fork_begin();
	result = rec_syscall_real(number, a, b, c, d, e, f);
	if (result == 0)
		rec_forked(rec_is_interrupted(&rec_tls));
	return result;
}

/* exit_group(), as in _exit(). A filter may refuse it: then the program goes on. */
long rec_syscall_exit(long number, long a, long b, long c, long d, long e, long f)
{
	CHECK(number == SYS_exit_group);
	rec_end((int)(a & 0xff));
	rec_board_scan(REC_CALLER_SP());
	return rec_syscall_real(number, a, b, c, d, e, f);
}

/*
 * Whether clone3() with this struct clone_args makes a process that returns where it was called.
 * The kernel refuses arguments it cannot read, so it is asked before we read them; where it may not
 * be asked (sandbox.h) we do not read them, and such a child is detected by its wiped page.
 */
bool rec_clone3_forks(const uint64_t *args, size_t bytes);

bool rec_clone3_forks(const uint64_t *args, size_t bytes)
{
	enum { SHARES_MEMORY = 0x100, BYTES_MIN = 64, AT_STACK = 5 };

	return bytes >= BYTES_MIN && rec_may_call() && rec_is_readable_word(&args[0]) &&
	       rec_is_readable_word(&args[AT_STACK]) && !(args[0] & SHARES_MEMORY) &&
	       !args[AT_STACK];
}

/*
 * Everything else is passed on to libc's unchanged. It has up to seven arguments, of which the
 * last, if there is one, is on the stack: a function in C may write there, where the caller may
 * have something else, and a call that returns twice must not return through a frame of ours.
 */
#ifdef ARCH_SYSCALL_ENTRY
ARCH_SYSCALL_ENTRY();
#else
REC_EXPORT long syscall(long number, long a, long b, long c, long d, long e, long f)
{
	enum { SHARES_MEMORY = 0x100 };

	if ((number == SYS_clone && !(a & SHARES_MEMORY) && !b) ||
	    (number == SYS_clone3 && rec_clone3_forks((const uint64_t *)a, (size_t)b)))
		return rec_syscall_fork(number, a, b, c, d, e, f);
	if (number == SYS_seccomp || number == SYS_prctl)
		return rec_syscall_sandbox(number, a, b, c, d, e, f);
	if (number == SYS_exit_group)
		return rec_syscall_exit(number, a, b, c, d, e, f);
	return rec_syscall_real(number, a, b, c, d, e, f);
}
#endif
