/*
 * rec: the recorder, libmemtape.so. Lives inside somebody's malloc: see the contract in
 * docs/architecture.md. Its files:
 *
 * - hooks.def: what is hooked, one line a function; real.c: the functions behind.
 * - hooks.c and hooks_cxx.c: the wrappers of C's and C++'s allocation functions, hook.h of both;
 *   event.h: from a hook to bytes.
 * - exec_hooks.c: the process becomes another program, exec.c: which is to be recorded, too.
 * - maps.c: mmap and the like, mallopt; process.c: threads, dlopen, fork, exit; other.h of both.
 * - birth.c: who created a thread; symbols.c: which names are defined, found without the loader.
 * - attach.c: beginning and ending in a process that runs already.
 * - lane.c, lane_end.c: which stream a thread writes to; chunk.c: where the bytes go, spool.c: the collector's
 *   memory for them; file.c: a file that grows; path.c: the tape's name.
 * - stack.c: a stack into a node id; module.c: loaded objects and their unwind tables; code.c:
 *   memory made executable.
 * - calls.c: counting calls instead of recording them, sizes.c, total.c and mapped.c for it;
 *   moments.c: the data file of memusage, summary.c: its table; default.c: what makes a library
 *   libmemusage.so.
 * - allocators.h and its files: allocators with names of their own; latency.c: how long calls take;
 *   depth.c: how deep stacks are, when that is wanted, touched.c between calls.
 * - stack_use.c: room and use of threads' stacks; streamed.c: the recorder alone sends the tape.
 * - usage.c: clock pairs, RSS and the like; init.c: beginning, end; fork.c: forked children; pause.c:
 *   off for a while; env.c: the environment; sandbox.c: programs that forbid system calls.
 * - log.h: the log, log_lines.c the lines about the whole; text.h: lines, composed without stdio.
 */
#ifndef MEMTAPE_REC_REC_H
#define MEMTAPE_REC_REC_H

#include "core/core.h"
#include "core/sys.h"
#include "tape/codec.h"
#include "tape/tape_spool.h"
#include "tape/tape.h"
#include "tape/tape_calls.h"
#include "tape/tape_exec.h"
#include "unwind/memo.h"
#include "rec/options.h"

#define REC_EXPORT   __attribute__((visibility("default")))
#define REC_SCRAMBLE UINT64_C(0x9e3779b97f4a7c15) /* odd: multiplying by it is a bijection */
#define REC_COLD     __attribute__((cold, noinline))

enum {
	REC_MEMO_ENTRIES = 510, /* of a fresh lane; grows to */
	REC_MEMO_ENTRIES_MAX = 1 << 20,
	REC_PLACE_BITS = 11, /* of a fresh lane; they grow */
	REC_NEAR_BITS = 12,
	REC_FAR_BITS = 9,
	REC_STEPS = 512,
	REC_CHUNK_BYTES = 128 << 10,
	REC_TICK_SHIFT = 5,
	REC_LANES_MAX = 4096,
	REC_LANES_FILE = 512, /* most of them without a collector */
	REC_LANES_SHARED = 8, /* at most, for threads that have none of their own */
	REC_PATH_BYTES = 4096,
	REC_POOL_BYTES = 64 << 10,
	REC_DEPTH_OTHERS = 8 /* other stacks that are remembered */
};

/* For lanes of a forked process, in its child: a hook in progress may hold one. */
#define REC_EPOCH_DEAD UINT64_MAX

enum { REC_MADV_WIPEONFORK = 18 }; /* MADV_WIPEONFORK of newer headers */

/* The caller of a hook, as it will be when the hook has returned. */
struct rec_frame {
	arch_word pc, sp, bp;
	struct arch_return ret; /* the hook's */
};

/* In the hook itself, which is compiled with a frame pointer. */
#define REC_CALLER_SP() ARCH_HOOK_CFA()
#define REC_CALLER()                                                                               \
	((struct rec_frame) { .pc = (uintptr_t)__builtin_return_address(0),                        \
			      .sp = REC_CALLER_SP(),                                               \
			      .bp = ARCH_HOOK_FP(),                                                \
			      .ret = ARCH_RETURN() })

