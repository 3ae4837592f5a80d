/*
 * init: start, fork, stop and end of recording in a process.
 *
 * Starts at the first call of an allocation function's hook, which may come before our constructor:
 * other libraries' constructors allocate. Never in a hook of mappings or processes: an allocator
 * may call those with its lock held (other.h). The environment gives the destination:
 *
 *	MEMTAPE_SPOOL    a collector's file; used by the first process that opens it
 *	MEMTAPE_OUTPUT   pattern of the tape's name otherwise; default memtape.%e.%p.mtape
 *			 or tcp://HOST:PORT: streamed.h
 *	MEMTAPE_OPTIONS  see env.c
 *
 * libmemusage.so reads memusage's variables instead, see memusage.c.
 */
#include "rec/attach.h"
#include "rec/birth.h"
#include "rec/calls.h"
#include "rec/symbols.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/random.h"
#include "core/synonyms.h"
#include "rec/file.h"
#include "rec/log.h"
#include "rec/memusage.h"
#include "rec/path.h"
#include "rec/pause.h"
#include "rec/spool.h"
#include "rec/streamed.h"

#include "core/poison.h"

struct rec_process rec = { .file.fd = -1, .moments.fd = -1 };

/* What `shared` points to before it has a page: recording nothing. */
static struct rec_shared unborn;

bool rec_lock(_Atomic uint64_t *lock)
{
	const uint64_t self = (uintptr_t)&rec_tls;

	for (;;) {
		uint64_t nobody = 0;

		if (atomic_compare_exchange_strong(lock, &nobody, self))
			return true;
		if (nobody == self)
			return false;
		rec_yield();
	}
}

void rec_unlock(_Atomic uint64_t *lock)
{
	CHECK(atomic_load(lock) == (uintptr_t)&rec_tls || atomic_load(lock) == 0);
	atomic_store_explicit(lock, 0, memory_order_release);
}

/* NULL: there is no tape here; a child of a process whose recording had ended has none. */
static struct tape_live *live_here(void)
{
	return rec.live && atomic_load_explicit(&rec.shared->has_tape, memory_order_relaxed)
		       ? rec.live
		       : NULL;
}

void rec_lost(enum tape_loss kind)
{
	struct tape_live *live = live_here();

	CHECK((unsigned)kind < array_size(rec.live->lost));
	if (live && atomic_fetch_add_explicit((_Atomic uint64_t *)&live->lost[kind], 1,
					      memory_order_relaxed) == 0)
		rec_log_lost(kind);
}

void rec_slow_ticks(uint64_t began)
{
	struct tape_live *live = live_here();

	if (live)
		atomic_fetch_add_explicit((_Atomic uint64_t *)&live->recorder_ticks,
					  rec_ticks() - began, memory_order_relaxed);
}

/*
 * Stops recording and writes why. The lanes' chunks stay as they are: valid up to `used`. In a
 * forked child it is the parent's tape that ends there, and not the child's recording.
 */
void rec_stop(enum tape_fault fault, int error)
{
	uint32_t on = REC_ON;

	CHECK(fault != TAPE_FAULT_NONE);
	if (atomic_load(&rec.state) == REC_ON && atomic_load(&rec.shared->epoch) == 0)
		return;
	if (!atomic_compare_exchange_strong(&rec.state, &on, REC_STOPPED))
		return;
	rec_log_stop(fault, error);
	if (rec.live) {
		rec.live->fault_errno = error;
		rec.live->fault = fault;
		atomic_store((_Atomic uint32_t *)&rec.live->recorder_state, TAPE_RECORDER_STOPPED);
	}
	atomic_store(&rec.shared->epoch, 0);
}

static bool shared_map(void)
{
	return (rec.shared && rec.shared != &unborn) || rec_fork_init();
}

/* A variable that is set and not empty. */
static const char *env_text(const char *name)
{
	const char *text = rec_env_get(name);

	return text && text[0] ? text : NULL;
}

/* The reason reported for a tape that has no collector. */
static const char *file_output(void)
{
	const char *output = env_text("MEMTAPE_OUTPUT");

	return output ? output : env_text(SYNONYM_OUTPUT);
}

/* NULL: no file is wanted, but a stream. */
static const char *file_pattern(void)
{
	static const char usual[] = "memtape.%e.%p.mtape";
	const char *output = file_output();

	return output ? rec_streamed_pattern(output, usual) : usual;
}

