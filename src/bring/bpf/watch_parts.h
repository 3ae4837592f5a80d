/*
 * watch_parts: the parts of a watch. Private to the room.
 */
#ifndef MEMTAPE_BPF_WATCH_PARTS_H
#define MEMTAPE_BPF_WATCH_PARTS_H

#include "base/map.h"
#include "bpf/kernel.h"
#include "bpf/places.h"
#include "bpf/tables.h"
#include "bpf/watch.h"

/* A function that is operator new or its kind, in an object. */
struct watch_new {
	uint64_t begin, end;
	enum tape_fn fn;
};

VEC_DEFINE(watch_news, struct watch_new);

/* A file that processes have loaded. */
struct watch_object {
	uint8_t *build_id; /* owned; NULL: none */
	size_t build_id_bytes;
	uint32_t first_row, row_count; /* in the kernel */
	struct watch_news news;	       /* by address */
	struct places places;
};

VEC_DEFINE(watch_objects, struct watch_object);

/* An object in a process; once it is there it is kept: blocks outlive it. */
struct watch_module {
	uint64_t begin, end, bias;
	const char *path; /* in the arena */
	uint32_t object;
};

VEC_DEFINE(watch_modules, struct watch_module);

struct watch {
	struct watch_settings settings;
	struct kernel *kernel;
	struct arena arena;
	struct interner keys; /* path and inode -> object */
	struct watch_objects objects;
	struct watch_modules modules;
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	uint64_t begin_realtime_ns;
	uint32_t next_row, next_range;
	uint32_t row_capacity;
	bool is_full; /* no room for more code */
	size_t probe_count, cheap_count;
};

/* Reads what the process has loaded, and makes it known in the kernel. */
struct err *watch_read_process(struct watch *watch, pid_t pid);

/* The module around an address, the latest; NULL: none. */
const struct watch_module *watch_module_find(const struct watch *watch, uint64_t pc);

/* The file of a module, as the process has it mapped. */
void watch_module_file(pid_t pid, uint64_t begin, uint64_t end, struct str *path);

#endif
