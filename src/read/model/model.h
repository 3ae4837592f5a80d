/*
 * model: a tape as an immutable set of columns and sums, ready for queries.
 *
 *	CLEAN(model_destroy) struct model *model = NULL;
 *	struct err *err = model_load(path, MODEL_SUMMARY, &model);
 *
 * Two depths: MODEL_SUMMARY keeps sums (totals, per stack, per thread, per function, by size, over
 * time), which take one pass and memory for what was live at once; MODEL_FULL keeps a row for every
 * allocation as well, in an index: a file beside the tape, which is made when it is first needed
 * and mapped from then on. Everything that exists in both is equal in both.
 *
 * Units: sizes in bytes, times in nanoseconds since recording began, ids are indices from 0. A
 * loaded model never changes: any thread may read it. All returned pointers live as long as it.
 *
 * What counts: an allocation is a call that returned a block; a successful realloc is one, and a
 * free (of its old block). Live and peak are sums of *requested* bytes. A temporary allocation is
 * one freed, by whomever, before its thread allocated again.
 */
#ifndef MEMTAPE_MODEL_MODEL_H
#define MEMTAPE_MODEL_MODEL_H

#include "capture/capture.h"
#include "model/latency.h"
#include "model/note.h"
#include "model/sum.h"

enum model_depth { MODEL_SUMMARY, MODEL_FULL };

/* What its allocations are: blocks of the heap, or objects of pools (pool.h). Nothing is both. */
enum model_subject { MODEL_OF_HEAP, MODEL_OF_POOLS };

struct model;

/*
 * A fresh existing index is used at both depths. Otherwise MODEL_FULL makes one, and leaves it
 * beside the tape (or in the user's cache folder) if the tape is large and complete.
 */
struct err *model_load(const char *path, enum model_depth depth, struct model **model_ret);

enum model_index {
	MODEL_INDEX_AUTO, /* as model_load */
	MODEL_INDEX_NONE, /* none is used and none is written */
	MODEL_INDEX_USE,  /* a fresh one is used, and none is left behind */
	MODEL_INDEX_KEEP, /* one is written, or it is an error; a fresh one is used */
	MODEL_INDEX_ANEW  /* the same, and an existing one is replaced */
};

/* An index before it is written. */
struct model_index_plan {
	const char *path;    /* where it will be left if there is room */
	uint64_t bytes;	     /* an estimate; it may be half as large */
	uint64_t free_bytes; /* on that disk */
};

struct model_settings {
	enum model_subject subject;
	enum model_index index;
	uint64_t memory_bytes; /* approximate, while an index is built; 0: 1 GiB */
	/* Called from time to time during replay, on the calling thread; events. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *progress_context;
	/*
	 * Called once before an index is left behind that was not asked for (MODEL_INDEX_AUTO) and is large:
	 * a GiB, or a tenth of what is free. On the calling thread; may be NULL.
	 */
	void (*announce)(const void *context, const struct model_index_plan *plan);
	const void *announce_context;
	const bool *cancel; /* read atomically; ERR_STATE once it is set. NULL: never */
};

struct err *model_load_with(const char *path, enum model_depth depth,
			    const struct model_settings *settings, struct model **model_ret);

/* Path of the model's index; NULL: it has none, or an unnamed one. */
const char *model_index_path(const struct model *model);
uint64_t model_index_bytes(const struct model *model); /* 0: none */
bool model_index_is_new(const struct model *model);    /* made by this model_load */

/* The model of an open capture, which is only read here and need not outlive the model. */
struct err *model_load_capture(const struct capture *capture, enum model_depth depth,
			       struct model **model_ret);
void model_destroy(struct model *model); /* NULL is fine */
CLEAN_DEFINE(model_destroy, struct model *);

static const uint64_t MODEL_NEVER = UINT64_MAX; /* the event never happened */
enum { MODEL_NO_THREAD = UINT32_MAX };

/* --- the process ------------------------------------------------------------------------- */

