/*
 * tape_kernel: records of what the kernel did for a program, with the program's stacks: what
 * `memtape trace` writes. They are no allocations of the heap, and no sum of the heap counts them.
 */
#ifndef MEMTAPE_TAPE_TAPE_KERNEL_H
#define MEMTAPE_TAPE_TAPE_KERNEL_H

#include "core/core.h"

ARCH_LITTLE_BEGIN

enum tape_kernel_kind {
	TAPE_KERNEL_BRK = 0,	/* the heap's end was moved: brk() */
	TAPE_KERNEL_MMAP = 1,	/* memory was mapped: mmap() */
	TAPE_KERNEL_MUNMAP = 2, /* or unmapped */
	TAPE_KERNEL_FAULT = 3,	/* a page fault */
	TAPE_KERNEL_MAJOR_FAULT =
		4,	     /* one that waited for a disk; also a FAULT, if both are traced */
	TAPE_KERNEL_OOM = 5, /* the kernel chose a process to be killed, for want of memory */
	TAPE_KERNEL_HUGE_SPLIT = 6, /* a huge page of the program was split into small ones */
	TAPE_KERNEL_KINDS = 7
};

enum tape_kernel_flag {
	TAPE_KERNEL_SHRINK = 1 << 0,   /* BRK: the end was moved down */
	TAPE_KERNEL_FAILED = 1 << 1,   /* the call failed: nothing was done */
	TAPE_KERNEL_IN_KERNEL = 1 << 2 /* FAULT: in a system call that reads or writes memory */
};

/* An event. */
struct tape_kernel {
	uint32_t kind;	  /* enum tape_kernel_kind */
	uint32_t node;	  /* the program's stack; TAPE_NODE_NONE: unknown */
	uint64_t address; /* BRK: the new end; faults: the byte that was wanted; HUGE_SPLIT: the
			     page; OOM: 0 */
	uint64_t bytes;	  /* moved, mapped, unmapped; of a fault or a split: the page's; OOM: 0 */
	uint32_t flags;	  /* enum tape_kernel_flag */
	uint32_t pid;	  /* of the process */
};

static_assert(sizeof(struct tape_kernel) == 32, "format");

enum tape_kernel_limit {
	TAPE_KERNEL_USER_ONLY = 1 << 0 /* events within system calls could not be seen */
};

/* What the kernel counted of a kind; the last record of a kind counts. */
struct tape_kernel_count {
	uint32_t kind;
	uint32_t period; /* every how manieth event was recorded */
	uint64_t count;	 /* all that there were */
	uint64_t lost; /* of these, not recorded: there was no room; 0 if `period` left them out */
	uint32_t limits; /* enum tape_kernel_limit */
	uint32_t own;	 /* of these, done for the recorder itself: not recorded */
};

static_assert(sizeof(struct tape_kernel_count) == 32, "format");

/*
 * Huge pages of a mapping that were lost between two looks at it, though their memory was not
 * (TAPE_EXT_HUGE_LOST): what tells of splits where the kernel cannot be asked for them. An estimate:
 * huge pages may also have been freed, and as much touched anew as small ones.
 */
struct tape_huge_lost {
	uint64_t begin, end;		    /* addresses */
	uint64_t before_bytes, after_bytes; /* in huge pages at the two looks */
	uint64_t lost_bytes;		    /* no longer in huge pages, but resident */
	uint64_t page_bytes;		    /* of a huge page */
};

static_assert(sizeof(struct tape_huge_lost) == 48, "format");

ARCH_LITTLE_END

#endif
