/*
 * bytehound: what the parts of its reader share. Internal to convert.
 */
#ifndef MEMTAPE_CONVERT_BYTEHOUND_H
#define MEMTAPE_CONVERT_BYTEHOUND_H

#include "base/map.h"
#include "convert/bytehound_stream.h"
#include "convert/importer.h"

/* Something that happened, waiting for its turn: the file has each thread's events together. */
struct bytehound_event {
	uint64_t ns;
	uint64_t order; /* in the file */
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
	uint64_t offset; /* of begin, in the file */
	uint32_t module; /* of the composer */
	bool is_recorder;
};

/* A place in code with its name, as `bytehound postprocess` writes it: numbers of texts. */
struct bytehound_frame {
	uint64_t pc; /* of the call */
	uint32_t library;
	uint32_t function;
	uint32_t file;
	uint32_t line;
	uint16_t column; /* 0: not known */
	bool is_inline;	 /* into the next one of a stack */
};

VEC_DEFINE(bytehound_events, struct bytehound_event);
VEC_DEFINE(bytehound_modules, struct bytehound_module);
VEC_DEFINE(bytehound_frames, struct bytehound_frame);

/* What `bytehound postprocess` looked up, by the numbers that the file gives it. */
struct bytehound_names {
	struct interner texts;
	struct map text_of; /* number of a string -> its text */
	struct bytehound_frames frames;
	uint64_t stack_count; /* stacks of such frames so far, which number themselves */
};

struct bytehound {
	struct bytehound_stream stream;
	struct composer *composer;
	uint64_t begin_us;
	struct bytehound_events waiting; /* a heap, earliest first */
	uint64_t event_count;
	struct map stacks;		  /* backtrace -> stack */
	struct bytehound_modules modules; /* as the latest /proc/self/maps has them */
	struct bytehound_names names;
	uint64_t passed_over;	 /* events that a tape has no use for */
	uint64_t stripped_count; /* blocks that were left out, in groups */
	uint64_t unknown_stacks;
};

/* Puts an event in order; hands on those that have waited long enough. */
void bytehound_put(struct bytehound *bytehound, const struct bytehound_event *event);

/* Hands on all that wait. */
void bytehound_flush(struct bytehound *bytehound);

/* The text of /proc/self/maps; the modules are those in it from now on. False: no memory. */
bool bytehound_maps(struct bytehound *bytehound, const char *text, size_t count);

/* NULL: nothing is known there. Valid until the next maps. */
const struct bytehound_module *bytehound_module_at(const struct bytehound *bytehound, uint64_t pc);

/* Whether this is the library that recorded, whose own frames are of no use to anybody. */
bool bytehound_is_recorder(const char *path);

/* The stream's failure; the first one stays. */
void bytehound_fail(struct bytehound *bytehound, const char *why);

/* backtrace -> stack, from now on. */
void bytehound_stack_put(struct bytehound *bytehound, uint64_t backtrace, uint32_t stack);

/* The events of postprocessed files: a string, a frame, a stack of such frames. */
void bytehound_string_take(struct bytehound *bytehound);
void bytehound_frame_take(struct bytehound *bytehound);
void bytehound_decoded_take(struct bytehound *bytehound);
void bytehound_names_deinit(struct bytehound_names *names);

#endif