struct model_process {
	uint32_t pid;
	uint32_t parent_pid;
	const char *exe; /* "" if unknown */
	const char *cwd;
	const char *const *argv; /* NULL-terminated */
	uint32_t argc;
	uint32_t page_bytes;
	uint16_t elf_machine;
	uint16_t pointer_bytes;
	uint32_t flags;		     /* enum tape_header_flag: stacks recorded, forked, attached */
	uint64_t start_realtime_ns;  /* since 1970 */
	uint64_t start_monotonic_ns; /* CLOCK_MONOTONIC at time 0 */
	uint64_t duration_ns;	     /* from the beginning of recording to its last record */
	enum tape_end_kind end_kind;
	int32_t end_status; /* exit code or signal number */
	uint8_t uuid[TAPE_UUID_BYTES];
	uint8_t parent_uuid[TAPE_UUID_BYTES];
	bool clock_is_estimated; /* too few clock readings on the tape: times are estimates */
};

const struct model_process *model_process(const struct model *model);

/* --- sums -------------------------------------------------------------------------------- */

struct model_totals {
	struct model_sum allocated; /* requested bytes */
	struct model_sum freed;	    /* blocks known to have been allocated before */
	struct model_sum leaked;    /* live at the end */
	struct model_sum temporary;
	struct model_sum peak; /* live when live bytes were highest (the first such moment) */
	uint64_t peak_ns;
	uint64_t usable_bytes; /* of all allocations */
	uint64_t leaked_usable_bytes;
	uint64_t realloc_count;	     /* successful, of a live block; in allocated and freed too */
	uint64_t failed_count;	     /* calls that returned no block */
	uint64_t unknown_free_count; /* of blocks never seen allocated (inherited, or lost) */
	uint64_t lost_free_count;    /* blocks freed unseen: their address was reused */
	uint64_t free_null_count;    /* free(NULL) that were recorded */
	uint64_t event_count;	     /* allocations and frees read, failed ones included */
	uint64_t truncated_stack_count; /* events whose stack is incomplete */
	uint64_t no_stack_count;	/* events without a stack, though stacks were requested */
};

const struct model_totals *model_totals(const struct model *model);

/* By the function called, "malloc", "operator new" ...; model_function_count() == TAPE_FN_COUNT. */
struct model_function {
	uint64_t calls; /* all of them; for frees too */
	uint64_t bytes; /* requested, successful calls; for frees the bytes given back */
	uint64_t failed;
};

/* By enum tape_fn; the OUT / IN / FAIL halves of a realloc are summed at the _IN number. */
const struct model_function *model_functions(const struct model *model);

/*
 * Durations of calls: by enum tape_fn, reallocs at the _IN number, failed calls too. NULL: not
 * recorded (TAPE_FLAG_LATENCY).
 */
const struct model_latency *model_latencies(const struct model *model);

/* The same by the stack of the call, which allocated or freed; by stack id, or NULL. */
const struct model_stack_latency *model_stack_latencies(const struct model *model);

/* By size: bucket 0 is 0 bytes, bucket i is 2^(i-1) .. 2^i - 1 bytes. */
enum { MODEL_SIZE_BUCKETS = 65 };
struct model_size_bucket {
	struct model_sum allocated;
	struct model_sum peak;
	struct model_sum leaked;
	struct model_sum temporary;
};
const struct model_size_bucket *model_size_buckets(const struct model *model);

/* --- stacks ------------------------------------------------------------------------------ */

/* Ids 0 .. count - 1. Special ids and parents: capture/stacks.h. parent id < id. */
size_t model_stack_count(const struct model *model);
const struct capture_stack *model_stacks(const struct model *model); /* by id */

/*
 * When a stack whose innermost address was outside of every module was first seen: such code may
 * become other code. 0 for all others.
 */
uint64_t model_stack_first_ns(const struct model *model, uint32_t stack);

/* Allocations with exactly this stack (not with its descendants). */
struct model_by_stack model_sums_by_stack(const struct model *model);
const struct model_stack_sums *model_stack_sums(const struct model *model, size_t stack);

/*
 * The stacks as a tree: the first child of each stack and its next sibling; 0: none. Ids increase
 * along the siblings. Values from an index are checked when they are followed: model_stack_child.
 */
struct model_stack_link {
	uint32_t first_child;
	uint32_t next_sibling;
};

/* By stack id; NULL: a model without rows, model_stack_links_make. */
const struct model_stack_link *model_stack_links(const struct model *model);
void model_stack_links_make(const struct capture_stack *stacks, size_t count,
			    struct model_stack_link *links);

