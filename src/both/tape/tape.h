/*
 * tape: THE FORMAT. What the recorder writes and everything else reads; docs/tape-format.md is
 * its prose. This room is freestanding (core only): it is linked into the target.
 *
 * A tape is one page of header and then chunks. A chunk belongs to one *stream* (a thread's lane;
 * stream 0 is the collector's) and holds
 *
 *	header | records, growing up ...        ... nodes, growing down |
 *
 * All state that a chunk's records are relative to is reset at its start, so a chunk can be read
 * alone, except for the stacks: a record names a *node* of its stream's stack tree, and nodes are
 * defined in the chunk in which they are first used (ids count up through the stream).
 *
 * In a *raw* tape chunks are in slots of equal size, exactly as the recorder wrote them; `used` and
 * `node_count` of the header are kept up to date with every record, so the data after SIGKILL is
 * complete. In a *packed* tape sealed chunks follow each other, encoded, with a checksum.
 */
#ifndef MEMTAPE_TAPE_TAPE_H
#define MEMTAPE_TAPE_TAPE_H

#include "core/core.h"
#include "tape/tape_calls.h"
#include "tape/tape_usage.h"

ARCH_LITTLE_BEGIN

#define TAPE_MAGIC "MEMTAPE\n"

enum {
	TAPE_VERSION = 1,
	TAPE_HEADER_BYTES = 4096,
	TAPE_UUID_BYTES = 16,
	TAPE_CHUNK_MAGIC = 0x4b4e4843, /* "CHNK" */
	TAPE_CHUNK_BYTES_MIN = 16 << 10,
	TAPE_CHUNK_BYTES_MAX = 16 << 20,
	TAPE_COLLECTOR_STREAM = 0,
	TAPE_RECORD_BYTES_MAX = 8192 /* of one extended record, header included */
};

enum tape_kind { TAPE_KIND_RAW = 1, TAPE_KIND_PACKED = 2 };

enum tape_clock {
	TAPE_CLOCK_TSC = 1, /* invariant cycle counter; CLOCK records relate it to nanoseconds */
	TAPE_CLOCK_MONOTONIC = 2 /* ticks are nanoseconds of CLOCK_MONOTONIC before the shift */
};

enum tape_header_flag {
	TAPE_FLAG_FREE_STACKS = 1 << 0,	 /* frees carry stacks */
	TAPE_FLAG_ALLOC_STACKS = 1 << 1, /* allocations carry stacks */
	TAPE_FLAG_FORKED = 1 << 2,   /* started in a forked child: blocks of the parent are live */
	TAPE_FLAG_ATTACHED = 1 << 3, /* started in a running program: earlier blocks are unknown */
	TAPE_FLAG_SYMBOLS = 1 << 4,  /* has SYMBOLS records */
	TAPE_FLAG_LATENCY = 1 << 5,  /* events are followed by their call's duration */
	TAPE_FLAG_AVERAGES = 1 << 6, /* blocks stand for sums: their order has no meaning */
	TAPE_FLAG_LIVE_BIG = 1 << 8, /* raw: struct tape_live is big-endian, as its recorder is */
	TAPE_FLAG_RECORDING = 1 << 7 /* packed: a collector writes it, or was: tape_spool.h */
};

/* First page of a tape. All integers little-endian. Fields after `live` are 0 in a packed tape. */
struct tape_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes; /* TAPE_HEADER_BYTES; chunks begin here */
	uint32_t kind;	       /* enum tape_kind */
	uint32_t chunk_bytes;  /* slot size (raw), largest decoded chunk (packed) */
	uint32_t flags;	       /* enum tape_header_flag */
	uint16_t elf_machine;  /* EM_X86_64, ... */
	uint16_t pointer_bytes;
	uint32_t clock;	     /* enum tape_clock */
	uint32_t tick_shift; /* times on the tape are clock readings >> tick_shift */
	uint32_t pid;
	uint32_t parent_pid;
	uint64_t start_ticks;
	uint64_t start_monotonic_ns;
	uint64_t start_realtime_ns;
	uint8_t uuid[TAPE_UUID_BYTES];
	uint8_t parent_uuid[TAPE_UUID_BYTES]; /* of the forking or exec'ing process, or 0 */
	uint64_t session; /* the same for all tapes of one `memtape record`, or 0 */
	uint8_t reserved[144];
	uint8_t live[256]; /* struct tape_live, shared between recorder and collector */
};