/* tables.h */
struct rec_tables {
	uint64_t *places;
	uint64_t *near; /* edges in the cache line of their parent */
	uint64_t *far;	/* edges for which that line had no room */
	size_t near_mask;
	uint32_t place_shift, far_shift; /* 64 - bits of an index */
	uint32_t place_count, far_count;
	uint32_t node_base; /* node 3 in the tables is 3 + this on the tape */
	bool crowded;	    /* make room before the next event */
};

/* depth.c: the stack of the thread that has the lane. */
struct rec_depth {
	uint32_t tid; /* owner of this */
	bool is_guess;
	uint64_t first_base; /* of the first thread, as far as known */
	uint64_t base;
	uint64_t low; /* known to be the thread's down to here */
	struct {
		uint64_t low, high;
	} others[REC_DEPTH_OTHERS]; /* other stacks that it runs on now and then; high 0: none */
	uint32_t other_next;
	uint32_t probes_left; /* pages that may still be probed */
	uint64_t max_bytes;
	uint64_t told_bytes; /* by the last record */
};

/*
 * stack_use.c: the stack of the thread that has the lane; top 0: unknown. Other threads read it at
 * the program's end.
 */
struct rec_stack_use {
	uint64_t top;	 /* after the highest byte */
	uint64_t limit;	 /* lowest address it may have; 0: unlimited */
	uint64_t low;	 /* lowest caller of an event that was on it, within a page */
	uint64_t before; /* others may have touched it down to here; top: nobody */
	uint64_t told;	 /* bytes down to `low` when that was last written */
	bool grows;	 /* the first thread's: the kernel maps it as it is used */
};

/* total.h: what the lane's threads hold of the heap. */
struct rec_total {
	_Atomic int64_t held;
	_Atomic int64_t claim; /* its part of the sum */
	_Atomic uint64_t room; /* claim - held is less, or has to be settled */
	_Atomic bool is_claiming;
	uint32_t patience;
	uint32_t since; /* events that were settled one by one */
	uint64_t began; /* the claim, in ticks */
};

/* calls.c: what makes a call like most others. */
struct rec_counts {
	uint64_t epoch;			 /* that the lane counts in */
	uint64_t stack_low, stack_bytes; /* seen to be the thread's; all 0: it has no records yet */
};

/* One stream of the tape, used by one thread at a time. Mapped, never unmapped, reused. */
struct rec_lane {
	uint64_t epoch; /* rec_shared.epoch for which all of this is valid */
	uint8_t *cursor;
	uint8_t *limit;		  /* no record begins after it */
	uint8_t *nodes;		  /* address of the chunk's last node */
	uint8_t *records;	  /* the chunk's first record */
	struct tape_chunk *chunk; /* NULL: none was available */
	void *slot_map;		  /* appended slots: the mapped part of the tape; NULL: none */
	bool slot_is_inherited;	  /* by forked children */
	struct tape_codec_state codec;
	struct unwind_memo memo;
	struct rec_tables *tables;	   /* one of pair */
	uint64_t mapped_begin, mapped_end; /* known to be readable: the stack in use */
	uint64_t mapped_stop; /* mapped_end, when nothing more could be read after it */
	uint32_t next_node;
	uint32_t stream;
	uint32_t seq;
	uint32_t slot;
	uint32_t tid;	       /* owner of the stream so far; 0: none yet */
	uint32_t index;	       /* in the list of lanes */
	uint32_t generation;   /* of rec, for which its stream and its chunk are */
	uint32_t nested;       /* 1: for handlers that interrupt the recorder */
	_Atomic uint32_t busy; /* 1: some thread owns it */
	char name[16];
	struct rec_tables pair[2];
	struct rec_depth depth;
	uint64_t began;		  /* the current call, if durations are measured */
	bool is_freeing;	  /* it is a free: its event is written */
	struct tape_calls *calls; /* in the chunk, where calls are counted; NULL: not begun */
	struct rec_counts counts;
	uint64_t touched_at_begin; /* lowest page of the thread's stack when it began; 0: not looked
				    */
	struct rec_stack_use stack_use;
	uint64_t noted_ticks; /* of the last record that is not an event */
	uint64_t due_ns;      /* rec_lane_now_and_then(): the next time */
	uint32_t gaps;	      /* streamed.c: after which its thread was noted again */
	struct rec_total total;
	uint64_t moment_stack;		/* moments.c: bytes, the last that was known */
	uint64_t old_address, old_size; /* of a realloc under way */
	bool has_old;
	uint32_t step_count;
	uint32_t steps[REC_STEPS]; /* from 1 on: steps too long for a place */
};

