/*
 * compose: a stream of facts, as another tool wrote them down, becomes a packed tape.
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
 * What the format has not is named once (composer_missing) and left out: it is marked on the tape.
 *
 * Failures stick: after one everything is a no-op, numbers given are 0, and composer_failed says
 * so; the error itself comes out at the end. A reader asks composer_failed once for each record or
 * so. Texts are copied. Memory grows with what is different (stacks, names), with blocks alive that
 * have no address of their own, and with threads up to a bound; never with what happened.
 *
 * One thread at a time.
 */
#ifndef MEMTAPE_CONVERT_COMPOSE_H
#define MEMTAPE_CONVERT_COMPOSE_H

#include "base/err.h"
#include "tape/tape.h"
#include "tape/tape_import.h"

struct composer;

/* --- what is known of the whole: at any time -------------------------------------------------- */

/* Facts that the source lacks: enum tape_missing, added to those named before. */
void composer_missing(struct composer *composer, uint32_t missing);

/* What wrote the source: "heaptrack 1.4.0". */
void composer_tool(struct composer *composer, const char *tool);

/*
 * Something a reader of reports must know, one line: "the file ends in the middle of line 7: what
 * is before it is here". Some dozens are kept.
 */
void composer_note(struct composer *composer, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Not all of the source could be read; the last note says why. source_torn calls it. */
void composer_torn(struct composer *composer);

/* Zeros and NULL: not known. */
struct compose_process {
	const char *exe;
	const char *cwd;
	const char *const *argv; /* argc texts */
	uint32_t argc;
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t page_bytes;
	uint16_t elf_machine;
	uint64_t start_realtime_ns; /* since 1970 */
};

void composer_process(struct composer *composer, const struct compose_process *process);

/* argv from one line, apart at blanks: for sources that keep no more. */
void composer_command_line(struct composer *composer, const char *line);

/* --- stacks ----------------------------------------------------------------------------------- */

enum {
	COMPOSE_ROOT = TAPE_NODE_ROOT,		 /* the empty stack: outermost frames hang on it */
	COMPOSE_TRUNCATED = TAPE_NODE_TRUNCATED, /* of stacks whose outer frames are not known */
	COMPOSE_NO_STACK = TAPE_NODE_NONE,	 /* no stack is known */
	COMPOSE_NO_MODULE = 0,			 /* code of which no object is known */
	COMPOSE_DEPTH_MAX = 4096
};

/* An object. With begin == end no addresses are known: then frames of it need names. */
struct compose_module {
	const char *path;
	const uint8_t *build_id; /* build_id_bytes, may be 0 */
	size_t build_id_bytes;
	uint64_t begin;
	uint64_t end;
	uint64_t bias; /* address in the file = pc - bias */
};

/* Its number, from 1. Equal modules may be given again, and cost little then. */
uint32_t composer_module(struct composer *composer, const struct compose_module *module);

struct compose_name {
	const char *function;
	const char *file; /* NULL: not known */
	uint32_t line;	  /* 0: not known */
	uint16_t column;  /* from 1; 0: not known */
};

/*
 * A frame by address, by names, or both. names: innermost first, each inlined into the next, at
 * most 64. pc is a return address (one behind the call) or, if `exact`, the instruction itself; 0:
 * not known. Frames with names keep them wherever the tape is read; those without are looked up in
 * the module's file when the tape is read, as on any tape.
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

/* The stack "frame called from the innermost frame of caller"; equal ones have equal numbers. */
uint32_t composer_stack(struct composer *composer, uint32_t caller, uint32_t frame);

/* --- when and where: of all facts that follow ------------------------------------------------- */

/*
 * Nanoseconds since recording began. Does not go back: an earlier time is taken for the last.
 * Events of one time are a nanosecond apart, which keeps their order.
 */
void composer_time(struct composer *composer, uint64_t ns);

/* tid 0, as at the beginning: not known. name may be NULL. */
void composer_thread(struct composer *composer, uint32_t tid, const char *name);
void composer_thread_end(struct composer *composer, uint32_t tid);

/* --- blocks with addresses -------------------------------------------------------------------- */

struct compose_block {
	enum tape_fn fn; /* TAPE_FN_MALLOC (0) where it is not known */
	uint64_t address;
	uint64_t size;
	uint64_t usable; /* = size where it is not known */
	uint32_t stack;
};

void composer_allocated(struct composer *composer, const struct compose_block *block);
void composer_freed(struct composer *composer, enum tape_fn fn, uint64_t address, uint32_t stack);

/* fn of block does not matter. One that freed its block and gave none is composer_freed. */
void composer_reallocated(struct composer *composer, uint64_t old_address,
			  const struct compose_block *block);

/* --- blocks without: TAPE_MISSING_ADDRESSES --------------------------------------------------- */

/*
 * A block of a group, any number of the caller's, is made; the youngest of the group that is alive
 * goes. False: there is none. For sources that know "one more" and "one less" of something.
 */
void composer_made(struct composer *composer, uint64_t group, uint64_t size, uint32_t stack);
bool composer_gone(struct composer *composer, uint64_t group);

/* Totals of a stack over the whole run, all at the present time. live <= allocated. */
struct compose_sum {
	uint64_t allocated_count; /* 0: not known; a block stands for them */
	uint64_t allocated_bytes;
	uint64_t live_count;
	uint64_t live_bytes;
	bool has_peak; /* of all sums or of none, and composer_peak says when */
	uint64_t peak_count;
	uint64_t peak_bytes;
};

/*
 * Blocks of average size, those that are not live freed again: counts and bytes add up to the byte.
 * All that stays comes after all that goes, at the end of the run, so the peak is what is live;
 * with has_peak it is what was alive at the peak, of which as much as can be is taken to have
 * stayed. Marks sizes and lifetimes as missing, and counts where there are more than can be written
 * one by one.
 */
void composer_sum(struct composer *composer, uint32_t stack, const struct compose_sum *sum);

/* When the peak of sums was, and the end: the present time of what follows, at composer_finish. */
void composer_peak(struct composer *composer, uint64_t peak_ns, uint64_t end_ns);

/*
 * What a stack has alive at a moment; count 0: not known. The stacks of which it was said since the
 * moment before are all there are: composer_moment makes it so at the present time, what shrank
 * first. More than once for one stack: it adds up.
 */
void composer_level(struct composer *composer, uint32_t stack, uint64_t count, uint64_t bytes);
void composer_moment(struct composer *composer);

/* --- the rest --------------------------------------------------------------------------------- */

/* Fields not known are UINT64_MAX. */
void composer_usage(struct composer *composer, const struct tape_usage *usage);

/* type: TAPE_EXT_MMAP to TAPE_EXT_BRK; the map's node does not matter, stack does. */
void composer_map(struct composer *composer, enum tape_extended type, const struct tape_map *map,
		  uint32_t stack);

void composer_mark(struct composer *composer, const char *text);

/* How the process ended, if that is known; the run lasts until the present time in any case. */
void composer_end(struct composer *composer, enum tape_end_kind kind, int32_t status);

bool composer_failed(const struct composer *composer);

/* --- for convert.c ---------------------------------------------------------------------------- */

/* path must not exist unless overwrite; it appears with composer_finish, or not at all. */
struct err *composer_create(const char *path, bool overwrite, struct composer **composer_ret);

/* What the format is called and the name of the file it was read from. */
void composer_source(struct composer *composer, const char *format, const char *file);

struct compose_result {
	uint64_t event_count;
	uint64_t bytes_out;
	uint32_t stack_count;
	uint32_t missing;	  /* enum tape_missing */
	const char *const *notes; /* note_count, as long as the composer */
	size_t note_count;
	bool is_torn; /* composer_torn was called */
};

/*
 * Writes what is left and publishes the tape. The first failure of all comes out here, ERR_FORMAT
 * where there was no event at all.
 */
struct err *composer_finish(struct composer *composer, struct compose_result *result_ret);

/* Without composer_finish nothing is left of the tape. NULL is fine. */
void composer_destroy(struct composer *composer);
CLEAN_DEFINE(composer_destroy, struct composer *);

#endif