static bool own_tape_open(void)
{
	const char *pattern = file_pattern();

	return pattern ? rec_tape_open_file(pattern) : rec_streamed_open_memory();
}

static bool tape_open(bool may_spool)
{
	const char *spool = rec_env_get("MEMTAPE_SPOOL");

	if (rec.options.table)
		return rec_tape_open_memory();
	if (may_spool && spool && spool[0]) {
		const enum rec_spool result = rec_tape_open_spool(spool);

		if (result == REC_SPOOL_REFUSED)
			REC_LOG(REC_LOG_INFO, "not recorded: the collector wants no other program");
		if (result == REC_SPOOL_TAKEN || result == REC_SPOOL_REFUSED)
			return result == REC_SPOOL_TAKEN;
		if (result == REC_SPOOL_NONE && !rec.options.follow && !rec_exec_is_after()) {
			/* the collector's program has begun before */
			REC_LOG(REC_LOG_INFO,
				"not recorded: the collector's program is another one");
			return false;
		}
	}
	return own_tape_open();
}

static void header_fill(uint32_t flags)
{
	struct tape_header *header = rec.header;
	const bool stacks = rec.options.stacks || rec.options.calls_stacks;
	const bool free_stacks = rec.options.free_stacks || rec.options.calls_free_stacks;

	memcpy(header->magic, TAPE_MAGIC, sizeof(header->magic));
	header->version = TAPE_VERSION;
	header->header_bytes = TAPE_HEADER_BYTES;
	header->kind = TAPE_KIND_RAW;
	header->chunk_bytes = rec.chunk_bytes;
	header->flags = flags | (ARCH_IS_BIG ? TAPE_FLAG_LIVE_BIG : 0) |
			(stacks ? TAPE_FLAG_ALLOC_STACKS : 0) |
			(free_stacks ? TAPE_FLAG_FREE_STACKS : 0) |
			(rec.options.latency ? TAPE_FLAG_LATENCY : 0);
	header->elf_machine = ARCH_ELF_MACHINE;
	header->pointer_bytes = sizeof(void *);
	header->parent_pid = (uint32_t)SYS_CALL0(SYS_getppid);
	header->session = rec.session;
	random_distinct(header->uuid, sizeof(header->uuid));
	memcpy(rec.uuid, header->uuid, sizeof(rec.uuid));
	rec_clock_init();
	if (rec.live->next_stream == 0)
		rec.live->next_stream = TAPE_COLLECTOR_STREAM + 1;
	/* The collector takes the header when it sees this. */
	atomic_store_explicit(ARCH_LITTLE_WORD(header, pid), arch_little_u32(rec_attach_pid()),
			      memory_order_release);
}

/* In state STARTING, on the only thread that knows of it. */
static bool begin(uint32_t flags, bool may_spool)
{
	rec.pid = (uint32_t)sys_getpid();
	rec.page_bytes = getauxval(AT_PAGESZ);
	if (!shared_map() || !rec_rules_init() || !tape_open(may_spool))
		return false;
	atomic_store(&rec.shared->has_tape, 1);
	if (!rec.slots)
		rec_follow_tell();
	rec.options.counts = rec.options.counts && rec_calls_init();
	header_fill(flags);
	if (!rec_spool_await_tape()) {
		if (!own_tape_open())
			return false;
		header_fill(flags);
	}
	if (rec.options.table && !rec.options.counts)
		return false;
	if (rec.options.moments)
		rec.options.moments = rec_memusage_data();
	atomic_store(&rec.shared->epoch, ++rec.next_epoch);
	rec_board_init();
	rec_thread_key_create();
	return true;
}

/* The first records; with a lane of this thread, which is returned before its first event. */
static void first_notes(bool scan)
{
	struct rec_frame here = REC_CALLER();
	struct rec_tls *tls = &rec_tls;
	uint32_t phase;
	struct rec_lane *lane = rec_lane_enter(tls, &here, &phase);

	if (!lane)
		return;
	tls->phase = REC_PHASE_RECORD;
	rec_lane_sync(lane); /* one that this thread had when it was attached to before */
	if (!rec.options.table) {
		rec_process_note(lane);
		rec_pause_begin(lane);
		if (tls->tag)
			rec_tag_note(lane, tls->tag);
		if (scan)
			rec_modules_scan(lane);
		else
			rec_modules_note_all(lane);
		if (!scan)
			rec_allocators_note_all(lane);
	}
	rec_lane_leave(tls, lane, phase);
	atomic_store((_Atomic uint32_t *)&rec.live->recorder_state, TAPE_RECORDER_RUNNING);
}

