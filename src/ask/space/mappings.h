/*
 * mappings: the address space over time, from two sources: the calls a program made itself (mmap,
 * munmap, mremap, mprotect, brk: exact, with a stack) and what the kernel showed now and then
 * (everything, also what libc, the loader and the allocator map without a hook).
 *
 *	CLEAN(mappings_destroy) struct mappings *mappings = NULL;
 *	err = mappings_create(model, &mappings);
 *	err = mappings_advance(mappings, ns);		forwards only
 *	... mappings_pieces, mappings_all, mappings_image ...	as they were at ns
 *
 * A mapping is what one call made, or what the kernel showed first as one range; it may be cut,
 * moved and grow, and ends with its last page. Calls made while the kernel was asked may be on
 * either side of it; a mapping whose creation was not seen begins when it was first shown.
 *
 * Not thread-safe; several may walk one model. Everything it returns lives as long as it, what is
 * said of a moment until the next advance.
 */
#ifndef MEMTAPE_SPACE_MAPPINGS_H
#define MEMTAPE_SPACE_MAPPINGS_H

#include "model/model.h"
#include "space/mappings_image.h"
#include "space/mappings_pieces.h"

enum mapping_kind {
	MAPPING_HEAP,	  /* brk memory: the heap of most allocators */
	MAPPING_BLOCKS,	  /* other memory that contained allocator blocks */
	MAPPING_PROGRAM,  /* anonymous, mapped by a recorded call, without blocks */
	MAPPING_UNSEEN,	  /* anonymous, mapping call not seen, without blocks */
	MAPPING_FILE,	  /* a file that is not a loaded module */
	MAPPING_SHARED,	  /* shared memory without a file of its own: shm, memfd */
	MAPPING_MODULE,	  /* code and data of the program and its libraries */
	MAPPING_STACK,	  /* of the main thread and of others */
	MAPPING_KERNEL,	  /* vdso and the like */
	MAPPING_MEMTAPE,  /* the recorder: its library, tables, chunks */
	MAPPING_RESERVED, /* no access: a guard, or reserved for later */
};

enum { MAPPING_KINDS = MAPPING_RESERVED + 1 };

extern const char *const mapping_kind_words[]; /* by kind, NULL at the end */

struct mapping {
	uint64_t address; /* of its first page at creation */
	uint64_t bytes;	  /* at creation */
	uint64_t offset;  /* in the file */
	uint64_t begin_ns;
	uint64_t end_ns;	     /* MODEL_NEVER: still mapped */
	uint64_t mapped_bytes;	     /* now */
	uint64_t mapped_bytes_max;   /* ever */
	uint64_t resident_bytes;     /* at the last snapshot */
	uint64_t resident_bytes_max; /* maximum over snapshots */
	uint64_t changed_ns;	     /* last change by a call */
	const char *name;	     /* path or [name]; "" without one */
	uint32_t stack;		     /* CAPTURE_STACK_NONE: not seen */
	uint32_t thread;	     /* MODEL_NO_THREAD: not seen */
	uint32_t prot;		     /* at creation */
	int32_t flags;		     /* of mmap; -1: not seen */
	int32_t fd;		     /* of mmap; -1: none, or not seen */
	uint32_t marks;		     /* enum mappings_mark */
	uint32_t cut_count;	     /* parts unmapped, or replaced by another mapping */
	uint32_t protect_count;	     /* mprotect calls on it */
	uint32_t move_count;	     /* mremap calls that moved or resized it */
	bool is_seen;		     /* shown by the kernel; no call is on the tape */
	bool is_brk;
	bool is_shared;
	bool is_module;
	bool is_thread_stack;
	bool holds_blocks; /* set by mappings_mark_blocks */
};

VEC_DEFINE(mapping_vec, struct mapping);

/* A complete snapshot on the tape. Its notes are first_note .. last_note. */
struct mappings_snapshot {
	uint64_t begin_ns;
	uint64_t end_ns;
	size_t last_note;
};

VEC_DEFINE(mappings_snapshot_vec, struct mappings_snapshot);

struct mappings;

struct err *mappings_create(const struct model *model, struct mappings **mappings_ret);
void mappings_destroy(struct mappings *mappings); /* NULL is fine */
CLEAN_DEFINE(mappings_destroy, struct mappings *);

/* Applies all events up to and including this time. */
struct err *mappings_advance(struct mappings *mappings, uint64_t ns);

/* The same up to a snapshot's last note: excludes everything after it. */
struct err *mappings_advance_snapshot(struct mappings *mappings, size_t snapshot);

const struct mappings_snapshot_vec *mappings_snapshots(const struct mappings *mappings);

/* All mappings so far, including ended ones; mappings_piece.mapping is an index into it. */
const struct mapping_vec *mappings_all(const struct mappings *mappings);
const struct mappings_piece_vec *mappings_pieces(const struct mappings *mappings);

/* The last image shown by the kernel; empty before the first. */
const struct mappings_image *mappings_image(const struct mappings *mappings);

/* Marks a mapping as containing allocator blocks. */
void mappings_mark_blocks(struct mappings *mappings, uint32_t mapping);

enum mapping_kind mapping_kind(const struct mapping *mapping);

/* A part of the image that belongs to one mapping, in address order. */
struct mappings_part {
	const struct mappings_extent *extent;
	uint64_t begin;
	uint64_t end;
	uint32_t mapping; /* UINT32_MAX: none, a race between a call and the kernel's answer */
};

/* Visits every part of the image as it is now. */
struct mappings_parts {
	const struct mappings *mappings;
	size_t extent;
	uint64_t at;
};

struct mappings_parts mappings_parts_begin(const struct mappings *mappings);
bool mappings_parts_next(struct mappings_parts *parts, struct mappings_part *part_ret);

#endif