ARCH_LITTLE_END

/*
 * State shared while recording, in the header page of a raw tape or spool: in the recorder's byte
 * order, accessed atomically (relaxed unless a comment says so). Slow paths alone write counters.
 */
struct tape_live {
	uint32_t chunk_count;	  /* slots in the file; 0: the recorder appends slots itself */
	uint32_t recorder_state;  /* enum tape_recorder_state */
	uint32_t collector_state; /* enum tape_collector_state */
	uint32_t sealed_count;	  /* bumped after a chunk is sealed; futex the collector waits on */
	uint32_t freed_count; /* bumped after the collector frees a slot; futex of the recorder */
	uint32_t collector_waits; /* nonzero: a wake-up is requested */
	uint32_t recorder_waits;
	uint32_t next_stream; /* next stream id; begins at 1 */
	uint32_t next_slot;   /* next slot that the recorder appends */
	uint32_t collector_pid;
	int32_t fault_errno;
	uint32_t fault;		 /* enum tape_fault: why recording stopped */
	uint64_t lost[8];	 /* by enum tape_loss */
	uint64_t recorder_bytes; /* private memory mapped by the recorder, chunks not included */
	uint64_t recorder_ticks; /* clock ticks spent on slow paths (unshifted) */
	uint64_t exit_ticks;
	uint32_t sealed_max;   /* uncollected slots beyond which the recorder waits */
	uint32_t slots_ready;  /* of chunk_count; the others have no blocks in the file yet */
	uint32_t slots_wanted; /* the recorder wants more than that */
	uint32_t in_parts;     /* chunks are collected in parts: see tape_taken */
	uint32_t no_wakes;     /* nonzero: the recorder cannot wake anyone (a sandbox); poll */
	uint32_t exec_state;   /* of tape_exec.h; futex of the recorder */
	uint32_t exec_left;    /* of tape_exec.h: about an exec in progress */
	uint32_t no_calls;     /* nonzero: the collector saw a filter; make no system calls */
	uint32_t filter_count; /* filters that the process had when the recorder began */
	uint32_t looks_wanted; /* at stacks; bumped by the recorder, before its process ends */
	uint32_t looks_done;   /* as many as were wanted; futex of the recorder */
	uint32_t stack_count;  /* entries of the board that were ever used */
	uint64_t stack_board;  /* stack_board.h: address in the recorder's process; 0: none */
	uint32_t scans_wanted, scans_done; /* leak scans, as its process ends; done is its futex */
	uint64_t scan_sp;		   /* of the thread that wants one, outside the recorder */
	uint32_t scan_tid;		   /* that thread; 0: none wants one */
	uint32_t paused;     /* enum tape_pause; the recorder reads it at every event */
	uint32_t scan_asks;  /* nonzero: a collector makes leak scans that others ask for */
	uint32_t scan_child; /* a followed process wants one at its end; 0: none does */
	uint32_t snapshots_wanted, snapshots_done; /* of the program: memtape_snapshot() */
	uint32_t asked_scans, asked_done; /* the same: memtape_leak_scan(); done is its futex */
	uint32_t asked_failed;		  /* nonzero: the last of them could not be begun */
	uint32_t others_left, static_left, barred_left; /* programs that are not recorded, by why */
};

ARCH_LITTLE_BEGIN

/* What is left out while a recording is paused. Mappings and all other records go on. */
enum tape_pause {
	TAPE_PAUSE_NONE = 0,
	/* Allocations; frees and reallocs are recorded, so that what became of blocks is known. */
	TAPE_PAUSE_ALLOCATIONS = 1,
	TAPE_PAUSE_EVENTS = 2 /* all: there were no allocations yet */
};

static_assert(sizeof(struct tape_live) <= 256, "format");

/* Of TAPE_FLAG_LIVE_BIG <-> little-endian. */
void tape_live_swap(struct tape_live *live);

enum tape_recorder_state {
	TAPE_RECORDER_ABSENT = 0, /* spool never opened: static or setuid program */
	TAPE_RECORDER_RUNNING = 1,
	TAPE_RECORDER_ENDED = 2,  /* process ran its exit handlers */
	TAPE_RECORDER_STOPPED = 3 /* gave up, see fault; or was let go */
};