enum rec_phase {
	REC_PHASE_NEW = 0, /* thread not seen yet */
	REC_PHASE_IDLE,	   /* tls.lane is usable */
	REC_PHASE_REAL,	   /* inside the real function: its own calls are not counted again */
	REC_PHASE_RECORD,  /* inside the recorder: a signal handler interrupts it */
	REC_PHASE_NESTED,  /* the same in the nested lane */
	REC_PHASE_BORROW   /* too many threads, or past its destructors: a lane for each event */
};

/*
 * A thread's state in thread-local storage (meson.build: of which model). `lane` is set only while
 * an event may be recorded without further checks: one load and test precede the fast path.
 */
struct rec_tls {
	struct rec_lane *lane;
	struct rec_lane *own;
	struct rec_lane *nested;
	struct rec_lane *borrowed; /* for the event being recorded */
	uint32_t phase;		   /* enum rec_phase; meaningful only while lane is NULL */
	uint32_t rounds;	   /* of destructors */
	struct rec_frame caller;   /* of the hook that is running */
	size_t new_size;	   /* operator new of this many bytes is running */
	uint32_t new_fn;	   /* 0: it is not */
	uint32_t birth;		   /* birth.c; 0: not known, or told */
	char birth_name[16];	   /* the creator's, inherited; "": unknown */
	const char *tag;	   /* client.c: the program's text; NULL: none */
};

extern __thread struct rec_tls rec_tls;

enum rec_state { REC_UNBORN = 0, REC_STARTING, REC_ON, REC_OFF, REC_STOPPED };

/* file.h */
struct rec_file {
	int fd;		/* -1: none */
	uint64_t id[2]; /* device and inode, to recognise the descriptor by */
	char path[REC_PATH_BYTES];
};

/*
 * Process-wide state. Written at start, at fork and on slow paths under a lock; the hot path only
 * reads `shared->epoch`, in a page of its own that the kernel wipes in a forked child.
 */
struct rec_shared {
	_Atomic uint64_t epoch; /* 0: not recording in this process */
	_Atomic uint32_t armed;
	_Atomic uint32_t has_tape; /* 0: the tape is not mapped in this process */
};

/* Which system calls the recorder may make: see sandbox.c. */
enum rec_sandbox {
	REC_SANDBOX_NONE = 0,
	REC_SANDBOX_INHERITED, /* a filter from before the start: only calls that libcs make */
	REC_SANDBOX_OWN	       /* the program's own: none */
};

struct rec_process {
	/* read at every event, written at start */
	struct rec_shared *shared;
	struct tape_live *live;
	struct rec_options options;
	bool use_tsc;
	uint8_t tick_shift;