/* The child after `child` of `stack` (child 0: the first); 0: no more. */
static inline uint32_t model_stack_child(const struct capture_stack *stacks, size_t count,
					 const struct model_stack_link *links, uint32_t stack,
					 uint32_t child)
{
	const uint32_t next = child ? links[child].next_sibling : links[stack].first_child;

	return next > child && next < count && stacks[next].parent == stack ? next : 0;
}

/*
 * By stack id, allocations with a stack and its descendants; and *used, how many of these stacks
 * have a nonzero value of each number. NULL: a model without rows.
 */
const struct model_stack_sums *model_stack_totals(const struct model *model,
						  struct model_stack_sums *used_ret);

/* The same of other sums by stack; totals begins as a copy of them. */
void model_stack_totals_make(const struct capture_stack *stacks, size_t count,
			     struct model_stack_sums *totals, struct model_stack_sums *used_ret);

/* Usable bytes of all allocations with a stack, by stack id. NULL: a model without rows. */
const uint64_t *model_stack_usables(const struct model *model);

/* Whether live blocks at the peak are those at its peak_ns: it was its nanosecond's last event. */
bool model_peak_is_moment(const struct model *model);

size_t model_module_count(const struct model *model);
const struct capture_module *model_module(const struct model *model, size_t module);
/* The file that a module's path, a link by which it was run, then led to; NULL: it is no link. */
const char *model_linked(const struct model *model, const char *path);

/* --- threads ----------------------------------------------------------------------------- */

/* How deep a thread's stack was used, and how that is known. */
enum model_stack_known {
	MODEL_STACK_UNKNOWN,
	MODEL_STACK_EVENTS, /* lower bound: usually to the deepest recorded call */
	MODEL_STACK_PAGES   /* to the lowest page that the thread touched: exact within a page */
};

struct model_stack_use {
	uint64_t reserved_bytes; /* MODEL_BYTES_UNKNOWN: also if unlimited */
	uint64_t used_bytes;	 /* MODEL_BYTES_UNKNOWN */
	uint64_t known;		 /* enum model_stack_known, of used_bytes */
};

static const uint64_t MODEL_BYTES_UNKNOWN = UINT64_MAX; /* the same as MODEL_NEVER */

/* "events", "pages"; NULL: not known. */
const char *model_stack_known_word(const struct model_stack_use *use);

struct model_thread {
	uint32_t tid;
	const char *name; /* the last one; "" if unknown */
	uint64_t handle;  /* its pthread_t, an address in its stack's mapping; 0: not known */
	uint64_t begin_ns;
	uint64_t end_ns; /* MODEL_NEVER: ran to the end */
	struct model_sum allocated;
	struct model_sum leaked; /* of what it allocated */
	struct model_sum peak;	 /* of what it allocated, at the global peak */
	struct model_sum temporary;
	uint64_t free_count;	     /* by it, of any thread's blocks */
	uint64_t foreign_free_count; /* of them: blocks that another thread had allocated */
	uint32_t creator;	     /* MODEL_NO_THREAD: unknown */
	uint32_t create_stack;	     /* CAPTURE_STACK_NONE: unknown */
	struct model_stack_use stack_use;
};

size_t model_thread_count(const struct model *model);
const struct model_thread *model_thread(const struct model *model, size_t thread);

/* How many the program had: without the one that stands for blocks from before an attach. */
bool model_thread_is_real(const struct model *model, const struct model_thread *thread);
size_t model_real_thread_count(const struct model *model);

/* --- allocations (MODEL_FULL only, else there are no rows) ----------------------------------- */

/*
 * A row is one allocation; rows are numbered from 0 in the order of allocation time (then of the
 * tape). The storage of columns is internal: values are read in batches, widened to 64 bits.
 * Reading is thread-safe.
 */