enum tape_collector_state {
	TAPE_COLLECTOR_NONE = 0,
	TAPE_COLLECTOR_RUNNING = 1,
	TAPE_COLLECTOR_GONE = 2
};

enum tape_loss {
	TAPE_LOST_NO_SPACE = 0,	       /* no chunk was available */
	TAPE_LOST_NESTED = 1,	       /* signal handlers nested deeper than lanes */
	TAPE_LOST_NO_THREAD = 2,       /* no memory for a thread's state */
	TAPE_LOST_STARTUP = 3,	       /* before the recorder was ready */
	TAPE_LOST_TRUNCATED = 4,       /* stacks cut short (the event itself is recorded) */
	TAPE_LOST_STOPPED = 5,	       /* after recording stopped on a fault; a lower bound */
	TAPE_SELFCHECKS = 6,	       /* not a loss: stacks walked twice (MEMTAPE_SELFCHECK=1) */
	TAPE_SELFCHECK_DIFFERENCES = 7 /* of these, how many differed: 0, or memtape has a bug */
};

enum tape_fault {
	TAPE_FAULT_NONE = 0,
	TAPE_FAULT_OPEN = 1,
	TAPE_FAULT_SPACE = 2,	  /* disk full, quota or RLIMIT_FSIZE */
	TAPE_FAULT_MAP = 3,	  /* address space exhausted */
	TAPE_FAULT_COLLECTOR = 4, /* the collector disappeared or stalled, with an unnamed spool */
	TAPE_FAULT_KILLED = 5,	  /* the collector was killed, according to the tape's reader */
	TAPE_FAULT_SANDBOX = 6	  /* no more slots, and the program forbids system calls */
};

enum tape_codec {
	TAPE_CODEC_RAW = 0,    /* records, then nodes in memory order (last defined first) */
	TAPE_CODEC_COLUMNS = 2 /* columns, each compressed with zstd (capture/pack.c) */
};

enum tape_chunk_state {
	TAPE_CHUNK_FREE = 0, /* slot not in use (raw) */
	TAPE_CHUNK_OPEN = 1, /* being written: valid up to used / node_count */
	TAPE_CHUNK_SEALED = 2
};

struct tape_chunk {
	uint32_t magic; /* TAPE_CHUNK_MAGIC */
	uint16_t header_bytes;
	uint8_t codec;
	uint8_t flags;	       /* enum tape_chunk_flag */
	uint32_t state;	       /* enum tape_chunk_state; a slot changes owner through it */
	uint32_t stream;       /* id of the stream, unique in the tape */
	uint32_t seq;	       /* counts the chunks of the stream from 0 */
	uint32_t used;	       /* bytes of records, decoded, from the end of this header */
	uint32_t node_count;   /* nodes defined here */
	uint32_t first_node;   /* id of the first of them */
	uint64_t begin_ticks;  /* the first record's time is relative to this */
	uint64_t event_count;  /* sealed chunks: allocation and free records in it */
	uint64_t checksum;     /* packed: hash_bytes of header (this field 0) and payload */
	uint32_t stored_bytes; /* packed: bytes of payload that follow the header */
	uint32_t oldest_node;  /* none before it is named here or later; 0: not known */
};

enum tape_chunk_flag {
	/* Nothing is missing between it and the chunk before, whatever the numbers: edit.h */
	TAPE_CHUNK_JUMP = 1 << 0
};

/*
 * One frame of a stack: "called from pc, below the stack `parent`". Node ids of a stream are given
 * in the order of definition from TAPE_NODE_FIRST on. Equal (parent, pc) may be defined more than
 * once: the reader merges them. Node i of a chunk is at chunk end - (i + 1) * sizeof(node).
 */
struct tape_node {
	uint32_t parent;
	uint32_t pc_low;
	uint32_t pc_high; /* bits 32-47 of the pc in 0-15; enum tape_node_flag above */
};

enum {
	TAPE_NODE_ROOT = 0,	 /* the empty stack: its descendants are complete */
	TAPE_NODE_TRUNCATED = 1, /* root of stacks whose outer frames could not be found */
	TAPE_NODE_NONE = 2,	 /* no stack was recorded */
	TAPE_NODE_FIRST = 3
};

/* The pc is the interrupted instruction itself, not a return address (signal frame). */
enum tape_node_flag { TAPE_NODE_EXACT = 1u << 31 };