	_Alignas(64) _Atomic uint32_t state; /* enum rec_state */
	/* Spin locks of slow paths; who holds the first may take the second. */
	_Atomic uint64_t module_lock;
	_Atomic uint64_t file_lock;
	uint32_t pid;
	uint64_t stack_base; /* of the first thread; 0: not known */
	uint64_t stack_top;  /* the same, where the kernel began it */
	_Atomic uint64_t next_epoch;
	struct tape_header *header; /* mapped page(s) of the tape or spool; live is in them */
	uint8_t *slots; /* all slots of a spool; NULL: slots are appended and mapped one by one */
	uint32_t slot_count; /* of them */
	bool is_alone;	     /* the spool's collector was killed, or hangs */
	bool is_streamed;    /* the slots are memory that a sender of our own empties: streamed.h */
	uint64_t mapped_bytes; /* from header on */
	uint64_t page_bytes;   /* the kernel's: 4096, or more where processors leave the choice */
	bool forks_wipe;       /* the kernel wipes `shared` in forked children */
	_Atomic bool tape_is_inherited;		     /* by forked children, at least part of it */
	bool header_is_inherited, ring_is_inherited; /* these parts */
	bool is_covered;	  /* in a forked child: the parent's tape, by private memory */
	_Atomic uint32_t sandbox; /* enum rec_sandbox */
	struct rec_file file;	  /* the tape, where slots are appended */
	struct rec_file moments;  /* moments.c */
	void *moments_ring;	  /* likewise, where it is shared with a reader */
	uint64_t moments_ring_bytes;
	uint32_t chunk_bytes;
	bool is_child;		     /* of fork */
	uint32_t generation;	     /* how often it was attached to */
	bool is_unnamed;	     /* names were given (--follow), and not this one: follow.c */
	uint64_t session;	     /* of the tape's header */
	bool wants_moments;	     /* as the options said, whatever became of the file */
	_Atomic uint64_t last_clock; /* raw ticks of the last CLOCK record */
	struct rec_lane *_Atomic lanes[REC_LANES_MAX];
	_Atomic uint32_t lane_count;
	_Atomic uint32_t lanes_owned; /* of these, by threads for their lifetime */
	uint32_t lanes_max;
	_Atomic uint32_t sealed; /* slots sealed so far; against live->freed_count */
	_Atomic uint64_t private_bytes;
	uint8_t uuid[TAPE_UUID_BYTES]; /* of the tape, for those of forked children */
};

extern struct rec_process rec;

/* Whether this library is libmemusage.so: default.c. */
extern const bool rec_is_memusage;

/* Whether this is libmemtape.a, linked into its program: linked.c instead of real.c and symbols.c. */
extern const bool rec_is_linked;

/* real.c: the functions behind the hooks; NULL where there is none. */
struct rec_real {
	size_t (*usable_size)(void *); /* of the same allocator as malloc, or NULL */
#define HOOK_REAL(symbol, result, parameters) result(*symbol) parameters;
#include "rec/hooks.def"
};

extern struct rec_real rec_real;
void rec_real_find(void);
/*
 * Before they are found, for hooks that must not start the recording: a member's function by its
 * offset, or NULL. Neither locks nor allocates.
 */
void *rec_real_early(size_t offset);
/* Finds operator new and friends late, in the caller's object or its libraries. May be NULL. */
void *rec_real_find_late(const char *symbol, const void *caller);
void rec_real_forget_late(void);
void *rec_pool_alloc(size_t bytes, size_t align);
size_t rec_pool_usable(const void *ptr);
extern uint8_t rec_pool[REC_POOL_BYTES];

static inline bool rec_pool_owns(const void *ptr)
{
	return (uintptr_t)ptr - (uintptr_t)rec_pool < REC_POOL_BYTES;
}

/* client.c */
void rec_tag_note(struct rec_lane *lane, const char *tag); /* of this thread; NULL: it has none */

/* init.c */
bool rec_start(void);		/* first call of an allocation's hook; true: recording */
void rec_child(void);		/* in a forked child, by its next hook that interrupts nothing */
void rec_end(int status);	/* the process is about to end; -1: unknown how */
void rec_replaced(bool is_now); /* by exec; false: that failed */
bool rec_is_own_process(void);
bool rec_scans_at_quick_exit(void); /* after all its handlers; false: libc cannot tell us */
void rec_exit_watch(void);	    /* from here on a followed process says what it exits with */
void rec_stop(enum tape_fault fault, int error);
bool rec_lock(_Atomic uint64_t *lock); /* false: this thread has it already (a signal came) */
void rec_unlock(_Atomic uint64_t *lock);
void rec_lost(enum tape_loss kind);
void rec_slow_ticks(uint64_t began); /* a slow path began at this rec_ticks() and ends now */

