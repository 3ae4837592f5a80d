/*
 * kernel_shared: what the programs in the kernel (kernel_probes.bpf.c) and memtape hand each other.
 *
 * Private to the room. Included by both, so it has fixed types and needs no header of ours.
 */
#ifndef MEMTAPE_BPF_KERNEL_SHARED_H
#define MEMTAPE_BPF_KERNEL_SHARED_H

#include <linux/types.h>

enum {
	PROBES_FRAMES_MAX = 127,
	PROBES_RANGES_MAX = 1 << 16,	 /* of all processes */
	PROBES_RANGE_STEPS = 13,	 /* a binary search over the ranges of one process */
	PROBES_PROCESS_RANGES = 1 << 12, /* of one process: more would take more steps */
	PROBES_ROW_STEPS = 26
};

/* What the arguments of a probed function are; with its number on the tape in a probe's cookie. */
enum probes_shape {
	PROBES_SIZE,	    /* (size) */
	PROBES_PRODUCT,	    /* (count, size) */
	PROBES_ALIGNED,	    /* (alignment, size) */
	PROBES_POSIX,	    /* (place, alignment, size) */
	PROBES_REALLOC,	    /* (block, size) */
	PROBES_REALLOCARRAY /* (block, count, size) */
};

#define PROBES_COOKIE(shape, fn) ((__u64)(shape) | (__u64)(fn) << 8)

/* A live block's key and what is known of it. */
struct probes_key {
	__u64 address;
	__u32 pid;
	__u32 zero;
};

struct probes_block {
	__u64 size;
	__u64 stack; /* the key of its struct probes_stack */
	__u64 ns;    /* CLOCK_MONOTONIC */
	__u32 tid;
	__u32 fn;
};

/* Why a stack ends before its outermost frame. */
enum probes_end {
	PROBES_WHOLE,
	PROBES_NO_OBJECT, /* code of no known object */
	PROBES_NO_RULE,	  /* the unwind tables do not say, or not in a word */
	PROBES_NO_MEMORY, /* the stack could not be read */
	PROBES_TOO_DEEP,
	PROBES_ENDS
};

/* Bit of a frame: the address is the instruction itself, not a return address. */
#define PROBES_EXACT (1ULL << 63)

struct probes_stack {
	__u64 allocated_count, allocated_bytes;
	__u64 freed_count, freed_bytes;
	__u32 pid;
	__u16 depth;
	__u16 end; /* enum probes_end */
	__u64 frames[PROBES_FRAMES_MAX];
};

/* A row of an object's unwind tables: its rule (unwind/rule.h) holds from pc to the next row's. */
struct probes_row {
	__u32 pc; /* in the object: address - bias */
	__u32 rule;
};

/* Code of a process. */
struct probes_range {
	__u64 begin, end;
	__u64 bias;
	__u32 first_row, row_count; /* 0: code without tables, made at run time */
};

/* The ranges of a process, sorted. */
struct probes_process {
	__u32 first_range, range_count;
};

/* The end of a process, or of the program it was. */
struct probes_end_of {
	__u64 ns;
	__u64 is_exec;
};

/* Everything counted that is in no table. */
enum probes_count {
	PROBES_ALLOCATED,     /* calls that returned a block */
	PROBES_FREED,	      /* of blocks we know */
	PROBES_FREED_UNKNOWN, /* of others: from before, or not sampled */
	PROBES_FAILED,	      /* calls that returned NULL */
	PROBES_BLOCKS_LOST,   /* no room for the block */
	PROBES_STACKS_LOST,   /* no room for the stack */
	PROBES_THREADS_LOST,  /* no room for what a thread is at */
	PROBES_TRUNCATED,     /* + enum probes_end */
	PROBES_COUNTS = PROBES_TRUNCATED + PROBES_ENDS
};

#endif