/*
 * A sanitizer's runtime replaces malloc and half of libc, and must be initialised before anybody
 * calls those: we would, in whatever calls us before it is.
 */
static bool sanitizer_is_here(void)
{
	static const char *const names[] = { "__asan_init", "__tsan_init", "__msan_init",
					     "__lsan_init", "__hwasan_init" };
	struct rec_symbol symbol;

	for (size_t i = 0; i < array_size(names); i++)
		if (rec_symbol_any(names[i], &symbol))
			return true;
	return false;
}

/* Who has the recorder linked in is recorded only when told to. */
static bool is_wanted(void)
{
	return env_text("MEMTAPE_SPOOL") || file_output();
}

static bool may_begin(void)
{
	if (sanitizer_is_here()) {
		REC_LOG(REC_LOG_ERROR, "not recorded: a sanitizer has replaced malloc here");
		return false;
	}
	if (rec_is_linked && !is_wanted()) {
		REC_LOG(REC_LOG_INFO, "not recorded: neither MEMTAPE_SPOOL nor MEMTAPE_OUTPUT is "
				      "set, and the recorder is linked into the program");
		return false;
	}
	if (rec_is_memusage && !rec_memusage_begin(false)) {
		REC_LOG(REC_LOG_INFO, "not counted: MEMUSAGE_PROG_NAME has another name");
		return false;
	}
	return true;
}

/* True: recording. While it runs, hooks on all threads get the plain functions (or the pool). */
bool rec_start(void)
{
	uint32_t unborn_state = REC_UNBORN;
	const int saved_errno = errno;

	if (!atomic_compare_exchange_strong(&rec.state, &unborn_state, REC_STARTING))
		return unborn_state == REC_ON;
	if (!rec.shared)
		rec.shared = &unborn;
	rec_real_find();
	rec_log_init();
	rec_options_read();
	rec_sandbox_init();
	rec_follow_init();
	if (rec_follow_is_left_out()) {
		REC_LOG(REC_LOG_INFO, "not recorded: MEMTAPE_FOLLOW has other names");
		atomic_store(&rec.state, REC_OFF);
		errno = saved_errno;
		return false;
	}
	if (!may_begin() || !begin(rec_is_attach ? TAPE_FLAG_ATTACHED : 0, true) ||
	    !rec_streamed_begin()) {
		if (!rec_is_memusage)
			rec_env_scrub();
		atomic_store(&rec.state, REC_OFF);
		errno = saved_errno;
		return false;
	}
	if (!rec.options.follow)
		rec_env_scrub();
	atomic_store(&rec.state, REC_ON);
	rec_log_begun();
	first_notes(true);
	errno = saved_errno;
	return true;
}

void rec_attach_anew(void)
{
	CHECK(rec_is_attach);
	rec.generation++;
	rec.pid = 0;
	rec.is_alone = false;
	rec.last_clock = 0;
	rec_allocators_wanted_count = 0;
	rec_modules_forget();
	atomic_store(&rec.state, REC_UNBORN);
}

/*
 * In a forked child: the parent's tape must not be touched (and is not mapped here). Recording
 * ends, or continues on a tape of its own.
 */