/* fork.c */
bool rec_fork_init(void); /* rec.shared; false: children could not be told from their parent */
/* Of children: part of the tape. False: the kernel refused, and they inherit it. */
bool rec_fork_keep_out(void *memory, size_t bytes);
void rec_fork_begin(void); /* by a hook, before it forks */
/*
 * Once a child is detected, in the child; repeating it does no harm. is_interrupted: the recorder
 * goes on after this, as if it still had the tape. False: already done.
 * Async-signal-safe.
 */
bool rec_forked(bool is_interrupted);
void rec_syscall_find(void); /* libc's, at the start */
extern long (*rec_syscall_real)(long, long, long, long, long, long, long);
/* The recorder is active on this thread, according to its own state. */
bool rec_is_interrupted(const struct rec_tls *tls);

/*
 * lane.c. A hook that finds tls->lane NULL enters here: a lane to record in, or NULL: just call the
 * real function. Leave with the phase that enter stored in *phase_ret.
 */
struct rec_lane *rec_lane_enter(struct rec_tls *tls, const struct rec_frame *caller,
				uint32_t *phase_ret);
void rec_lane_leave(struct rec_tls *tls, struct rec_lane *lane, uint32_t phase);
void rec_lanes_reset(void);		      /* in a forked child: none of them is ours */
void rec_lane_release(struct rec_lane *lane); /* it is nobody's now */
void rec_thread_end(void *value);	      /* of the key */
bool rec_thread_key_create(void);
bool rec_thread_key_set(struct rec_tls *tls);
bool rec_lane_sync(struct rec_lane *lane); /* false in a forked child, too, which has begun then */
/* After a failed sync, in the hook of `caller`: the lane to continue in (a forked child's), NULL:
 * none. */
struct rec_lane *rec_lane_renew(const struct rec_lane *lane, const struct rec_frame *caller);
bool rec_lane_grow_memo(struct rec_lane *lane);
void rec_lane_now_and_then(struct rec_lane *lane); /* at the beginning of a chunk */

/* chunk.c */
bool rec_chunk_next(struct rec_lane *lane);
void rec_chunk_seal(struct rec_lane *lane);
bool rec_tape_open_file(const char *pattern);
bool rec_tape_open_memory(void);
bool rec_tape_map(uint64_t bytes); /* of rec.file, from its header on */
bool rec_collector_is_gone(void);  /* nobody empties the spool: it has given up or was killed */

#define LIVE(field) ((_Atomic __typeof__(rec.live->field) *)&rec.live->field)

/* stack.c */
uint32_t rec_stack_take(struct rec_lane *lane, const struct rec_frame *frame);

/* depth.c: for options.calls; the node of the event at ticks (shifted). */
uint32_t rec_depth_take(struct rec_lane *lane, unsigned fn, uint64_t ticks,
			const struct rec_frame *caller);
/* At the process's end, of a thread that never called; likewise rec_calls_end(). */
void rec_depth_end(struct rec_lane *lane, uint64_t sp);
/* For options.counts: the deepest so far. */
uint64_t rec_depth_peak(struct rec_lane *lane, uint64_t sp);

/* touched.c: for options.calls, on the lane's thread when it begins and ends. */
void rec_touched_begin(struct rec_lane *lane);
void rec_touched_end(struct rec_lane *lane);

/*
 * stack_use.c, except for options.calls: on the thread that has the lane for good when it begins,
 * now and then, and when it ends; at the program's end also for all others.
 */
void rec_stack_use_begin(struct rec_lane *lane);
void rec_stack_use_note(struct rec_lane *lane, bool is_final);
void rec_stack_use_others(struct rec_lane *lane);
void rec_stack_use_forget(struct rec_lane *lane); /* the lane is nobody's, or borrowed */
void rec_stack_use_deeper(struct rec_lane *lane, uint64_t sp);
/* Whether all of it is the calling thread's own stack, without asking the kernel. */
bool rec_stack_use_holds(uint64_t begin, uint64_t end);
bool rec_libc_is_glibc(void), rec_libc_is_musl(void); /* glibc in a static program may be neither */
/* An event's caller, before any of the event is written. */
static inline void rec_stack_use_seen(struct rec_lane *lane, uint64_t sp)
{
	if (unlikely(sp < lane->stack_use.low && sp >= lane->stack_use.limit))
		rec_stack_use_deeper(lane, sp);
}