static inline uint64_t tape_node_pc(const struct tape_node *node)
{
	return (uint64_t)(node->pc_high & 0xffff) << 32 | node->pc_low;
}

/*
 * The kind of an event. REALLOC_OUT and REALLOC_IN enclose a realloc of a live block: OUT is
 * written before the call with the old address, IN after it with the new one; when the call failed,
 * REALLOC_FAIL follows instead (address: the old block) and the old block stays; when it was called
 * with size 0 and freed the block, a FREE (TAPE_FN_REALLOC_FREE) of the old address follows. An OUT
 * at the end of a stream is a call that was still in progress: the old block counts as live.
 * Between OUT and IN of one stream there may be extended records but no other events.
 */
enum tape_event_class {
	TAPE_CLASS_ALLOC,
	TAPE_CLASS_FREE,
	TAPE_CLASS_REALLOC_OUT,
	TAPE_CLASS_REALLOC_IN,
	TAPE_CLASS_REALLOC_FAIL,
	TAPE_CLASS_LATENCY,
	TAPE_CLASS_EXTENDED,
	TAPE_CLASS_INVALID
};

enum tape_fn {
#define TAPE_FUNCTION(name, number, word, class, alignment) TAPE_FN_##name = number,
#include "tape/functions.def"
#undef TAPE_FUNCTION
	TAPE_FN_COUNT = 0
#define TAPE_FUNCTION(name, number, word, class, alignment) +1
#include "tape/functions.def"
#undef TAPE_FUNCTION
	,
	TAPE_FN_LATENCY = 62, /* not a function: the duration of the event before */
	TAPE_FN_EXTENDED = 63
};

/*
 * An extended record: a rare event with its own payload.
 *	u16 ctrl (low 6 bits TAPE_FN_EXTENDED, the rest the type), u16 0, u32 payload bytes,
 *	u64 absolute ticks (shifted), payload.
 * A reader skips types it does not know.
 */
enum { TAPE_EXTENDED_BYTES = 16 };