enum model_column {
	MODEL_ADDRESS,
	MODEL_SIZE,   /* requested, bytes */
	MODEL_USABLE, /* bytes */
	MODEL_ALLOC_NS,
	MODEL_FREE_NS, /* MODEL_NEVER: live at the end */
	MODEL_THREAD,
	MODEL_FREE_THREAD, /* MODEL_NO_THREAD: never freed, or freeing thread unknown */
	MODEL_STACK,
	MODEL_FREE_STACK,   /* CAPTURE_STACK_NONE: never freed, or not recorded */
	MODEL_REALLOC_OF,   /* the row that it continues; MODEL_NO_ROW */
	MODEL_CHAIN,	    /* the realloc chain it is in; MODEL_NO_CHAIN: never realloc'ed */
	MODEL_FN,	    /* enum tape_fn */
	MODEL_FREE_FN,	    /* enum tape_fn; TAPE_FN_EXTENDED: never freed, or unseen */
	MODEL_FLAGS,	    /* enum model_allocation_flag */
	MODEL_LATENCY,	    /* ns that the allocating call took; MODEL_NEVER: unknown */
	MODEL_FREE_LATENCY, /* the same of the freeing call; of a realloc it is the new block's */
	MODEL_POOL	    /* of pool.h; MODEL_NO_POOL: a block of the heap */
};

enum {
	MODEL_COLUMNS = MODEL_POOL + 1,
	MODEL_BATCH = 1024 /* a good batch size for reading rows */
};

static const uint64_t MODEL_NO_ROW = UINT64_MAX;
static const uint64_t MODEL_NO_CHAIN = UINT64_MAX;

enum model_allocation_flag {
	MODEL_ALLOCATION_TEMPORARY = 1 << 0,
	MODEL_ALLOCATION_PEAK = 1 << 1,	     /* live at the peak */
	MODEL_ALLOCATION_LOST_FREE = 1 << 2, /* free not seen; free_ns: the address was reused */
	MODEL_ALLOCATION_REALLOCED = 1 << 3, /* ended by a realloc, which continues it */
	/* Never freed; free_ns: its process ended, on a tape of several. See model_has_left. */
	MODEL_ALLOCATION_LEFT = 1 << 4
};

/* Whether allocations may have ended with their process. */
bool model_has_left(const struct model *model);

/* Whether an allocation was never freed, by its free_ns and its flags. */
static inline bool model_never_freed(uint64_t free_ns, uint64_t flags)
{
	return free_ns == MODEL_NEVER || (flags & MODEL_ALLOCATION_LEFT);
}

uint64_t model_row_count(const struct model *model);

/* Values of rows first .. first + count - 1, which exist, to values[0 .. count - 1]. */
void model_rows_read(const struct model *model, enum model_column column, uint64_t first,
		     size_t count, uint64_t *values);

/* The same of any rows in any order. */
void model_rows_gather(const struct model *model, enum model_column column, const uint64_t *rows,
		       size_t count, uint64_t *values);

/* Of one row. */
uint64_t model_row_value(const struct model *model, enum model_column column, uint64_t row);

/* Rows of a segment have close times; a filter may skip segments by their bounds. */
enum { MODEL_SEGMENT = 1 << 16 };

struct model_bounds {
	uint64_t min;
	uint64_t max;
};

/*
 * Of the segment's values; false: unknown for this column, read the rows. Special values (never,
 * none) count as the large numbers they are.
 */
bool model_segment_bounds(const struct model *model, enum model_column column, uint64_t segment,
			  struct model_bounds *bounds_ret);

/* The first row allocated at ns or later; the number of rows if there is none. */
uint64_t model_row_at(const struct model *model, uint64_t ns);

/* Frees in order of time: the row that each of them ended. */
uint64_t model_free_count(const struct model *model);
void model_frees_read(const struct model *model, uint64_t first, size_t count, uint64_t *rows);
/* Of the same frees, their times and the sizes of the blocks. */
void model_frees_read_events(const struct model *model, uint64_t first, size_t count, uint64_t *ns,
			     uint64_t *bytes);
uint64_t model_free_at(const struct model *model, uint64_t ns); /* the first at ns or later */

/* A block and its reallocs, one row after the other. */
struct model_chain {
	uint64_t first_row;
	uint64_t last_row;
	uint64_t length; /* rows, at least 2 */
};

uint64_t model_chain_count(const struct model *model);
struct model_chain model_chain_get(const struct model *model, uint64_t chain);

/*
 * State of each stack at a moment: everything at times < ns. The difference of two moments is what
 * happened between them. By stack id, model_stack_count() of them.
 */
struct model_stack_moment {
	struct model_sum allocated; /* since the beginning */
	struct model_sum freed;	    /* of what this stack allocated; live = allocated - freed */
	struct model_sum temporary; /* of the freed */
	uint64_t freed_usable;
	uint64_t allocated_usable;
};

