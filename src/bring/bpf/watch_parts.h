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
#include "scan/maps.h"

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
	bool has_own_new; /* it is an allocator with an operator new that may not call malloc */
};

VEC_DEFINE(watch_objects, struct watch_object);

/* An object in a process; once it is there it is kept: blocks outlive it. */
struct watch_module {
	uint64_t begin, end, bias;
	const char *path; /* in the arena */
	uint32_t object;
};

VEC_DEFINE(watch_modules, struct watch_module);

/* A process that is watched. Its modules are those of the program it is now. */
struct watch_process {
	pid_t pid;
	const char *exe; /* in the arena */
	struct watch_modules modules;
	uint64_t ended_ns;  /* blocks from before are no longer there; 0: none */
	uint64_t signature; /* of the ranges that the kernel has */
	uint64_t rest_ns;   /* before that its mappings are not read again */
};

VEC_DEFINE(watch_processes, struct watch_process);

/* A live block, as it was taken. */
struct watch_block {
	uint64_t ns;
	uint64_t address;
	uint64_t size;
	uint64_t stack; /* the kernel's key */
	uint32_t pid, tid, fn;
};

VEC_DEFINE(watch_blocks, struct watch_block);
VEC_DEFINE(watch_lives, struct watch_live);

/* A stack, as it was taken: its frames are in the watch's. */
struct watch_stack {
	uint64_t key;
	uint64_t freed_count, freed_bytes;
	size_t first;
	uint32_t pid;
	uint32_t depth;
	uint32_t end; /* enum probes_end */
};

VEC_DEFINE(watch_stacks, struct watch_stack);

struct watch {
	struct watch_settings settings;
	struct kernel *kernel;
	struct arena arena;
	struct interner keys; /* path and inode -> object */
	struct watch_objects objects;
	struct watch_processes processes;
	struct map process_of; /* pid -> index */
	uint64_t begin_ns;     /* CLOCK_MONOTONIC */
	uint64_t begin_realtime_ns;
	uint32_t next_row, next_range;
	uint32_t row_capacity;
	bool is_full;		/* no room for more code */
	bool has_ended;		/* there may be blocks of processes that have */
	uint64_t next_sweep_ns; /* when they are removed */
	size_t probe_count, cheap_count;
	/* what was taken at last */
	uint64_t taken_ns;
	struct watch_blocks blocks; /* by process, then by time */
	struct watch_stacks stacks;
	struct vec_u64 frames;
	struct map stack_of; /* key -> index */
	struct watch_lives lives;
};

/* The process with that number; NULL: there is none. Valid until the next is added. */
struct watch_process *watch_process_find(const struct watch *watch, pid_t pid);

/* The same; a new one if there is none. */
struct err *watch_process_put(struct watch *watch, pid_t pid, struct watch_process **ret);

/* Reads what the process has loaded, and makes it known in the kernel. */
struct err *watch_read_process(struct watch *watch, pid_t pid);

/* Reads all processes that have the file with that inode mapped. */
struct err *watch_read_all(struct watch *watch, uint64_t inode);

/* The object of a file, read once. A file that cannot be read has no rows and no names. */
struct err *watch_object_find(struct watch *watch, const char *path, uint64_t inode,
			      const char *file, uint32_t *object_ret);

/* The module around an address, the latest; NULL: none. */
const struct watch_module *watch_module_find(const struct watch_modules *modules, uint64_t pc);

/* The file of a mapping, as the process has it. */
void watch_module_file(pid_t pid, const struct maps_entry *entry, struct str *path);

/* ERR_UNSUPPORTED: on this kernel probes could harm the process; pid -1: any process. */
struct err *watch_check_safe(pid_t pid);

/* Whether the block is of a program that has ended. */
bool watch_is_over(const struct watch *watch, uint32_t pid, uint64_t ns);

#endif
