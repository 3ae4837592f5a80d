/*
 * compose: turns a stream of facts recorded by another tool into a packed tape.
 *
 * A reader of a format (convert/importer.h) adds what it finds, in the order in which it happened:
 *
 *	module = composer_module(composer, &(struct compose_module) { .path = "/usr/bin/x" });
 *	frame = composer_frame(composer, &(struct compose_frame) { .module = module,
 *				.names = &(struct compose_name) { "main", "x.c", 12 },
 *				.name_count = 1 });
 *	stack = composer_stack(composer, COMPOSE_ROOT, frame);
 *	composer_time(composer, 10 * 1000000);
 *	composer_allocated(composer, &(struct compose_block) { .address = 0x1000, .size = 24,
 *				.usable = 24, .stack = stack });
 *	composer_freed(composer, TAPE_FN_FREE, 0x1000, COMPOSE_NO_STACK);
 *
 * Facts that the format lacks are declared once (composer_missing) and left out: the tape is marked
 * accordingly.
 *
 * Failures stick: after one everything is a no-op, returned numbers are 0, and composer_failed is
 * true; the error itself is returned at the end. A reader checks composer_failed about once per
 * record. Texts are copied. Memory grows with distinct stacks and names, with live blocks without
 * addresses, and with threads up to a bound; never with the number of events.
 *
 * One thread at a time.
 */
#ifndef MEMTAPE_CONVERT_COMPOSE_H
#define MEMTAPE_CONVERT_COMPOSE_H

#include "base/err.h"
#include "tape/tape.h"
#include "tape/tape_import.h"
#include "tape/tape_kernel.h"

struct composer;

/* --- global facts: at any time ---------------------------------------------------------------- */

/* Facts that the source lacks: enum tape_missing, added to those declared before. */
void composer_missing(struct composer *composer, uint32_t missing);

/* The tool that wrote the source: "heaptrack 1.4.0". */
void composer_tool(struct composer *composer, const char *tool);

/*
 * A warning for readers of reports, one line: "the file ends in the middle of line 7: what is
 * before it is here". Some dozens are kept.
 */