enum tape_extended {
	TAPE_EXT_PROCESS = 1,	     /* tape_process, then exe, cwd and argv, each NUL-terminated */
	TAPE_EXT_THREAD = 2,	     /* tape_thread + name: owner of the stream from here on */
	TAPE_EXT_THREAD_NAME = 3,    /* tape_thread + name */
	TAPE_EXT_THREAD_END = 4,     /* tape_thread */
	TAPE_EXT_CLOCK = 5,	     /* tape_clock_pair */
	TAPE_EXT_MODULE = 6,	     /* tape_module, build-id bytes, path */
	TAPE_EXT_MODULE_END = 7,     /* tape_module_end */
	TAPE_EXT_MMAP = 8,	     /* tape_map: address = result */
	TAPE_EXT_MUNMAP = 9,	     /* tape_map */
	TAPE_EXT_MREMAP = 10,	     /* tape_map: old_* set */
	TAPE_EXT_MPROTECT = 11,	     /* tape_map: prot */
	TAPE_EXT_MADVISE = 12,	     /* tape_map: flags = advice */
	TAPE_EXT_BRK = 13,	     /* tape_map: old_address, address = new break; sbrk too */
	TAPE_EXT_MALLOPT = 14,	     /* tape_setting: key, value, result */
	TAPE_EXT_MALLOC_TRIM = 15,   /* tape_setting: value = pad, result */
	TAPE_EXT_USAGE = 16,	     /* tape_usage */
	TAPE_EXT_FORK = 17,	     /* tape_fork */
	TAPE_EXT_EXEC = 18,	     /* tape_fork (pid 0), then path */
	TAPE_EXT_DLOPEN = 19,	     /* tape_fork (pid 0), then path; MODULE records follow */
	TAPE_EXT_LOST = 20,	     /* tape_lost */
	TAPE_EXT_FAULT = 21,	     /* tape_fault_record, then text */
	TAPE_EXT_RECORDER = 22,	     /* tape_recorder */
	TAPE_EXT_END = 23,	     /* tape_end */
	TAPE_EXT_MARK = 24,	     /* tape_mark, then text */
	TAPE_EXT_THREAD_CREATE = 25, /* tape_thread_create, on the creating thread */
	TAPE_EXT_SPACE = 26,	     /* tape_space + lines: part of a snapshot of the mappings */
	TAPE_EXT_SYMBOLS = 27,	     /* tape_symbols + bytes: part of the names embedded later */
	TAPE_EXT_STACK_DEPTH = 28,   /* tape_stack_depth, of the stream's thread from here on */
	TAPE_EXT_CALLS = 29,	     /* tape_calls, at the end of the payload */
	TAPE_EXT_CALL_SIZES = 30,    /* tape_call_sizes */
	TAPE_EXT_IMPORT = 31,	     /* tape_import, then text: converted from another file */
	TAPE_EXT_STRIPPED = 32,	     /* empty: allocations of the stream were left out here */
	TAPE_EXT_EDIT = 33,	     /* tape_edit, then text: made from another tape */
	TAPE_EXT_STACK_USE = 34,     /* tape_stack_use, of the thread that it names */
	TAPE_EXT_THREAD_BIRTH = 35,  /* tape_thread_birth, on the thread, after its THREAD */
	TAPE_EXT_BEFORE = 36,	     /* tape_before, then the name of a program before an exec */
	TAPE_EXT_ALLOCATOR = 37,     /* tape_allocator, then text: its calls are recorded, too */
	TAPE_EXT_SCAN_BEGIN = 38,    /* tape_scan_begin: the moment of a leak scan */
	TAPE_EXT_SCAN = 39,	     /* tape_scan_part + bytes: part of a leak scan's result */
	TAPE_EXT_TOUCHED = 40,	     /* tape_touched + lines: part of a look at touched pages */
	TAPE_EXT_ATTACHED = 41,	     /* tape_attached + text: recording began while it ran */
	TAPE_EXT_PAUSE = 42,	     /* tape_paused: allocations are recorded no more, or again */
	TAPE_EXT_TAG = 43,	     /* tape_tag, then text: of the stream's thread from here on */
	TAPE_EXT_POOL = 44,	     /* tape_pool, by `what` only its beginning; then text */
	TAPE_EXT_KERNEL = 48,	     /* tape_kernel: what the kernel did for the program */
	TAPE_EXT_KERNEL_COUNT = 49,  /* tape_kernel_count: how often, in all */
	TAPE_EXT_ROTATED = 52,	     /* tape_rotated: older detail was left out while recording */
	TAPE_EXT_SYSTEM = 53,	     /* tape_system: how the system is off for memory */
	TAPE_EXT_CGROUP = 54,	     /* tape_cgroup, then its name: of the next SYSTEM records */
	TAPE_EXT_MEMBER = 56,	     /* tape_member, then lines: a process of a session */
	TAPE_EXT_MEMBER_SUMS = 57,   /* tape_member_sums */
	TAPE_EXT_NODE_USE = 58,	     /* tape_node_use + lines: where memory is, of NUMA nodes */
	TAPE_EXT_HUGE_LOST = 59,     /* tape_huge_lost: an estimate of huge pages that were split */
	TAPE_EXT_MEMBER_USAGE = 60   /* tape_member_usage */
};

struct tape_process {
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t argc;
	uint32_t page_bytes;
};

struct tape_thread {
	uint32_t tid;
	uint32_t lane;	 /* 0: the thread itself; 1: its signal handlers that ran inside a hook; */
			 /* 2, with a name: of the program itself, which others do not replace */
	uint64_t handle; /* its pthread_t */
};

struct tape_thread_create {
	uint64_t handle; /* the thread's, or its number where is_birth is 1 */
	uint32_t node, is_birth;
};

struct tape_clock_pair {
	uint64_t raw_ticks; /* unshifted */
	uint64_t monotonic_ns;
	uint64_t realtime_ns;
};

/* A loaded object, valid from this record's time to its MODULE_END. pc - bias = ELF address. */
struct tape_module {
	uint32_t id;
	uint32_t build_id_bytes;
	uint64_t bias;
	uint64_t begin; /* lowest mapped address */
	uint64_t end;	/* one past the highest */
};

struct tape_module_end {
	uint32_t id;
	uint32_t reserved;
};

struct tape_map {
	uint64_t address; /* UINT64_MAX: the call failed */
	uint64_t bytes;
	uint64_t old_address;
	uint64_t old_bytes;
	uint64_t offset;
	int32_t prot;
	int32_t flags;
	int32_t fd;
	uint32_t node;
};

