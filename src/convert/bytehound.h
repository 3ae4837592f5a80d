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
};

VEC_DEFINE(bytehound_events, struct bytehound_event);
VEC_DEFINE(bytehound_modules, struct bytehound_module);

struct bytehound {
	struct bytehound_stream stream;
	struct composer *composer;
	uint64_t begin_us;
	struct bytehound_events waiting; /* a heap, earliest first */
	uint64_t event_count;
	struct map stacks;		  /* backtrace -> stack */
	struct bytehound_modules modules; /* as the latest /proc/self/maps has them */
	uint64_t passed_over;		  /* events that a tape has no use for */
	uint64_t unknown_stacks;
};

/* Puts an event in order; hands on those that have waited long enough. */
void bytehound_put(struct bytehound *bytehound, const struct bytehound_event *event);

/* Hands on all that wait. */
void bytehound_flush(struct bytehound *bytehound);

/* The text of /proc/self/maps; the modules are those in it from now on. False: no memory. */
bool bytehound_maps(struct bytehound *bytehound, const char *text, size_t count);

/* COMPOSE_NO_MODULE: nothing is known there. */
uint32_t bytehound_module_at(const struct bytehound *bytehound, uint64_t pc);

#endif