void composer_note(struct composer *composer, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The source was not read completely; the last note says why. Called by source_torn. */
void composer_torn(struct composer *composer);

/* Zeros and NULL: unknown. */
struct compose_process {
	const char *exe;
	const char *cwd;
	const char *const *argv; /* argc strings */
	uint32_t argc;
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t page_bytes;
	uint16_t elf_machine;
	uint64_t start_realtime_ns; /* since 1970 */
};

void composer_process(struct composer *composer, const struct compose_process *process);

/* argv from one line, split at blanks: for sources that keep no more. */
void composer_command_line(struct composer *composer, const char *line);

/* --- stacks ----------------------------------------------------------------------------------- */

enum {
	COMPOSE_ROOT = TAPE_NODE_ROOT,		 /* the empty stack: caller of outermost frames */
	COMPOSE_TRUNCATED = TAPE_NODE_TRUNCATED, /* for stacks whose outer frames are unknown */
	COMPOSE_NO_STACK = TAPE_NODE_NONE,	 /* unknown stack */
	COMPOSE_NO_MODULE = 0,			 /* code not known to be in any object */
	COMPOSE_DEPTH_MAX = 4096
};

/* An object. begin == end: addresses unknown, so its frames need names. */
struct compose_module {
	const char *path;
	const uint8_t *build_id; /* build_id_bytes, may be 0 */
	size_t build_id_bytes;
	uint64_t begin;
	uint64_t end;
	uint64_t bias; /* address in the file = pc - bias */
};

/* Returns its number, from 1. Equal modules may be passed again at little cost. */
uint32_t composer_module(struct composer *composer, const struct compose_module *module);

struct compose_name {
	const char *function;
	const char *file; /* NULL: unknown */
	uint32_t line;	  /* 0: unknown */
	uint16_t column;  /* from 1; 0: unknown */
};

/*
 * A frame by address, by names, or both. names: innermost first, each inlined into the next, at
 * most 64. pc is a return address (just after the call) or, if `exact`, the instruction itself; 0:
 * unknown. Frames with names keep them wherever the tape is read; those without are looked up in
 * the module's file when the tape is read, as for any tape.
 */
struct compose_frame {
	uint32_t module;
	uint64_t pc;
	bool exact;
	const struct compose_name *names;
	size_t name_count;
};

/* Equal frames have equal numbers. */
uint32_t composer_frame(struct composer *composer, const struct compose_frame *frame);

/* The stack of frame called by the innermost frame of caller; equal stacks have equal numbers. */
uint32_t composer_stack(struct composer *composer, uint32_t caller, uint32_t frame);

/* --- time and thread of all following facts --------------------------------------------------- */

/*
 * Nanoseconds since recording began. Never goes back: an earlier time is replaced by the last one.
 * Events with equal times are spaced a nanosecond apart, which keeps their order.
 */
void composer_time(struct composer *composer, uint64_t ns);

/* tid 0, the initial value: unknown. name may be NULL. */
void composer_thread(struct composer *composer, uint32_t tid, const char *name);
void composer_thread_end(struct composer *composer, uint32_t tid);

/* --- blocks with addresses -------------------------------------------------------------------- */

struct compose_block {
	enum tape_fn fn; /* TAPE_FN_MALLOC (0) if unknown */
	uint64_t address;
	uint64_t size;
	uint64_t usable; /* = size if unknown */
	uint32_t stack;
};

void composer_allocated(struct composer *composer, const struct compose_block *block);
void composer_freed(struct composer *composer, enum tape_fn fn, uint64_t address, uint32_t stack);

/* block's fn is ignored. A realloc that freed its block and returned none is composer_freed. */
void composer_reallocated(struct composer *composer, uint64_t old_address,
			  const struct compose_block *block);

/* --- blocks without addresses: TAPE_MISSING_ADDRESSES ----------------------------------------- */

/*
 * Adds a block to a group, numbered freely by the caller; removes the group's youngest live block.
 * False: there is none. For sources that only know "one more" and "one less" of something.
 */
void composer_made(struct composer *composer, uint64_t group, uint64_t size, uint32_t stack);
bool composer_gone(struct composer *composer, uint64_t group);

/* Totals of a stack over the whole run, all at the current time. live <= allocated. */
struct compose_sum {
	uint64_t allocated_count; /* 0: unknown; one block represents them */
	uint64_t allocated_bytes;
	uint64_t live_count;
	uint64_t live_bytes;
	bool has_peak; /* set in all sums or none; composer_peak then gives its time */
	uint64_t peak_count;
	uint64_t peak_bytes;
};

/*
 * Written as blocks of average size, freed again unless live: counts and bytes add up exactly.
 * Blocks that stay come after all that go, at the end of the run, so the peak is what is live; with
 * has_peak it is what was alive at the peak, as much of which as possible is assumed to have
 * stayed. Marks sizes and lifetimes as missing, also counts if there are too many to write one by
 * one.
 */
void composer_sum(struct composer *composer, uint32_t stack, const struct compose_sum *sum);

/* Times of the sums' peak and of the end: current for what follows, and at composer_finish. */
void composer_peak(struct composer *composer, uint64_t peak_ns, uint64_t end_ns);

/*
 * A stack's live blocks at a moment; count 0: unknown. The stacks reported since the previous
 * moment are all there are: composer_moment applies them at the current time, those that shrank
 * first. Several calls for one stack add up.
 */
void composer_level(struct composer *composer, uint32_t stack, uint64_t count, uint64_t bytes);
void composer_moment(struct composer *composer);

/* --- the rest --------------------------------------------------------------------------------- */

/* Unknown fields are UINT64_MAX. */
void composer_usage(struct composer *composer, const struct tape_usage *usage);

/* type: TAPE_EXT_MMAP to TAPE_EXT_BRK; the map's node is ignored, stack is used. */
void composer_map(struct composer *composer, enum tape_extended type, const struct tape_map *map,
		  uint32_t stack);

/* Of the current thread; the event's node is ignored, stack is used. */
void composer_kernel(struct composer *composer, const struct tape_kernel *event, uint32_t stack);
void composer_kernel_count(struct composer *composer, const struct tape_kernel_count *count);

void composer_mark(struct composer *composer, const char *text);

/* How the process ended, if known; the run lasts until the current time in any case. */
void composer_end(struct composer *composer, enum tape_end_kind kind, int32_t status);

/* A tape without any event is fine, too. */
void composer_allow_empty(struct composer *composer);

bool composer_failed(const struct composer *composer);

/* --- for convert.c ---------------------------------------------------------------------------- */

/* path must not exist unless overwrite; it appears with composer_finish, or not at all. */
struct err *composer_create(const char *path, bool overwrite, struct composer **composer_ret);

/* The name of the format and of the file read. */
void composer_source(struct composer *composer, const char *format, const char *file);

struct compose_result {
	uint64_t event_count;
	uint64_t bytes_out;
	uint32_t stack_count;
	uint32_t missing;	  /* enum tape_missing */
	const char *const *notes; /* note_count, valid as long as the composer */
	size_t note_count;
	bool is_torn; /* composer_torn was called */
};

/*
 * Writes the rest and publishes the tape. Returns the first failure of all, ERR_FORMAT if there was
 * no event at all and that was not allowed.
 */
struct err *composer_finish(struct composer *composer, struct compose_result *result_ret);

/* Without composer_finish the tape is removed. NULL is fine. */
void composer_destroy(struct composer *composer);
CLEAN_DEFINE(composer_destroy, struct composer *);

#endif