/* rules.c */
bool rec_rules_init(void);
void rec_rules_forget(void);
enum { REC_RULE_NONE = 15 }; /* for UNWIND_NONE, so that a rule is never 0 */
/* For a lookup pc (a return address - 1, or exact). */
uint32_t rec_rule_get(struct rec_lane *lane, uint64_t lookup_pc);

/* module.c */
void rec_modules_scan(struct rec_lane *lane);
uint32_t rec_module_rule(struct rec_lane *lane, uint64_t lookup_pc);
bool rec_module_full_step(struct unwind_regs *regs, uint64_t stack_begin, uint64_t stack_end,
			  bool *end_ret);
void rec_modules_note_all(struct rec_lane *lane); /* a new tape, objects already known */
bool rec_jit_add(const void *eh_frame);
void rec_jit_remove(const void *eh_frame);
void rec_epoch_next(void); /* what code addresses meant is over */

/* code.c: memory that the program made executable; a walk may find return addresses there. */
void rec_code_add(uint64_t begin, uint64_t bytes);
bool rec_code_holds(uint64_t pc);

/* A lane for a hook that is not an allocation's; also inside an allocator. NULL: none. */
struct rec_lane *rec_other_enter(struct rec_tls *tls, const struct rec_frame *caller,
				 uint32_t *phase_ret);

/*
 * latency.c: for options.latency; otherwise nothing happens here. The clock is read when a lane is
 * entered and when its event is written, i.e. around the call; for a free, whose event comes before
 * it, from there until the lane is left.
 */
void rec_latency_note(struct rec_lane *lane, uint64_t ticks); /* of the lane's last event */

/* env.c */
const char *rec_env_get(const char *name);
/* This library's name in a list of preloads; path is unchanged if it is not in it. */
void rec_env_library(const char *list, char *path, size_t path_bytes);
void rec_env_scrub(void);
void rec_options_read(void); /* into rec.options */

/* exec.c: before the environment is scrubbed. */
void rec_exec_keep(void);
/* This process was recorded before it became this program. */
bool rec_exec_is_after(void);

/* usage.c */
uint64_t rec_clock_raw(void);
void rec_clock_init(void);
void rec_clock_prctl(int option, unsigned long value); /* the program is about to call prctl() */
uint64_t rec_monotonic_ns(void);
void rec_usage_note(struct rec_lane *lane); /* on slow paths: CLOCK and USAGE when they are due */
void rec_usage_end(struct rec_lane *lane);  /* a last CLOCK and USAGE */
void rec_process_note(struct rec_lane *lane);

/* An extended record with the present time; payload and tail as in tape_extended_encode(). */
void rec_note(struct rec_lane *lane, enum tape_extended type, const void *payload, size_t bytes,
	      const void *tail, size_t tail_bytes);
/* Before an event of that time (shifted): must not be later than it. */
void rec_note_at(struct rec_lane *lane, uint64_t ticks, enum tape_extended type,
		 const void *payload, size_t bytes, const void *tail, size_t tail_bytes);

static inline uint64_t rec_ticks(void)
{
	if (likely(rec.use_tsc))
		return arch_ticks();
	return rec_clock_raw();
}

static inline void rec_latency_begin(struct rec_lane *lane, bool is_free)
{
	if (!rec.options.latency)
		return;
	lane->is_freeing = is_free;
	lane->began = rec_ticks();
}

static inline uint64_t rec_latency_end(struct rec_lane *lane)
{
	lane->is_freeing = false;
	return rec.options.latency ? rec_ticks() - lane->began : 0;
}

#include "rec/page.h"
#include "rec/sandbox.h"

#endif
