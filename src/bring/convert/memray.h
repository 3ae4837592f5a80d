/*
 * memray: shared by the parts of its reader. Internal to convert. One thread at a time.
 */
#ifndef MEMTAPE_CONVERT_MEMRAY_H
#define MEMTAPE_CONVERT_MEMRAY_H

#include "base/map.h"
#include "base/str.h"
#include "convert/importer.h"

enum { MEMRAY_CACHE_COUNT = 15 };

struct memray_code {
	uint32_t function; /* index in texts */
	uint32_t file;
	int64_t line;
	size_t table; /* offset in tables */
	size_t table_bytes;
};

struct memray_node { /* of the tree of stacks, in aggregated files */
	uint64_t frame;
	uint64_t parent;
};

struct memray_thread {
	uint64_t tid;
	uint32_t name;	       /* index in texts; UINT32_MAX: none */
	struct vec_u32 stacks; /* one per frame, outermost first */
};

VEC_DEFINE(memray_code_vec, struct memray_code);
VEC_DEFINE(memray_node_vec, struct memray_node);
VEC_DEFINE(memray_thread_vec, struct memray_thread);

struct memray {
	struct source *source;
	struct composer *composer;
	uint32_t python_version;
	bool has_native;
	bool is_sums;
	bool has_objects;
	uint64_t main_tid;
	uint64_t skipped_frames; /* outermost frames of the main thread that are memray's */
	uint64_t line, pointer, cache[MEMRAY_CACHE_COUNT];
	struct interner texts;
	struct vec_u8 tables;
	struct memray_code_vec codes;
	struct map code_at;  /* number -> index in codes */
	struct map frame_of; /* code and offset -> the composer's frame */
	struct memray_thread_vec threads;
	struct map thread_at; /* tid -> index in threads */
	size_t thread;
	struct map maps;     /* address of an mmap -> bytes */
	struct map frame_at; /* aggregated: number of a frame -> the composer's frame */
	struct memray_node_vec nodes;
	struct str text;
	uint64_t native_count;
	uint64_t odd_unmaps;
	bool ended;
	const char *why; /* why reading failed (constant) */
};

/* Fails the reader with a reason (constant). Sticks; numbers read later are 0. */
void memray_fail(struct memray *memray, const char *why);

/* map[key] = value. */
void memray_put(struct memray *memray, struct map *map, uint64_t key, uint64_t value);

void memray_bytes_read(struct memray *memray, void *out, size_t count);
uint8_t memray_u8_read(struct memray *memray);
uint32_t memray_u32_read(struct memray *memray);
uint64_t memray_u64_read(struct memray *memray);
uint64_t memray_varint_read(struct memray *memray);

/* The lowest bit is the sign; returned as unsigned, to be added. */
uint64_t memray_delta_read(struct memray *memray);

/* Valid until the next text. */
const char *memray_text_read(struct memray *memray);

/* The composer's frame for a location in a code object. */
uint32_t memray_frame_of(struct memray *memray, uint64_t code_number, int64_t offset);

/* Later events belong to this thread. */
void memray_thread_switch(struct memray *memray, uint64_t tid);

/* Passes the current thread to the composer. */
void memray_thread_tell(struct memray *memray);

/* Records common to both kinds of files. False: not one of these. */
bool memray_common_take(struct memray *memray, uint8_t record);

/* Records of aggregated files. (memray_sums.c) */
void memray_sum_record_take(struct memray *memray, uint8_t record);

#endif