/* moments: room for model_stack_count(), uninitialised. */
void model_stack_moments(const struct model *model, uint64_t ns,
			 struct model_stack_moment *moments);

/* The difference of two moments (from_ns <= until_ns) at about the price of one. */
void model_stack_moments_between(const struct model *model, uint64_t from_ns, uint64_t until_ns,
				 struct model_stack_moment *moments);

/* --- frees of no block ------------------------------------------------------------------- */

/*
 * Frees of an address without a live block, in order of time: the first of the totals'
 * unknown_free_count. Rows below row_count had been allocated by then. is_last: its thread neither
 * allocated nor freed again.
 */
enum { MODEL_STRAY_FREES_MAX = 4096 };

struct model_stray_free {
	uint64_t ns;
	uint64_t address;
	uint64_t row_count;
	uint32_t stack; /* CAPTURE_STACK_NONE: not recorded */
	uint32_t thread;
	uint32_t fn; /* enum tape_fn */
	uint32_t is_last;
};

size_t model_stray_free_count(const struct model *model);
const struct model_stray_free *model_stray_frees(const struct model *model);

/* --- over time --------------------------------------------------------------------------- */

/* Equal spans of time from 0 to the end, at most MODEL_TIMELINE_MAX. */
enum { MODEL_TIMELINE_MAX = 1024 };
struct model_timeline_span {
	uint64_t begin_ns;
	uint64_t live_bytes_max;
	uint64_t live_bytes_end;
	uint64_t live_count_end;
	struct model_sum allocated; /* in this span */
	uint64_t free_count;
};

size_t model_timeline_count(const struct model *model);
const struct model_timeline_span *model_timeline(const struct model *model);

/*
 * The same of any time from `from` to before `until` in point_count equal spans (point_count is not
 * 0, from <= until). Without rows, times are rounded to one of some 65,536 parts of the run; with
 * rows it is exact, except that of a block freed and another allocated in the same nanosecond the
 * free counts as first; frees of unknown blocks are not counted.
 */
void model_timeline_window(const struct model *model, uint64_t from, uint64_t until,
			   size_t point_count, struct model_timeline_span *spans);

/*
 * The moment of such a span when most was live, the first such: after row_count allocations, and
 * all frees at gone_ns and before. Needs rows.
 */
struct model_peak {
	uint64_t bytes;
	uint64_t row_count;
	uint64_t gone_ns;
	bool is_begin; /* at the start of the span: then gone_ns is just before */
};

void model_timeline_peaks(const struct model *model, uint64_t from, uint64_t until,
			  size_t point_count, struct model_peak *peaks);

struct model_usage {
	uint64_t ns;
	struct tape_usage usage; /* UINT64_MAX: unknown */
};

size_t model_usage_count(const struct model *model);
const struct model_usage *model_usages(const struct model *model);

/* The first of those from from_ns to until_ns with the most resident bytes; NULL: none is known. */
const struct model_usage *model_rss_peak(const struct model *model, uint64_t from_ns,
					 uint64_t until_ns);

/* Of the machine, and of the process's cgroup. */
struct model_system {
	uint64_t ns;
	struct tape_system system;
};

size_t model_system_count(const struct model *model);
const struct model_system *model_systems(const struct model *model);

/* --- the quality of the tape ---------------------------------------------------------------- */

struct model_quality {
	uint64_t lost[8];     /* by enum tape_loss */
	uint64_t lost_events; /* those of them that are events not recorded */
	uint64_t missing_chunk_count;
	uint64_t damage_count; /* model_damage_count() */
	enum tape_fault fault;
	int32_t fault_errno;
	const char *fault_text; /* "" if there was no fault */
	bool has_recorder;	/* the following numbers are on the tape */
	struct tape_recorder recorder;
	uint64_t tape_bytes;
	uint64_t chunk_count;
};

const struct model_quality *model_quality(const struct model *model);
size_t model_damage_count(const struct model *model);
const struct capture_damage *model_damage(const struct model *model, size_t index);

/* --- clock ------------------------------------------------------------------------------- */
/* Times of modules and of capture events, as on the tape, in nanoseconds since the beginning. */
uint64_t model_ns(const struct model *model, uint64_t ticks);

#endif
