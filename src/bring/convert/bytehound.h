/*
 * bytehound: shared by the parts of its reader. Internal to convert.
 */
#ifndef MEMTAPE_CONVERT_BYTEHOUND_H
#define MEMTAPE_CONVERT_BYTEHOUND_H

#include "base/map.h"
#include "convert/bytehound_stream.h"
#include "convert/importer.h"

/* An event waiting to be put in order: the file has each thread's events in batches. */
struct bytehound_event {
	uint64_t ns;
	uint64_t order; /* position in the file */
	uint64_t address;
	uint64_t old_address; /* of a realloc */
	uint64_t size;
	uint64_t usable;
	uint32_t stack;
	uint32_t thread;
	enum { BYTEHOUND_ALLOC, BYTEHOUND_REALLOC, BYTEHOUND_FREE } what;
	enum tape_fn fn;
};

struct bytehound_module {
	uint64_t begin;
	uint64_t end;
	uint64_t offset; /* file offset of begin */
	uint32_t module; /* the composer's */
	bool is_recorder;
};

/* A code location with names, as `bytehound postprocess` writes it: numbers of strings. */
struct bytehound_frame {
	uint64_t pc; /* of the call */
	uint32_t library;
	uint32_t function;
	uint32_t file;
	uint32_t line;
	uint16_t column; /* 0: unknown */
	bool is_inline;	 /* inlined into the next frame of a stack */
};

VEC_DEFINE(bytehound_events, struct bytehound_event);
VEC_DEFINE(bytehound_modules, struct bytehound_module);
VEC_DEFINE(bytehound_frames, struct bytehound_frame);

/* The lookups of `bytehound postprocess`, by their numbers in the file. */
struct bytehound_names {
	struct interner texts;
	struct map text_of; /* number of a string -> our text */
	struct bytehound_frames frames;
	uint64_t stack_count; /* stacks of such frames so far, numbered implicitly */
};

struct bytehound {
	struct bytehound_stream stream;
	struct composer *composer;
	uint64_t begin_us;
	struct bytehound_events waiting; /* a heap, earliest first */
	uint64_t event_count;
	struct map stacks;		  /* backtrace -> stack */
	struct bytehound_modules modules; /* from the latest /proc/self/maps */
	struct bytehound_names names;
	uint64_t passed_over;	 /* events that have no place on a tape */
	uint64_t stripped_count; /* blocks that were left out, in groups */
	uint64_t unknown_stacks;
};

/* Queues an event for sorting; passes on those that have waited long enough. */
void bytehound_put(struct bytehound *bytehound, const struct bytehound_event *event);

/* Passes on all queued events. */
void bytehound_flush(struct bytehound *bytehound);

/* Reads /proc/self/maps, whose modules replace the former ones. False: out of memory. */
bool bytehound_maps(struct bytehound *bytehound, const char *text, size_t count);

/* NULL: no module there. Valid until the next bytehound_maps. */
const struct bytehound_module *bytehound_module_at(const struct bytehound *bytehound, uint64_t pc);

/* Whether this is the recording library, whose own frames are left out. */
bool bytehound_is_recorder(const char *path);

/* Fails the stream; the first failure is kept. */
void bytehound_fail(struct bytehound *bytehound, const char *why);

/* Maps backtrace to stack from now on. */
void bytehound_stack_put(struct bytehound *bytehound, uint64_t backtrace, uint32_t stack);

/* Events of postprocessed files: a string, a frame, a stack of such frames. */
void bytehound_string_take(struct bytehound *bytehound);
void bytehound_frame_take(struct bytehound *bytehound);
void bytehound_decoded_take(struct bytehound *bytehound);
void bytehound_names_deinit(struct bytehound_names *names);

#endif