void rec_child(void)
{
	uint8_t parent_uuid[TAPE_UUID_BYTES] = { 0 };
	uint32_t on = REC_ON;
	const int saved_errno = errno;

	if (!rec_forked(false) || !atomic_compare_exchange_strong(&rec.state, &on, REC_STARTING))
		return;
	memcpy(parent_uuid, rec.uuid, sizeof(parent_uuid));
	rec.module_lock = rec.file_lock = 0;
	rec_allocators_child();
	rec.header = NULL;
	rec.live = NULL;
	rec.slots = NULL;
	rec.is_covered = false;
	rec.slot_count = 0;
	rec.is_alone = false;
	if (rec_may_call()) {
		rec_file_close(&rec.file);
		rec_file_close(&rec.moments);
	}
	rec.is_child = true;
	rec_streamed_child();
	if (rec_may_call())
		rec_log_init();
	rec.options.moments = rec.wants_moments;
	rec_lanes_reset();
	rec_births_forget();
	rec_slots_forget();
	if (rec.options.table && rec_may_call())
		rec_memusage_begin(true);
	if (!rec.options.follow || rec.is_unnamed || !rec_may_call() ||
	    !begin(TAPE_FLAG_FORKED, false)) {
		REC_LOG(REC_LOG_INFO, "a forked child is not recorded");
		atomic_store(&rec.state, REC_OFF);
		errno = saved_errno;
		return;
	}
	memcpy(rec.header->parent_uuid, parent_uuid, sizeof(parent_uuid));
	if (!rec_streamed_begin()) {
		atomic_store(&rec.state, REC_OFF);
		errno = saved_errno;
		return;
	}
	atomic_store(&rec.state, REC_ON);
	rec_log_begun();
	first_notes(false);
	errno = saved_errno;
}

/*
 * False in a child of vfork, too. In a sandbox this cannot be determined; then an end is written
 * that is none, and events follow.
 */
bool rec_is_own_process(void)
{
	return !rec_may_call() || rec.pid == (uint32_t)sys_getpid();
}

/* status -1: unknown. Events may follow; a reader uses the last of several ends. */
void rec_end(int status)
{
	struct rec_frame here = REC_CALLER();
	struct tape_end end = { .kind = TAPE_END_EXIT, .status = status };
	struct rec_tls *tls = &rec_tls;
	struct rec_lane *lane;
	uint32_t phase;

	if (atomic_load(&rec.state) != REC_ON || atomic_load(&rec.shared->epoch) == 0)
		return;
	/* A child of vfork, in its parent's memory, calls _exit(). */
	if (status >= 0 && !rec_is_own_process())
		return;
	lane = rec_other_enter(tls, &here, &phase);
	if (!lane)
		return;
	rec.live->exit_ticks = rec_ticks();
	atomic_store((_Atomic uint32_t *)&rec.live->recorder_state, TAPE_RECORDER_ENDED);
	rec_usage_end(lane);
	if (rec.options.counts)
		rec_calls_end(lane, &here);
	else if (rec.options.calls)
		rec_depth_end(lane, here.sp);
	rec_touched_end(lane);
	rec_stack_use_others(lane);
	rec_note(lane, TAPE_EXT_END, &end, sizeof(end), NULL, 0);
	/*
	 * A child that ends this way does its parent's work, which did not exec: glibc is silent.
	 */
	if (rec.options.table && !(rec.is_child && status >= 0))
		rec_memusage_end();
	rec_lane_leave(tls, lane, phase);
	rec_log_end(status);
	rec_streamed_end();
}

/* No object's own handler, so that it runs after all of them: glibc's and musl's have 32 places. */
extern int __cxa_atexit(void (*handler)(void *), void *context, void *object);

/* The same for quick_exit(), of glibc. */
extern int __cxa_at_quick_exit(void (*handler)(void *), void *object) __attribute__((weak));

bool rec_scans_at_quick_exit(void)
{
	return &__cxa_at_quick_exit != NULL;
}

static void scan_at_exit(void *context)
{
	(void)context;
	rec_board_scan(REC_CALLER_SP());
}

static __attribute__((constructor)) void library_begin(void)
{
	if (rec_is_attach)
		return; /* memtape_attach() begins */
	if (!rec.stack_base)
		rec.stack_base = (uintptr_t)environ; /* where the kernel put it, this early */
	rec_start();
	rec_exec_keep();
	if (rec.options.table)
		rec_memusage_rename();
	rec_allocators_begin();
	if (atomic_load(&rec.state) == REC_ON)
		rec_pause_signals();
	rec_exit_watch();
	if (rec.options.leaks) {
		__cxa_atexit(scan_at_exit, NULL, NULL);
		if (rec_scans_at_quick_exit())
			__cxa_at_quick_exit(scan_at_exit, NULL);
	}
	if (!rec.options.follow)
		rec_env_scrub(); /* again: the start may have come before environ was set */
}

static __attribute__((destructor)) void library_end(void)
{
	rec_end(-1);
}