struct tape_setting {
	int64_t key;
	int64_t value;
	int64_t result;
	uint32_t node;
	uint32_t reserved;
};

/*
 * A part of a snapshot of the address space, as the kernel shows it. Each line that follows
 * describes a range from now on, whatever it was before; other ranges are unchanged.
 *
 *	BEGIN END PERMS MARKS RSS ANON SWAP RUNS NAME		in "rw-p" form, addresses in hex
 *	BEGIN END -						no longer mapped
 *
 * RSS, ANON (of RSS: private memory, also of files) and SWAP are KiB. MARKS are letters: n
 * no-reserve, d not in core dumps, w wiped in forked children, g grows down; "-": none. RUNS are
 * counts of pages in hex, "resident,absent,resident...", from BEGIN on, the rest of them absent; in
 * between, and not counting in that turn, "Ns": swapped out, "Nz": only read, the zero page.
 * "-": not examined. NAME, to the end of the line, may be empty.
 */
struct tape_space {
	uint64_t begin_ticks; /* shifted, before the kernel was read; the record's time is after */
	uint32_t part;	      /* counts the records of a snapshot from 0 */
	uint32_t flags;	      /* enum tape_space_flag */
};

enum tape_space_flag {
	TAPE_SPACE_WHOLE = 1 << 0, /* whatever the snapshot does not list is not mapped */
	TAPE_SPACE_LAST = 1 << 1   /* last part: the snapshot is complete */
};

struct tape_fork {
	uint32_t pid;
	uint32_t node;
};

struct tape_lost {
	uint64_t lost[8]; /* by enum tape_loss; totals, not increments */
};

struct tape_fault_record {
	uint32_t fault; /* enum tape_fault */
	int32_t error;	/* errno or 0 */
};

struct tape_recorder {
	uint64_t private_bytes; /* mapped by the recorder besides chunks */
	uint64_t chunk_bytes;	/* peak number of chunks it held */
	uint64_t slow_ns;	/* time on slow paths: tables, chunks, start */
	uint64_t collector_cpu_ns;
};

enum tape_end_kind {
	TAPE_END_UNKNOWN = 0,
	TAPE_END_EXIT = 1,
	TAPE_END_SIGNAL = 2,
	TAPE_END_RUNNING = 3,
	TAPE_END_EXEC = 4
};

struct tape_end {
	uint32_t kind;	/* enum tape_end_kind */
	int32_t status; /* exit code or signal number */
};

struct tape_mark {
	uint32_t kind;
	uint32_t node;
};

/* From where the thread's stack began to the caller of the next event; changes of 1 KiB or more. */
struct tape_stack_depth {
	uint64_t bytes;
};

struct tape_symbols {
	uint64_t total_bytes; /* of all parts together */
	uint64_t offset;      /* of this part; parts follow each other */
};

/* Several in a row may say the same. */
struct tape_paused {
	uint32_t is_paused; /* from here on: 1, or 0: it is recorded again */
	uint32_t by;	    /* enum tape_paused_by */
};

enum tape_paused_by {
	TAPE_PAUSED_START = 0,	 /* it began paused */
	TAPE_PAUSED_PROGRAM = 1, /* the program itself: memtape_pause(), memtape_resume() */
	TAPE_PAUSED_SIGNAL = 2,	 /* a signal that the program got */
	TAPE_PAUSED_CONTROL = 3, /* memtape ctl */
	TAPE_PAUSED_TIME = 4	 /* --delay */
};

struct tape_tag {
	uint32_t is_set; /* 0: it has none from here on */
	uint32_t reserved;
};

static_assert(sizeof(struct tape_header) == 512, "format");
static_assert(sizeof(struct tape_chunk) == 64, "format");
static_assert(sizeof(struct tape_node) == 12 && sizeof(struct tape_module) == 32, "format");
static_assert(sizeof(struct tape_map) == 56 && sizeof(struct tape_space) == 16, "format");
static_assert(sizeof(struct tape_paused) == 8 && sizeof(struct tape_tag) == 8, "format");

/* Name of a function as the user wrote it, "operator new[]" ...; NULL for unknown numbers. */
const char *tape_fn_name(enum tape_fn fn);
enum tape_event_class tape_fn_class(enum tape_fn fn);

ARCH_LITTLE_END

#endif
